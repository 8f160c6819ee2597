/**
 * fill.h: the inside of the tensors made from a number.
 */
#ifndef CEBUS_EAGER_OPS_FILL_H
#define CEBUS_EAGER_OPS_FILL_H

#include "eager/op.h"

struct cebus_call;

/** The result's view is dense, its unused dimensions zero (attributes are compared as bytes). */
typedef struct cebus_fill_attrs {
    cebus_view view;
    double start; /**< of arange; the value of full */
    double step;  /**< of arange */
} cebus_fill_attrs;

/** A tensor of the shape, type and, where dense, memory order of `like`, all `value`. */
CEBUS_MUST_CHECK cebus_status cebus_fill_like(cebus_runtime *rt, const cebus_view *like,
                                              double value, cebus_tensor **out);

/** The record of a call, not made yet, that fills so many bytes with zeros. NULL without host
 * memory. */
struct cebus_call *cebus_fill_record(cebus_runtime *rt, uint64_t bytes);

/** `view` := `from` made dense, with nothing left undefined: fit for attributes. */
void cebus_fill_view(cebus_view *view, const cebus_view *from);

/** Refuses NULL, unknown types, bad or too large shapes in the name of `op`; fills `out`. */
CEBUS_MUST_CHECK cebus_status cebus_fill_shape(const char *op, cebus_dtype dtype, int ndim,
                                               const int64_t *shape, cebus_view *out);

/** Refuses a number that an integer type cannot hold. */
CEBUS_MUST_CHECK cebus_status cebus_fill_check_value(const char *op, double value,
                                                     cebus_dtype dtype);

#endif
