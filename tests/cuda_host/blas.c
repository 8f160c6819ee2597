/* blas.h by plain loops, so that all around the library is tested: what it is asked for is checked
 * against its rules, and it fills the workspace that it asked for. */
#include "eager/device/cuda/blas.h"
#include "numbers.h"

#define WORKSPACE 512

static bool is_rows(int64_t rows, int64_t cols, int64_t ld)
{
    return rows > 0 && cols > 0 && ld >= cols;
}

static bool is_allowed(const cebus_cuda_gemm *g)
{
    const bool a = g->trans_a ? is_rows(g->k, g->m, g->lda) : is_rows(g->m, g->k, g->lda);
    const bool b = g->trans_b ? is_rows(g->n, g->k, g->ldb) : is_rows(g->k, g->n, g->ldb);
    return a && b && is_rows(g->m, g->n, g->ldc) && g->batch > 0 &&
           cebus_dtype_is_float((cebus_dtype)g->dtype) &&
           (g->result == g->dtype || (g->result == CEBUS_F32 && g->dtype != CEBUS_F64));
}

cebus_status cebus_cuda_blas_query(cebus_cuda *cuda, const char *op, const cebus_cuda_gemm *gemm,
                                   cebus_cuda_blas_info *out)
{
    (void)cuda;
    *out = (cebus_cuda_blas_info){0};
    if (!is_allowed(gemm))
        return cebus_fail(CEBUS_UNSUPPORTED, op, "not a product: %lld x %lld x %lld",
                          (long long)gemm->m, (long long)gemm->n, (long long)gemm->k);
    out->workspace = WORKSPACE;
    out->adds_bias = gemm->bias && gemm->dtype == CEBUS_F32; /* both ways are tested */
    return CEBUS_OK;
}

static double sum_of(const cebus_cuda_blas_call *call, int64_t a, int64_t b)
{
    const cebus_cuda_gemm *g = call->gemm;
    double sum = 0;
    for (int64_t p = 0; p < g->k; p++)
        sum += number_load(call->a, g->dtype, a + p * (g->trans_a ? g->lda : 1)) *
               number_load(call->b, g->dtype, b + p * (g->trans_b ? 1 : g->ldb));
    return call->alpha * sum;
}

static bool is_aligned(const void *data, int64_t align)
{
    return (uintptr_t)data % (uint64_t)align == 0;
}

cebus_status cebus_cuda_blas_run(cebus_cuda *cuda, const char *op, const cebus_cuda_blas_call *call)
{
    const cebus_cuda_gemm *g = call->gemm;
    cebus_cuda_blas_info info;
    cebus_status status = cebus_cuda_blas_query(cuda, op, g, &info);
    if (status != CEBUS_OK)
        return status;
    if (!is_aligned(call->a, g->a_align) || !is_aligned(call->b, g->b_align) ||
        !is_aligned(call->c, g->c_align))
        return cebus_fail(CEBUS_DEVICE_ERROR, op, "an operand is less aligned than was said");
    memset(call->workspace, 0x5A, info.workspace);
    for (int64_t i = 0; i < g->batch * g->m * g->n; i++) {
        const int64_t matrix = i / (g->m * g->n), row = i / g->n % g->m, col = i % g->n;
        const int64_t a = matrix * g->a_stride + row * (g->trans_a ? 1 : g->lda);
        const int64_t b = matrix * g->b_stride + col * (g->trans_b ? g->ldb : 1);
        const int64_t c = matrix * g->c_stride + row * g->ldc + col;
        double sum = sum_of(call, a, b);
        if (g->accumulate)
            sum += number_load(call->c, g->result, c);
        if (info.adds_bias)
            sum += number_load(call->bias, g->dtype, col);
        number_store(call->c, g->result, c, sum);
    }
    return CEBUS_OK;
}
