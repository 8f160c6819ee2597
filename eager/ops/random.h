/**
 * random.h: the inside of the random tensors.
 */
#ifndef CEBUS_EAGER_OPS_RANDOM_H
#define CEBUS_EAGER_OPS_RANDOM_H

#include "eager/op.h"

/**
 * Element i of the result, counted in memory, is made from Philox block i / per_block of the
 * call: 4 elements a block, or 2 where an element takes 64 random bits (f64 but for bernoulli).
 */
typedef struct cebus_random_attrs {
    cebus_view view; /**< dense; unused dimensions zero */
    double a, b;     /**< uniform: low, high; bernoulli: p */
} cebus_random_attrs;

static inline int64_t cebus_random_per_block(cebus_dtype dtype)
{
    return dtype == CEBUS_F64 ? 2 : 4;
}

#endif
