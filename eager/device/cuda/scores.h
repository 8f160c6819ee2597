/**
 * scores.h: rows of attention scores, the arithmetic between the matrix products: the counterpart
 * of eager/device/cpu/scores.h. A few threads of a warp take a row and hold it, a block of them a
 * long one; sums run in an order that the row's length alone sets.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_SCORES_H
#define CEBUS_EAGER_DEVICE_CUDA_SCORES_H

#include "eager/device/cuda/cuda.h"

CEBUS_BEGIN_DECLS

/** Rows of scores begin at multiples of this. */
#define CEBUS_CUDA_SCORES_PACK 8

/** Matrices of a batch, elements read or written by strides; `data` NULL: absent. */
typedef struct cebus_cuda_matrices {
    void *data; /**< of the first row that is worked on */
    int64_t batch[CEBUS_MAX_DIMS], row, col;
} cebus_cuda_matrices;

/** Rows [first_row, first_row + rows) of a batch of matrices. */
typedef struct cebus_cuda_scores {
    cebus_dtype dtype; /**< f32 or f64, of scores and lse */
    cebus_dtype other; /**< of q: of all else but masks of bytes */
    int ndim;          /**< of the batch */
    int64_t shape[CEBUS_MAX_DIMS];
    int64_t matrices, first_row, rows; /**< matrices * rows < 2^31 */
    int64_t columns;                   /**< S */
    int64_t values;                    /**< columns of out: D */
    void *weights, *grads;             /**< [matrices, rows, ld], scores */
    void *soft_weights, *soft_grads;   /**< the same of `other`, what is made of them: where that is
                                            `dtype`, in their place */
    int64_t ld;                        /**< a multiple of CEBUS_CUDA_SCORES_PACK */
    bool is_causal;
    bool mask_is_bool;              /**< the mask is u8: hidden where 0; else it is added */
    cebus_cuda_matrices mask, keep; /**< keep: u8, the weight stays where it is not 0 */
    cebus_cuda_matrices out, grad;  /**< backward */
    double keep_scale;              /**< what kept weights are multiplied by */
    cebus_cuda_matrices lse;        /**< of one column; may be absent forward */
    cebus_cuda_matrices mask_grad;  /**< backward; may be absent */
} cebus_cuda_scores;

/** weights: scores -> soft_weights: what v is multiplied by; writes lse, infinity where a row sees
 * nothing. */
cebus_status cebus_cuda_scores_soften(const cebus_launch *launch, const char *op,
                                      const cebus_cuda_scores *scores);

/** weights: scores -> kept weights, not yet scaled; grads: of weights -> of scores, both in their
 * soft places; writes mask_grad. */
cebus_status cebus_cuda_scores_backward(const cebus_launch *launch, const char *op,
                                        const cebus_cuda_scores *scores);

CEBUS_END_DECLS

#endif
