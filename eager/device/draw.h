/**
 * draw.h: from random words (eager/rng.h) to numbers of a distribution, once, for every device.
 */
#ifndef CEBUS_EAGER_DEVICE_DRAW_H
#define CEBUS_EAGER_DEVICE_DRAW_H

#include "eager/device/scalar.h"
#include "eager/rng.h"

CEBUS_INLINE float cebus_draw_uniform_f32(uint32_t word, float low, float width)
{
    return low + cebus_philox_float(word) * width;
}

CEBUS_INLINE double cebus_draw_uniform_f64(uint32_t high, uint32_t low_word, double low,
                                           double width)
{
    return low + cebus_philox_double(high, low_word) * width;
}

/** Box-Muller: a pair of uniforms, the first in (0, 1], becomes a pair of normals. */
CEBUS_INLINE void cebus_draw_normal_f32(const uint32_t *words, float *out)
{
    float sine, cosine;
    float u = cebus_philox_float(words[0]) + 0x1p-24F;
    float radius = cebus_sqrt_f32(-2.0F * cebus_log_f32(u));
    cebus_sincos_turn_f32(cebus_philox_float(words[1]), &sine, &cosine);
    out[0] = radius * cosine;
    out[1] = radius * sine;
}

/** The same of four words; by libm, whose last bit may differ from device to device. */
CEBUS_INLINE void cebus_draw_normal_f64(const uint32_t *words, double *out)
{
    double radius = sqrt(-2.0 * log(cebus_philox_double(words[0], words[1]) + 0x1p-53));
    double angle = 6.28318530717958647693 * cebus_philox_double(words[2], words[3]);
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

/** Of 24 bits of a word: what is below this is a success of probability p. */
CEBUS_INLINE uint32_t cebus_draw_threshold(double p)
{
    return (uint32_t)ceil(p * 0x1p24);
}

#endif
