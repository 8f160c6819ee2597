/**
 * @file attention.h
 * Scaled dot-product attention in one op: the [L, S] matrices of scores are never stored whole.
 */
#ifndef CEBUS_OPS_ATTENTION_H
#define CEBUS_OPS_ATTENTION_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Options of cebus_scaled_dot_product_attention(); zero means default. */
typedef struct cebus_attention_options {
    cebus_tensor *mask; /**< NULL, or broadcastable to [.., L, S]: bool (true: take part) or of the
                           type of q (added to the scores) */
    double dropout_p;   /**< in [0, 1]: probability that a weight is dropped */
    bool is_causal;     /**< row i sees columns 0..i only, besides what the mask says */
    double scale;       /**< of the scores; 0: 1 / sqrt(E), or 1 without features */
} cebus_attention_options;

/**
 * dropout(softmax(scale q k^T + mask)) v for q [.., L, E], k [.., S, E] and v [.., S, D]; leading
 * dimensions broadcast, the result is [.., L, D]. Its dimensions lie in memory as those of q do, so
 * that heads that were split off by a view go back together without a copy. A row that may look at
 * nothing is zero. `options` may be NULL. Any float type.
 *
 * Rows of scores are computed a few at a time in workspace, for each matrix of the batch. The
 * gradient saves q, k, v, the mask, the result and one number a row, and computes the weights
 * again (Dao et al., "FlashAttention", NeurIPS 2022, section 3, with whole rows). With dropout
 * there is one byte a weight besides: [.., L, S].
 *
 * Errors: CEBUS_INVALID_ARGUMENT for NULL or an option that is out of range or not finite;
 * CEBUS_SHAPE_MISMATCH; CEBUS_DTYPE_MISMATCH.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_scaled_dot_product_attention(
    cebus_runtime *rt, cebus_tensor *q, cebus_tensor *k, cebus_tensor *v,
    const cebus_attention_options *options, cebus_tensor **out);

CEBUS_END_DECLS

#endif
