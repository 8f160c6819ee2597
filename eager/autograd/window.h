/**
 * window.h: gradients of views that show an element several times.
 */
#ifndef CEBUS_EAGER_AUTOGRAD_WINDOW_H
#define CEBUS_EAGER_AUTOGRAD_WINDOW_H

#include "eager/tensor.h"

/** Adds a gradient of the region's shape to `whole`, over whose storage the region lies. A place
 * that the region shows several times gets the sum, always in the same order. */
cebus_status cebus_window_add(cebus_runtime *rt, cebus_tensor *whole, const cebus_view *region,
                              cebus_tensor *grad);

#endif
