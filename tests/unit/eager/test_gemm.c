/* The matrix products of the CPU: every kernel the processor runs, and every way to cut a batch. */
#include "eager/device/cpu/gemm_batch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "eager/device/cpu/gemm_kernels.h"
#include "tests/support/harness.h"

/* Matrices with rows longer than they need be, and their product in double. */
typedef struct problem {
    cebus_gemm gemm;
    double *want; /* [m, n]; what the product must make of C */
} problem;

static double get(cebus_dtype dtype, const void *data, int64_t i)
{
    return dtype == CEBUS_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

/* `count` small integers: sums of their products are exact in either type, in any order. */
static void *make_data(cebus_dtype dtype, uint64_t seed, int64_t count)
{
    void *data = malloc(((size_t)count + 1) * cebus_dtype_size(dtype));
    cr_assert_not_null(data);
    for (int64_t i = 0; i < count; i++) {
        double value = floor(4 * cebus_test_noise(seed, (uint64_t)i));
        if (dtype == CEBUS_F64)
            ((double *)data)[i] = value;
        else
            ((float *)data)[i] = (float)value;
    }
    return data;
}

static double element(const problem *p, int64_t i, int64_t j)
{
    const cebus_gemm *g = &p->gemm;
    double sum = 0;
    for (int64_t q = 0; q < g->k; q++)
        sum += get(g->dtype, g->a, g->trans_a ? q * g->lda + i : i * g->lda + q) *
               get(g->dtype, g->b, g->trans_b ? j * g->ldb + q : q * g->ldb + j);
    return g->alpha * sum + (g->accumulate ? get(g->dtype, g->c, i * g->ldc + j) : 0);
}

static problem make(cebus_dtype dtype, int flags, int64_t m, int64_t n, int64_t k)
{
    cebus_gemm g = {.dtype = dtype, .m = m, .n = n, .k = k, .alpha = flags & 8 ? 0.5 : 1};
    g.trans_a = flags & 1;
    g.trans_b = flags & 2;
    g.accumulate = flags & 4;
    g.lda = (g.trans_a ? m : k) + 3;
    g.ldb = (g.trans_b ? k : n) + 1;
    g.ldc = n + 2;
    g.a = make_data(dtype, 1, (g.trans_a ? k : m) * g.lda);
    g.b = make_data(dtype, 2, (g.trans_b ? n : k) * g.ldb);
    g.c = make_data(dtype, 3, m * g.ldc);
    problem p = {.gemm = g, .want = malloc((size_t)(m * g.ldc + 1) * sizeof(double))};
    cr_assert_not_null(p.want);
    for (int64_t i = 0; i < m * g.ldc; i++) /* what lies between rows stays */
        p.want[i] = i % g.ldc < n ? element(&p, i / g.ldc, i % g.ldc) : get(dtype, g.c, i);
    return p;
}

static void check_and_drop(problem *p)
{
    const cebus_gemm *g = &p->gemm;
    for (int64_t i = 0; i < g->m * g->ldc; i++)
        cr_assert_eq(get(g->dtype, g->c, i), p->want[i],
                     "%lld x %lld x %lld, element %lld: %g, expected %g", (long long)g->m,
                     (long long)g->n, (long long)g->k, (long long)i, get(g->dtype, g->c, i),
                     p->want[i]);
    free((void *)g->a);
    free((void *)g->b);
    free(g->c);
    free(p->want);
}

static const int64_t shapes[][3] = {{1, 1, 1},   {5, 7, 3},     {12, 32, 4},   {13, 33, 2},
                                    {24, 64, 0}, {37, 41, 300}, {130, 20, 10}, {9, 530, 6},
                                    {0, 4, 4},   {4, 0, 4}};

static void *make_scratch(uint64_t bytes)
{
    void *scratch = aligned_alloc(64, (size_t)bytes + 64);
    cr_assert_not_null(scratch);
    return scratch;
}

static void run_kernel(cebus_dtype dtype, int vector_bytes)
{
    const cebus_gemm_kernel *kernel = cebus_gemm_kernel_find(dtype, vector_bytes);
    cr_assert_leq(kernel->rows * kernel->cols, CEBUS_GEMM_TILE);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int flags = 0; flags < 16; flags++) {
            problem p = make(dtype, flags, shapes[i][0], shapes[i][1], shapes[i][2]);
            void *scratch = make_scratch(cebus_gemm_blocked_scratch(&p.gemm, kernel));
            cebus_gemm_blocked_run(&p.gemm, kernel, scratch);
            check_and_drop(&p);
            free(scratch);
        }
    }
}

