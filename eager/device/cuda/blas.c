/*
 * cuBLASLt is column-major: the row-major C = A B is its C^T = B^T A^T, so that our B is its first
 * operand and our A its second, each as stored. Its rows are our columns, and a bias, which it adds
 * to each of its columns, is added to each of our rows.
 */
#include "eager/device/cuda/blas.h"

#include <cublasLt.h>

#include "eager/device/cuda/choice.h"
#include "eager/device/cuda/plans.h"
#include "layout/number.h"

#define PROPOSALS 16

/* Our B and A in this order, and C. */
typedef struct blas_plan {
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t first, second, result;
    cublasLtMatmulAlgo_t algo;
    uint64_t workspace;
    bool adds_bias, is_double;
} blas_plan;

typedef struct blas_types {
    cudaDataType_t data, scale;
    cublasComputeType_t compute;
    cudaDataType_t result;
} blas_types;

static bool types_of(const cebus_cuda_gemm *gemm, blas_types *out)
{
    switch ((cebus_dtype)gemm->dtype) {
    case CEBUS_F32:
        *out = (blas_types){CUDA_R_32F, CUDA_R_32F,
                            gemm->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                            CUDA_R_32F};
        break;
    case CEBUS_F64:
        *out = (blas_types){CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
        break;
    case CEBUS_F16:
        *out = (blas_types){CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_16F};
        break;
    case CEBUS_BF16:
        *out = (blas_types){CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_16BF};
        break;
    default:
        return false;
    }
    if (gemm->result == CEBUS_F32)
        out->result = CUDA_R_32F;
    return gemm->result == gemm->dtype || (gemm->result == CEBUS_F32 && gemm->dtype != CEBUS_F64);
}

static uint64_t workspace_bound(const cebus_cuda *cuda)
{
    return cuda->capability >= 90 ? CEBUS_CUDA_BLAS_BOUND : CEBUS_CUDA_BLAS_BOUND / 4;
}

/* ---- descriptors ------------------------------------------------------------------------- */

static void plan_clear(void *plan)
{
    blas_plan *p = plan;
    if (p->result)
        cublasLtMatrixLayoutDestroy(p->result);
    if (p->second)
        cublasLtMatrixLayoutDestroy(p->second);
    if (p->first)
        cublasLtMatrixLayoutDestroy(p->first);
    if (p->desc)
        cublasLtMatmulDescDestroy(p->desc);
    memset(p, 0, sizeof *p);
}

/* A matrix as stored row-major: `rows` rows of `cols`, `ld` apart. */
typedef struct stored {
    int64_t rows, cols, ld, stride;
} stored;

static stored stored_as(bool turned, int64_t rows, int64_t cols, int64_t ld, int64_t stride)
{
    return (stored){turned ? cols : rows, turned ? rows : cols, ld, stride};
}

static cublasStatus_t layout_create(cudaDataType_t type, const cebus_cuda_gemm *gemm,
                                    const stored *matrix, cublasLtMatrixLayout_t *out)
{
    const int32_t batch = (int32_t)gemm->batch;
    cublasStatus_t status = cublasLtMatrixLayoutCreate(out, type, (uint64_t)matrix->cols,
                                                       (uint64_t)matrix->rows, matrix->ld);
    if (status == CUBLAS_STATUS_SUCCESS && batch > 1)
        status = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                                                  sizeof batch);
    if (status == CUBLAS_STATUS_SUCCESS && batch > 1)
        status = cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                  &matrix->stride, sizeof matrix->stride);
    return status;
}

static cublasStatus_t layouts_create(blas_plan *p, const blas_types *types,
                                     const cebus_cuda_gemm *g)
{
    const stored a = stored_as(g->trans_a, g->m, g->k, g->lda, g->a_stride);
    const stored b = stored_as(g->trans_b, g->k, g->n, g->ldb, g->b_stride);
    const stored c = stored_as(false, g->m, g->n, g->ldc, g->c_stride);
    cublasStatus_t status = layout_create(types->data, g, &b, &p->first);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = layout_create(types->data, g, &a, &p->second);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = layout_create(types->result, g, &c, &p->result);
    return status;
}

