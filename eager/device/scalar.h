/**
 * scalar.h: the float functions that kernels share, as branch-free polynomials: loops over them
 * vectorize, each element takes the same steps whatever its neighbours are, and the bits do not
 * depend on the machine's libm. Accuracy is within 2.5 ulp of the true value; infinities, NaN and
 * subnormals are handled. The polynomials are Chebyshev fits over the reduced ranges named at
 * each. Doubles use libm (the f64 kernels serve gradient checks, not speed).
 *
 * A device compiler that needs another qualifier defines CEBUS_INLINE first.
 */
#ifndef CEBUS_EAGER_DEVICE_SCALAR_H
#define CEBUS_EAGER_DEVICE_SCALAR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef CEBUS_INLINE
#define CEBUS_INLINE static inline
#endif

CEBUS_INLINE uint32_t cebus_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

CEBUS_INLINE float cebus_f32_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

CEBUS_INLINE float cebus_abs_f32(float x)
{
    return cebus_f32_from_bits(cebus_f32_bits(x) & 0x7FFFFFFF);
}

/** The magnitude of `x` with the sign of `from`. */
CEBUS_INLINE float cebus_copysign_f32(float x, float from)
{
    return cebus_f32_from_bits((cebus_f32_bits(x) & 0x7FFFFFFF) |
                               (cebus_f32_bits(from) & 0x80000000));
}

/** Adding and subtracting this rounds a float of magnitude < 2^22 to an integer, ties to even,
 * and leaves that integer in the low bits of the sum. */
#define CEBUS_ROUND_F32 0x1.8p23F

/** e^x = 2^n e^r with |r| <= ln(2)/2. */
CEBUS_INLINE float cebus_exp_f32(float x)
{
    x = x < -104.0F ? -104.0F : x; /* a NaN passes both tests */
    x = x > 89.0F ? 89.0F : x;
    float shifted = x * 1.44269504F + CEBUS_ROUND_F32;
    float n = shifted - CEBUS_ROUND_F32;
    float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
    float p = 1.3926926614e-3F;
    p = p * r + 8.36377387441e-3F;
    p = p * r + 4.16665501103e-2F;
    p = p * r + 0.166665733819F;
    p = p * r + 0.5F;
    float result = (p * r) * r + r + 1.0F;
    /* n reaches from -151 to 129: the scale takes two factors, and only the second may round. */
    int32_t power = (int32_t)(cebus_f32_bits(shifted) - cebus_f32_bits(CEBUS_ROUND_F32));
    int32_t half = power >> 1;
    float first = cebus_f32_from_bits((uint32_t)(half + 127) << 23);
    float second = cebus_f32_from_bits((uint32_t)(power - half + 127) << 23);
    return result * first * second;
}

/** ln x = e ln 2 + ln m with m in [sqrt(1/2), sqrt(2)). */
CEBUS_INLINE float cebus_log_f32(float x)
{
    float scale = x < 0x1p-126F ? 0x1p23F : 1.0F; /* lifts subnormals */
    float lift = x < 0x1p-126F ? 23.0F : 0.0F;
    uint32_t bits = cebus_f32_bits(x * scale) - 0x3F3504F3; /* the bits of sqrt(1/2) */
    float e = (float)((int32_t)bits >> 23) - lift;
    float f = cebus_f32_from_bits((bits & 0x007FFFFF) + 0x3F3504F3) - 1.0F;
    float p = 6.98070195866e-2F;
    p = p * f - 0.114945466129F;
    p = p * f + 0.116890711375F;
    p = p * f - 0.124240377177F;
    p = p * f + 0.142485512644F;
    p = p * f - 0.166678509729F;
    p = p * f + 0.200007305039F;
    p = p * f - 0.249999966269F;
    p = p * f + 0.333333311219F;
    float z = f * f;
    float tail = p * f * z + e * -2.12194440e-4F - 0.5F * z;
    float special = x < INFINITY ? 0.0F : x; /* infinity and NaN */
    special = x == 0.0F ? -INFINITY : special;
    special = x < 0.0F ? NAN : special;
    return f + tail + e * 0.693359375F + special;
}

/** tanh x: x + x^3 P(x^2) below 0.625, else 1 - 2 / (e^2x + 1). */
CEBUS_INLINE float cebus_tanh_f32(float x)
{
    float a = cebus_abs_f32(x);
    float z = x * x;
    float p = -6.09671416591e-3F;
    p = p * z + 2.09971789991e-2F;
    p = p * z - 5.38509095785e-2F;
    p = p * z + 0.13332769737F;
    p = p * z - 0.333333289441F;
    float small = p * z * x + x;
    float large = cebus_copysign_f32(1.0F - 2.0F / (cebus_exp_f32(a + a) + 1.0F), x);
    large = x == x ? large : x;
    return a < 0.625F ? small : large;
}

/** 1 / (1 + e^-x), from e^-|x| so that neither end loses its digits. */
CEBUS_INLINE float cebus_sigmoid_f32(float x)
{
    float e = cebus_exp_f32(-cebus_abs_f32(x));
    float numerator = x < 0.0F ? e : 1.0F;
    return numerator / (1.0F + e);
}