Test(gemm, every_kernel_multiplies)
{
    for (int bytes = cebus_gemm_vector_bytes(); bytes >= 16; bytes /= 2) {
        run_kernel(CEBUS_F32, bytes);
        run_kernel(CEBUS_F64, bytes);
    }
}

Test(gemm, the_chosen_engine_multiplies)
{
    for (int flags = 0; flags < 32; flags++) {
        problem p = make(flags & 16 ? CEBUS_F64 : CEBUS_F32, flags, 60, 70, 80);
        void *scratch = make_scratch(cebus_gemm_scratch(&p.gemm));
        cebus_gemm_run(&p.gemm, scratch);
        check_and_drop(&p);
        free(scratch);
    }
}

Test(gemm, scratch_of_a_larger_product_serves_a_smaller_one)
{
    for (int i = 0; i < 3; i++) {
        int64_t size[3] = {40, 50, 60};
        cebus_gemm small = {.dtype = CEBUS_F32, .m = size[0], .n = size[1], .k = size[2]};
        size[i] *= 20;
        cebus_gemm large = {.dtype = CEBUS_F32, .m = size[0], .n = size[1], .k = size[2]};
        cr_assert_geq(cebus_gemm_scratch(&large), cebus_gemm_scratch(&small));
        cr_assert_eq(cebus_gemm_scratch(&large) % 64, 0);
    }
}

/* One batch [2, 3] of products, B broadcast over its first dimension, for any thread count. */
static void run_batch(int threads, int64_t m, int64_t n, int64_t k)
{
    const cebus_dtype dtype = CEBUS_F32;
    float *a = make_data(dtype, 5, 6 * m * k), *b = make_data(dtype, 6, 3 * n * k);
    float *bias = make_data(dtype, 7, 2 * n), *c = make_data(dtype, 8, 6 * m * n);
    cebus_gemm_batch batch = {.one = {.dtype = dtype,
                                      .m = m,
                                      .n = n,
                                      .k = k,
                                      .lda = k,
                                      .ldb = n,
                                      .ldc = n,
                                      .alpha = 1,
                                      .a = a,
                                      .b = b,
                                      .c = c},
                              .ndim = 2,
                              .shape = {2, 3},
                              .a_stride = {3 * m * k, m * k},
                              .b_stride = {0, n * k},
                              .bias = bias,
                              .bias_stride = 2};
    void *scratch = make_scratch(cebus_gemm_batch_scratch(&batch, threads));
    cebus_gemm_batch_run(&batch, threads, scratch);
    for (int64_t i = 0; i < 6 * m * n; i++) {
        const float *row = a + i / n * k, *column = b + i / (m * n) % 3 * n * k + i % n;
        float want = bias[i % n * 2];
        for (int64_t p = 0; p < k; p++)
            want += row[p] * column[p * n];
        cr_assert_eq(c[i], want, "%d threads, element %lld", threads, (long long)i);
    }
    free(a);
    free(b);
    free(bias);
    free(c);
    free(scratch);
}

Test(gemm, a_batch_is_cut_without_seams)
{
    for (int threads = 1; threads <= 13; threads++) {
        run_batch(threads, 3, 5, 4);
        run_batch(threads, 101, 47, 60);
        run_batch(threads, 1, 230, 500);
    }
}
