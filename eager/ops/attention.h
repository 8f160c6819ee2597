/**
 * attention.h: the inside of scaled_dot_product_attention.
 *
 * attention: (q, k, v, mask, keep) -> (out, lse), lse [.., L] being the logarithm of each row's
 * sum of exponentials, +infinity where the row sees nothing. attention_backward: the same inputs,
 * out, lse and d out -> dq, dk, dv and, as a fourth output where asked for, d scores [.., L, S];
 * all with the result's batch dimensions. `keep` is the u8 dropout mask.
 */
#ifndef CEBUS_EAGER_OPS_ATTENTION_H
#define CEBUS_EAGER_OPS_ATTENTION_H

#include "eager/op.h"

enum {
    CEBUS_ATTENTION_Q,
    CEBUS_ATTENTION_K,
    CEBUS_ATTENTION_V,
    CEBUS_ATTENTION_MASK, /**< may be absent */
    CEBUS_ATTENTION_KEEP, /**< may be absent */
    CEBUS_ATTENTION_OUT,
    CEBUS_ATTENTION_LSE,
    CEBUS_ATTENTION_GRAD,
    CEBUS_ATTENTION_INPUTS,
};

typedef struct cebus_attention_attrs {
    double scale;
    double keep_scale; /**< what kept weights are multiplied by */
    bool is_causal;
    bool has_mask, has_keep;
} cebus_attention_attrs;

extern const cebus_op cebus_op_attention_backward;

/** @name Gradients (eager/autograd/attention.c) */
/** @{ */
cebus_saves cebus_attention_saves(const void *attrs, uint64_t needs);
cebus_status cebus_attention_gradient(const cebus_gradient *io);
/** @} */

#endif
