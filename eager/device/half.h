/**
 * half.h: f16 (IEEE binary16) and bf16 to and from f32, rounding to nearest, ties to even. Both
 * are held as uint16_t bits. Branch-free, so that loops over them vectorize, and free of
 * library calls, so that every device shares them to the bit.
 */
#ifndef CEBUS_EAGER_DEVICE_HALF_H
#define CEBUS_EAGER_DEVICE_HALF_H

#include "eager/device/scalar.h"

CEBUS_INLINE float cebus_bf16_to_f32(uint16_t h)
{
    return cebus_f32_from_bits((uint32_t)h << 16);
}

CEBUS_INLINE uint16_t cebus_bf16_from_f32(float x)
{
    uint32_t bits = cebus_f32_bits(x);
    /* Adding just under half of the last kept bit, or half when that bit is odd, rounds; it
     * carries into the exponent as it should. A NaN must not be carried over into zero. */
    uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
    uint32_t nan = (bits >> 16) | 0x40;
    return (uint16_t)((bits & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded);
}

CEBUS_INLINE float cebus_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t magnitude = (uint32_t)(h & 0x7FFF) << 13;
    /* The exponent bias differs by 112; the product is exact and normalizes subnormals. */
    uint32_t finite = cebus_f32_bits(cebus_f32_from_bits(magnitude) * 0x1p112F);
    uint32_t special = magnitude | 0x7F800000;
    return cebus_f32_from_bits(sign | (magnitude >= 0x0F800000 ? special : finite));
}

CEBUS_INLINE uint16_t cebus_f16_from_f32(float x)
{
    uint32_t bits = cebus_f32_bits(x);
    uint32_t magnitude = bits & 0x7FFFFFFF;
    uint32_t normal = (magnitude - (112U << 23) + 0xFFF + ((magnitude >> 13) & 1)) >> 13;
    /* Below 2^-14 the addition itself rounds: the last bit of 0.5 is the smallest subnormal. */
    uint32_t small = cebus_f32_bits(cebus_f32_from_bits(magnitude) + 0.5F) - 0x3F000000;
    uint32_t nan = 0x7E00 | ((magnitude >> 13) & 0x3FF);
    uint32_t out = magnitude < 0x38800000 ? small : normal;
    out = magnitude >= 0x477FF000 ? 0x7C00 : out;
    out = magnitude > 0x7F800000 ? nan : out;
    return (uint16_t)(out | ((bits >> 16) & 0x8000));
}

#endif