/* The bias is at an address known to be aligned; which one is set for each run. */
static cublasStatus_t bias_set(cublasLtMatmulDesc_t desc, const void *bias)
{
    return cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                          sizeof bias);
}

static cublasStatus_t desc_create(const blas_types *types, const cebus_cuda_gemm *gemm, bool bias,
                                  cublasLtMatmulDesc_t *out)
{
    const int32_t first = gemm->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const int32_t second = gemm->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cublasStatus_t status = cublasLtMatmulDescCreate(out, types->compute, types->scale);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            cublasLtMatmulDescSetAttribute(*out, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmulDescSetAttribute(*out, CUBLASLT_MATMUL_DESC_TRANSB, &second,
                                                sizeof second);
    if (status == CUBLAS_STATUS_SUCCESS && bias)
        status = cublasLtMatmulDescSetAttribute(*out, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                                sizeof epilogue);
    if (status == CUBLAS_STATUS_SUCCESS && bias)
        status = bias_set(*out, (const void *)(uintptr_t)CEBUS_CUDA_PIECE);
    return status;
}

/* ---- choice ------------------------------------------------------------------------------ */

static cublasStatus_t preference_create(const cebus_cuda *cuda, const cebus_cuda_gemm *gemm,
                                        cublasLtMatmulPreference_t *out)
{
    const uint64_t workspace = workspace_bound(cuda);
    /* Sums of split products in the type they are computed in, never in place nor rounded. */
    const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const uint32_t a = (uint32_t)gemm->a_align, b = (uint32_t)gemm->b_align,
                   c = (uint32_t)gemm->c_align;
    const struct {
        cublasLtMatmulPreferenceAttributes_t name;
        const void *value;
        size_t bytes;
    } attributes[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof schemes},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &b, sizeof b},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &a, sizeof a},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &c, sizeof c},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &c, sizeof c},
    };
    cublasStatus_t status = cublasLtMatmulPreferenceCreate(out);
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++) {
        if (status == CUBLAS_STATUS_SUCCESS)
            status = cublasLtMatmulPreferenceSetAttribute(*out, attributes[i].name,
                                                          attributes[i].value, attributes[i].bytes);
    }
    return status;
}

static bool sums_in_order(const cublasLtMatmulAlgo_t *algo)
{
    uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_NONE;
    size_t written;
    if (cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                                             sizeof scheme, &written) != CUBLAS_STATUS_SUCCESS)
        return false;
    return scheme == CUBLASLT_REDUCTION_SCHEME_NONE ||
           scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}

