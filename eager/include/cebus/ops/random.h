/**
 * @file ops/random.h
 * Random tensors. Every number is a pure function of (seed, position in the runtime's stream), by
 * the counter-based generator Philox4x32-10 (Salmon et al., SC'11): what is drawn does not depend
 * on threads, and a value that was given up is drawn again to the bit. cebus_manual_seed() restarts
 * the stream; each call takes the next piece of it.
 *
 * Common errors: those of ops/fill.h for shapes, #CEBUS_INVALID_ARGUMENT for parameters out of
 * range and for a type that is not taken.
 */
#ifndef CEBUS_OPS_RANDOM_H
#define CEBUS_OPS_RANDOM_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Normally distributed, mean 0 and variance 1 (Box-Muller); floating-point types only. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_randn(cebus_runtime *rt, cebus_dtype dtype, int ndim,
                                                    const int64_t *shape, cebus_tensor **out);

/** The bounds of cebus_uniform(): finite and in order. */
typedef struct cebus_uniform_range {
    double low;  /**< within */
    double high; /**< without */
} cebus_uniform_range;
/** Uniform in [low, high) up to the rounding of the type; floating-point types only. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_uniform(cebus_runtime *rt, cebus_uniform_range range,
                                                      cebus_dtype dtype, int ndim,
                                                      const int64_t *shape, cebus_tensor **out);

/** 1 with probability p (in steps of 2^-24), else 0; of any type. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_bernoulli(cebus_runtime *rt, double p,
                                                        cebus_dtype dtype, int ndim,
                                                        const int64_t *shape, cebus_tensor **out);

/**
 * In training each element becomes 0 with probability p and is multiplied by 1 / (1 - p) otherwise
 * (Srivastava et al. 2014); without training, or for p = 0, *out is `x` retained. p in [0, 1].
 * The gradient keeps the mask, a byte per element, which is itself drawn again when given up.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_dropout(cebus_runtime *rt, cebus_tensor *x, double p,
                                                      bool training, cebus_tensor **out);

CEBUS_END_DECLS

#endif
