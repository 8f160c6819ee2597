/**
 * views.h: making tensors that share a storage.
 */
#ifndef CEBUS_EAGER_VIEWS_H
#define CEBUS_EAGER_VIEWS_H

#include "eager/tensor.h"

/** A tensor over x's storage seen as `view`, outside the graph. */
cebus_status cebus_views_alias(cebus_runtime *rt, cebus_tensor *x, const cebus_view *view,
                               cebus_tensor **out);

/** Zeros with the shape and the (dense) strides of `like`, offset 0. */
cebus_status cebus_views_zeros(cebus_runtime *rt, const cebus_view *like, cebus_tensor **out);

#endif
