#include "eager/device/cpu/gemm_kernels.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The tiles fill the register file: 24 sums, 2 of B and one of A of 32; 12 + 2 + 1 of 16. */

#if defined(__x86_64__)

#define NAME(x) f32_avx512_##x
#define REAL float
#define VECTOR __m512
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma")))
#define TILE_ROWS 12
#define BROADCAST(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#include "eager/device/cpu/gemm_kernel.h"

#define NAME(x) f64_avx512_##x
#define REAL double
#define VECTOR __m512d
#define TARGET __attribute__((target("avx512f,avx512vl,avx512bw,avx512dq,fma")))
#define TILE_ROWS 12
#define BROADCAST(x) _mm512_set1_pd(x)
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#include "eager/device/cpu/gemm_kernel.h"

#define NAME(x) f32_avx2_##x
#define REAL float
#define VECTOR __m256
#define TARGET __attribute__((target("avx2,fma")))
#define TILE_ROWS 6
#define BROADCAST(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#include "eager/device/cpu/gemm_kernel.h"

#define NAME(x) f64_avx2_##x
#define REAL double
#define VECTOR __m256d
#define TARGET __attribute__((target("avx2,fma")))
#define TILE_ROWS 6
#define BROADCAST(x) _mm256_set1_pd(x)
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#include "eager/device/cpu/gemm_kernel.h"

#endif

typedef float four_floats __attribute__((vector_size(16)));
typedef double two_doubles __attribute__((vector_size(16)));

#define NAME(x) f32_plain_##x
#define REAL float
#define VECTOR four_floats
#define TARGET
#define TILE_ROWS 6
#define BROADCAST(x) ((four_floats){x, x, x, x})
#define FMA(a, b, c) ((a) * (b) + (c))
#include "eager/device/cpu/gemm_kernel.h"

#define NAME(x) f64_plain_##x
#define REAL double
#define VECTOR two_doubles
#define TARGET
#define TILE_ROWS 6
#define BROADCAST(x) ((two_doubles){x, x})
#define FMA(a, b, c) ((a) * (b) + (c))
#include "eager/device/cpu/gemm_kernel.h"

int cebus_gemm_vector_bytes(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        return 64;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return 32;
#endif
    return 16;
}

const cebus_gemm_kernel *cebus_gemm_kernel_find(cebus_dtype dtype, int vector_bytes)
{
#if defined(__x86_64__)
    switch (vector_bytes) {
    case 64:
        return dtype == CEBUS_F64 ? &f64_avx512_kernel : &f32_avx512_kernel;
    case 32:
        return dtype == CEBUS_F64 ? &f64_avx2_kernel : &f32_avx2_kernel;
    default:
        break;
    }
#else
    (void)vector_bytes;
#endif
    return dtype == CEBUS_F64 ? &f64_plain_kernel : &f32_plain_kernel;
}
