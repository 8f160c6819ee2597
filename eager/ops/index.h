/**
 * index.h: the inside of the indexing ops: attributes, backward ops, gradients.
 */
#ifndef CEBUS_EAGER_OPS_INDEX_H
#define CEBUS_EAGER_OPS_INDEX_H

#include "eager/op.h"

/** Of embedding and embedding_backward. */
typedef struct cebus_embedding_attrs {
    int64_t rows;    /**< backward: length of the table whose gradient it makes */
    int64_t padding; /**< row without a gradient; -1: none */
} cebus_embedding_attrs;

/** Of all other ops of the family. */
typedef struct cebus_index_attrs {
    int64_t dim;                   /**< in [0, max(ndim, 1)) */
    int64_t ndim;                  /**< backward ops: of the tensor whose gradient they make */
    int64_t shape[CEBUS_MAX_DIMS]; /**< likewise */
} cebus_index_attrs;

/** @name Backward ops: zeros to which the gradient is added at the indices. Inputs (grad, index).
 */
/** @{ */
extern const cebus_op cebus_op_embedding_backward;
extern const cebus_op cebus_op_gather_backward;
extern const cebus_op cebus_op_index_select_backward;
/** @} */

/** @name Gradients (eager/autograd/index.c); all but scatter_add's save input 1, the indices. */
/** @{ */
cebus_saves cebus_index_saves(const void *attrs, uint64_t needs);
cebus_saves cebus_scatter_add_saves(const void *attrs, uint64_t needs);
cebus_status cebus_embedding_gradient(const cebus_gradient *io);
cebus_status cebus_gather_gradient(const cebus_gradient *io);
cebus_status cebus_index_select_gradient(const cebus_gradient *io);
cebus_status cebus_scatter_add_gradient(const cebus_gradient *io);
/** @} */

#endif
