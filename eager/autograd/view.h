/**
 * view.h: gradients of views. The descriptors carry no kernel: a view moves no bytes.
 */
#ifndef CEBUS_EAGER_AUTOGRAD_VIEW_H
#define CEBUS_EAGER_AUTOGRAD_VIEW_H

#include "eager/op.h"

/** What a view's gradient must know beside the two shapes. */
typedef struct cebus_view_attrs {
    int dims[CEBUS_MAX_DIMS];  /**< permute: the permutation; slice, select: dims[0];
                                  windows: likewise;
                                  diagonal: both of its dimensions */
    int64_t start, stop, step; /**< windows: `stop` is their size */
} cebus_view_attrs;

extern const cebus_op
    cebus_op_reshape; /**< also unsqueeze: any view of the same elements in order */
extern const cebus_op cebus_op_permute;
extern const cebus_op cebus_op_slice;
extern const cebus_op cebus_op_select;
extern const cebus_op cebus_op_diagonal;
extern const cebus_op cebus_op_expand;
extern const cebus_op cebus_op_windows;
extern const cebus_op cebus_op_as_strided;

#endif
