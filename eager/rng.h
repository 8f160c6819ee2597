/**
 * rng.h: Philox4x32-10 (Salmon et al., SC'11), a counter-based generator: block number i of a
 * stream is a pure function of (seed, i), so a replay draws the very same numbers and no global
 * state moves. One block is four 32-bit words; call k owns the blocks [offset, offset + blocks).
 * Inline, so that CPU kernels and CUDA kernels share it to the bit. A device compiler that needs
 * another qualifier defines CEBUS_INLINE first.
 */
#ifndef CEBUS_EAGER_RNG_H
#define CEBUS_EAGER_RNG_H

#include <stdint.h>

#ifndef CEBUS_INLINE
#define CEBUS_INLINE static inline
#endif

typedef struct cebus_philox {
    uint32_t word[4];
} cebus_philox;

CEBUS_INLINE cebus_philox cebus_philox_block(uint64_t seed, uint64_t counter)
{
    uint32_t c0 = (uint32_t)counter, c1 = (uint32_t)(counter >> 32), c2 = 0, c3 = 0;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)UINT32_C(0xD2511F53) * c0;
        uint64_t p1 = (uint64_t)UINT32_C(0xCD9E8D57) * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        uint32_t n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c0 = n0;
        c1 = (uint32_t)p1;
        c2 = n2;
        c3 = (uint32_t)p0;
        k0 += UINT32_C(0x9E3779B9);
        k1 += UINT32_C(0xBB67AE85);
    }
    return (cebus_philox){{c0, c1, c2, c3}};
}

/** A float in [0, 1) with 24 random bits. */
CEBUS_INLINE float cebus_philox_float(uint32_t word)
{
    return (float)(word >> 8) * 0x1.0p-24F;
}

/** A double in [0, 1) with 53 random bits. */
CEBUS_INLINE double cebus_philox_double(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 21) ^ (uint64_t)(low >> 11)) * 0x1.0p-53;
}

#endif