/** erf x: x + x P(x^2) below 1, else 1 - exp(-Q(x)); 1 from 4 on. */
CEBUS_INLINE float cebus_erf_f32(float x)
{
    float a = cebus_abs_f32(x);
    float z = x * x;
    float p = 7.87587506269e-5F;
    p = p * z - 8.01686428717e-4F;
    p = p * z + 5.18908742343e-3F;
    p = p * z - 2.68542120106e-2F;
    p = p * z + 0.112835947152F;
    p = p * z - 0.376126266667F;
    p = p * z + 0.12837916585F;
    float small = p * x + x;
    float c = a < 4.0F ? a : 4.0F;
    float q = -1.63715141459e-6F;
    q = q * c + 4.60580426892e-5F;
    q = q * c - 0.000596805625661F;
    q = q * c + 0.00475959629327F;
    q = q * c - 0.0264211360057F;
    q = q * c + 0.110080082949F;
    q = q * c + 0.631826051559F;
    q = q * c + 1.13023343484F;
    q = q * c - 0.000320138049678F;
    float large = cebus_copysign_f32(1.0F - cebus_exp_f32(-q), x);
    large = x == x ? large : x;
    return a < 1.0F ? small : large;
}

/** The normal distribution function at x, within 2e-7; *out_density is its derivative. The tail
 * beyond |x| is E t P(t) / 2 with E = exp(-x^2 / 2) and t = 1 / (1 + 0.4 |x| / sqrt 2): one
 * exponential serves both, and small tails keep five digits. */
CEBUS_INLINE float cebus_normal_f32(float x, float *out_density)
{
    float e = cebus_exp_f32(-0.5F * x * x);
    float t = 1.0F / (1.0F + 0.282842712F * cebus_abs_f32(x));
    float p = 0.0395107544196F;
    p = p * t - 0.132414401004F;
    p = p * t + 0.0689211627968F;
    p = p * t + 0.103638966873F;
    p = p * t + 0.0700769255317F;
    p = p * t + 0.197002422076F;
    p = p * t + 0.201099872356F;
    p = p * t + 0.226534360218F;
    p = p * t + 0.225629977598F;
    float tail = 0.5F * e * (t * p);
    *out_density = 0.398942280F * e;
    return x < 0.0F ? tail : 1.0F - tail;
}

/** sin and cos of 2 pi u for u in [0, 1]: an eighth of the circle by polynomial, the rest by
 * symmetry (u times 4 is exact, so the reduction loses nothing). */
CEBUS_INLINE void cebus_sincos_turn_f32(float u, float *out_sin, float *out_cos)
{
    float shifted = 4.0F * u + CEBUS_ROUND_F32;
    float t = 4.0F * u - (shifted - CEBUS_ROUND_F32);
    uint32_t quarter = cebus_f32_bits(shifted);
    float z = t * t;
    float s = 1.58651512713e-4F;
    s = s * z - 4.68147496917e-3F;
    s = s * z + 7.96926122972e-2F;
    s = s * z - 0.645964097397F;
    s = s * z * t + 1.57079632679F * t;
    float c = 9.06739898403e-4F;
    c = c * z - 2.08615283422e-2F;
    c = c * z + 0.253669410357F;
    c = c * z - 1.23370054937F;
    c = c * z + 1.0F;
    float sine = quarter & 1 ? c : s;
    float cosine = quarter & 1 ? s : c;
    *out_sin = quarter & 2 ? -sine : sine;
    *out_cos = (quarter + 1) & 2 ? -cosine : cosine;
}

/** @name What f32 takes from libm (exactly rounded, or too seldom used to matter), and f64 */
/** @{ */
CEBUS_INLINE float cebus_sqrt_f32(float x)
{
    return sqrtf(x);
}
CEBUS_INLINE float cebus_sin_f32(float x)
{
    return sinf(x);
}
CEBUS_INLINE float cebus_cos_f32(float x)
{
    return cosf(x);
}
CEBUS_INLINE float cebus_pow_f32(float x, float y)
{
    return powf(x, y);
}
CEBUS_INLINE float cebus_fmod_f32(float x, float y)
{
    return fmodf(x, y);
}
CEBUS_INLINE double cebus_fmod_f64(double x, double y)
{
    return fmod(x, y);
}
CEBUS_INLINE double cebus_abs_f64(double x)
{
    return fabs(x);
}
CEBUS_INLINE double cebus_exp_f64(double x)
{
    return exp(x);
}
CEBUS_INLINE double cebus_log_f64(double x)
{
    return log(x);
}
CEBUS_INLINE double cebus_sqrt_f64(double x)
{
    return sqrt(x);
}
CEBUS_INLINE double cebus_sin_f64(double x)
{
    return sin(x);
}
CEBUS_INLINE double cebus_cos_f64(double x)
{
    return cos(x);
}
CEBUS_INLINE double cebus_pow_f64(double x, double y)
{
    return pow(x, y);
}
CEBUS_INLINE double cebus_tanh_f64(double x)
{
    return tanh(x);
}
CEBUS_INLINE double cebus_erf_f64(double x)
{
    return erf(x);
}
CEBUS_INLINE double cebus_normal_f64(double x, double *out_density)
{
    *out_density = 0.39894228040143267794 * exp(-0.5 * x * x);
    return 0.5 * erfc(x * -0.70710678118654752440);
}
CEBUS_INLINE double cebus_sigmoid_f64(double x)
{
    double e = exp(-fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}
/** @} */

#endif