/* CUBLAS_STATUS_NOT_SUPPORTED when nothing will do. */
static cublasStatus_t algorithm_choose(const cebus_cuda *cuda, const cebus_cuda_gemm *gemm,
                                       blas_plan *p)
{
    cublasLtMatmulHeuristicResult_t found[PROPOSALS];
    cebus_cuda_proposal proposals[PROPOSALS] = {{0}};
    cublasLtMatmulPreference_t preference = NULL;
    int n = 0;
    cublasStatus_t status = preference_create(cuda, gemm, &preference);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmulAlgoGetHeuristic(cuda->blas, p->desc, p->first, p->second, p->result,
                                                p->result, preference, PROPOSALS, found, &n);
    if (preference)
        cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    for (int i = 0; i < n; i++) {
        proposals[i].runs = found[i].state == CUBLAS_STATUS_SUCCESS;
        proposals[i].deterministic = proposals[i].runs && sums_in_order(&found[i].algo);
        proposals[i].precise = true; /* the compute type sees to it */
        proposals[i].workspace = found[i].workspaceSize;
    }
    const int chosen = cebus_cuda_choose(proposals, n, workspace_bound(cuda));
    if (chosen < 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    p->algo = found[chosen].algo;
    p->workspace = proposals[chosen].workspace;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t plan_build(const cebus_cuda *cuda, const cebus_cuda_gemm *gemm,
                                 const blas_types *types, bool bias, blas_plan *p)
{
    cublasStatus_t status = desc_create(types, gemm, bias, &p->desc);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = layouts_create(p, types, gemm);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = algorithm_choose(cuda, gemm, p);
    if (status != CUBLAS_STATUS_SUCCESS) {
        plan_clear(p);
        return status;
    }
    p->adds_bias = bias;
    p->is_double = types->scale == CUDA_R_64F;
    return status;
}

/* ---- plans ------------------------------------------------------------------------------- */

/* The device and the op that asks, for messages. */
typedef struct asker {
    cebus_cuda *cuda;
    const char *op;
} asker;

static cebus_status no_algorithm(const asker *who, const cebus_cuda_gemm *g)
{
    return cebus_fail(CEBUS_UNSUPPORTED, who->op,
                      "cuBLASLt has no deterministic algorithm for [%lld, %lld] x [%lld, %lld] of "
                      "%s, %lld times: split it, or cast it",
                      (long long)g->m, (long long)g->k, (long long)g->k, (long long)g->n,
                      cebus_dtype_name((cebus_dtype)g->dtype), (long long)g->batch);
}

static cebus_status plan_make(void *context, const void *key, void *plan)
{
    const asker *who = context;
    const cebus_cuda_gemm *gemm = key;
    blas_types types;
    if (!types_of(gemm, &types) || gemm->batch > INT32_MAX)
        return no_algorithm(who, gemm);
    cublasStatus_t status = plan_build(who->cuda, gemm, &types, gemm->bias != 0, plan);
    if (gemm->bias && status != CUBLAS_STATUS_SUCCESS)
        status = plan_build(who->cuda, gemm, &types, false, plan);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE)
        return no_algorithm(who, gemm);
    return cebus_cuda_check_blas((int)status, who->op, "planning a product by cuBLASLt");
}

static cebus_status find(cebus_cuda *cuda, const char *op, const cebus_cuda_gemm *gemm,
                         const blas_plan **out)
{
    const cebus_cuda_plans_options options = {.host = &cuda->host,
                                              .key_bytes = sizeof *gemm,
                                              .plan_bytes = sizeof(blas_plan),
                                              .capacity = CEBUS_CUDA_PLANS_CAPACITY,
                                              .make = plan_make,
                                              .clear = plan_clear};
    asker who = {cuda, op};
    const void *plan = NULL;
    cebus_status status = cebus_cuda_plans_find_in(&cuda->plans[CEBUS_CUDA_PLANS_MATMUL], &options,
                                                   op, &who, gemm, &plan);
    *out = plan;
    return status;
}

cebus_status cebus_cuda_blas_query(cebus_cuda *cuda, const char *op, const cebus_cuda_gemm *gemm,
                                   cebus_cuda_blas_info *out)
{
    const blas_plan *plan = NULL;
    *out = (cebus_cuda_blas_info){0};
    cebus_status status = find(cuda, op, gemm, &plan);
    if (status != CEBUS_OK)
        return status;
    out->workspace = cebus_align_up(plan->workspace, CEBUS_CUDA_PIECE);
    out->adds_bias = plan->adds_bias;
    return CEBUS_OK;
}

cebus_status cebus_cuda_blas_run(cebus_cuda *cuda, const char *op, const cebus_cuda_blas_call *call)
{
    const blas_plan *p = NULL;
    cebus_status found = find(cuda, op, call->gemm, &p);
    if (found != CEBUS_OK)
        return found;
    const float alpha = (float)call->alpha, beta = call->gemm->accumulate ? 1 : 0;
    const double wide_alpha = call->alpha, wide_beta = beta;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (p->adds_bias)
        status = bias_set(p->desc, call->bias);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasLtMatmul(
            cuda->blas, p->desc, p->is_double ? (const void *)&wide_alpha : (const void *)&alpha,
            call->b, p->first, call->a, p->second,
            p->is_double ? (const void *)&wide_beta : (const void *)&beta, call->c, p->result,
            call->c, p->result, &p->algo, call->workspace, p->workspace, cuda->stream);
    return cebus_cuda_check_blas((int)status, op, "cublasLtMatmul");
}
