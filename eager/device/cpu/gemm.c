#include "eager/device/cpu/gemm.h"

#include <limits.h>
#include <string.h>

#include "cebus_config.h"
#include "eager/device/cpu/gemm_kernels.h"

#if CEBUS_HAVE_OPENBLAS
#include <cblas.h>
#if CEBUS_HAVE_OPENMP
#include <omp.h>
enum {
    HAS_OPENMP = 1
};
#else
enum {
    HAS_OPENMP = 0
};
#endif

static bool one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* Bytes of a vector in the kernels that OpenBLAS chose for this processor. */
static int openblas_vector_bytes(void)
{
    static const char *const avx512[] = {"SkylakeX", "Cooperlake", "SapphireRapids", NULL};
    static const char *const avx2[] = {"Haswell", "Zen", NULL};
    const char *core = openblas_get_corename();
    if (one_of(core, avx512))
        return 64;
    return one_of(core, avx2) ? 32 : 16;
}

static bool openblas_threads_obey(void)
{
    int kind = openblas_get_parallel();
    return kind == OPENBLAS_SEQUENTIAL || (HAS_OPENMP && kind == OPENBLAS_OPENMP);
}

static bool openblas_is_good(void)
{
    static _Atomic int known; /* 0: not asked yet; every thread comes to the same answer */
    if (known == 0)
        known = openblas_threads_obey() && openblas_vector_bytes() >= cebus_gemm_vector_bytes()
                    ? 1
                    : -1;
    return known > 0;
}

static bool fits_openblas(const cebus_gemm *g)
{
    return g->k > 0 && g->m <= INT_MAX && g->n <= INT_MAX && g->k <= INT_MAX && g->lda <= INT_MAX &&
           g->ldb <= INT_MAX && g->ldc <= INT_MAX && openblas_is_good();
}

static void openblas_call(const cebus_gemm *g)
{
    CBLAS_TRANSPOSE ta = g->trans_a ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE tb = g->trans_b ? CblasTrans : CblasNoTrans;
    int m = (int)g->m, n = (int)g->n, k = (int)g->k;
    int lda = (int)g->lda, ldb = (int)g->ldb, ldc = (int)g->ldc;
    double beta = g->accumulate ? 1 : 0;
    if (g->dtype == CEBUS_F64)
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, g->alpha, g->a, lda, g->b, ldb, beta, g->c,
                    ldc);
    else
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, (float)g->alpha, g->a, lda, g->b, ldb,
                    (float)beta, g->c, ldc);
}

/* The OpenMP build takes as many threads as the calling thread's own setting allows, and one
 * inside a parallel region. */
static void openblas_run(const cebus_gemm *g)
{
#if CEBUS_HAVE_OPENMP
    int saved = omp_get_max_threads();
    if (saved > 1)
        omp_set_num_threads(1);
    openblas_call(g);
    if (saved > 1)
        omp_set_num_threads(saved);
#else
    openblas_call(g);
#endif
}

#else

static bool fits_openblas(const cebus_gemm *g)
{
    (void)g;
    return false;
}

static void openblas_run(const cebus_gemm *g)
{
    (void)g;
}

#endif

static const cebus_gemm_kernel *widest_kernel(const cebus_gemm *gemm)
{
    return cebus_gemm_kernel_find(gemm->dtype, cebus_gemm_vector_bytes());
}

uint64_t cebus_gemm_scratch(const cebus_gemm *gemm)
{
    return fits_openblas(gemm) ? 0 : cebus_gemm_blocked_scratch(gemm, widest_kernel(gemm));
}

void cebus_gemm_run(const cebus_gemm *gemm, void *scratch)
{
    if (gemm->m == 0 || gemm->n == 0)
        return;
    if (fits_openblas(gemm))
        openblas_run(gemm);
    else
        cebus_gemm_blocked_run(gemm, widest_kernel(gemm), scratch);
}
