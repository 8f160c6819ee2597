/**
 * binary.h: the inside of the functions of two operands: attributes, checks that the in-place
 * family shares, and the ops that gradients are made of.
 */
#ifndef CEBUS_EAGER_OPS_BINARY_H
#define CEBUS_EAGER_OPS_BINARY_H

#include "eager/op.h"

/** Kinds of element types, as a mask of what an op takes. */
enum {
    CEBUS_KIND_FLOAT = 1,
    CEBUS_KIND_INTEGER = 2,
    CEBUS_KIND_BOOL = 4,
    CEBUS_KIND_NUMBER = CEBUS_KIND_FLOAT | CEBUS_KIND_INTEGER,
    CEBUS_KIND_BITS = CEBUS_KIND_INTEGER | CEBUS_KIND_BOOL,
    CEBUS_KIND_ANY = CEBUS_KIND_NUMBER | CEBUS_KIND_BOOL,
};

/** Refuses views that are not of one type, or of one that is not in `kinds`. */
CEBUS_MUST_CHECK cebus_status cebus_binary_check_dtypes(const char *op, const cebus_view *a,
                                                        const cebus_view *b, uint32_t kinds);
/** Refuses a number with a fraction (or too large) for elements of an integer type. */
CEBUS_MUST_CHECK cebus_status cebus_binary_check_number(const char *op, cebus_dtype dtype,
                                                        double value);

typedef struct cebus_mask_attrs {
    double scale;
    uint64_t inverted; /**< keeps where the mask is 0 */
} cebus_mask_attrs;

/** x scale where `mask` (bool or u8, broadcast to x) holds, else 0: dropout, and the gradients of
 * where. Differentiable in x; keeps the mask. */
CEBUS_MUST_CHECK cebus_status cebus_mask_scale(cebus_runtime *rt, cebus_tensor *x,
                                               cebus_tensor *mask, cebus_mask_attrs attrs,
                                               cebus_tensor **out);

/** @name Backward ops: (g, a, b), broadcast to g */
/** @{ */
extern const cebus_op cebus_op_pow_base_backward;     /**< g b a^(b-1) */
extern const cebus_op cebus_op_pow_exponent_backward; /**< g a^b ln a */
extern const cebus_op cebus_op_larger_share;          /**< g where a > b, g/2 where a = b, else 0 */
extern const cebus_op cebus_op_pow_scalar_backward;   /**< (g, x; e): g e x^(e-1) */
/** @} */

/** @name Gradients (eager/autograd/binary.c) */
/** @{ */
cebus_status cebus_add_gradient(const cebus_gradient *io);
cebus_status cebus_sub_gradient(const cebus_gradient *io);
cebus_saves cebus_mul_saves(const void *attrs, uint64_t needs);
cebus_status cebus_mul_gradient(const cebus_gradient *io);
cebus_saves cebus_div_saves(const void *attrs, uint64_t needs);
cebus_status cebus_div_gradient(const cebus_gradient *io);
cebus_saves cebus_both_saves(const void *attrs, uint64_t needs);
cebus_status cebus_pow_gradient(const cebus_gradient *io);
cebus_status cebus_maximum_gradient(const cebus_gradient *io);
cebus_status cebus_minimum_gradient(const cebus_gradient *io);
cebus_saves cebus_where_saves(const void *attrs, uint64_t needs);
cebus_status cebus_where_gradient(const cebus_gradient *io);
cebus_saves cebus_mask_scale_saves(const void *attrs, uint64_t needs);
cebus_status cebus_mask_scale_gradient(const cebus_gradient *io);
cebus_status cebus_add_scalar_gradient(const cebus_gradient *io);
cebus_status cebus_mul_scalar_gradient(const cebus_gradient *io);
cebus_status cebus_div_scalar_gradient(const cebus_gradient *io);
cebus_status cebus_rsub_scalar_gradient(const cebus_gradient *io);
cebus_saves cebus_pow_scalar_saves(const void *attrs, uint64_t needs);
cebus_status cebus_pow_scalar_gradient(const cebus_gradient *io);
/** @} */

#endif
