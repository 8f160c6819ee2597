/**
 * cut.h: a batch of matrices cut into chunks that fit a buffer, in a shape that products take: a
 * chunk is a range of one dimension of the batch, with all dimensions after it. Matrices that do
 * not fit alone, or shall not, are cut into blocks of rows. Needs no CUDA.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CUT_H
#define CEBUS_EAGER_DEVICE_CUDA_CUT_H

#include <cebus/tensor.h>

typedef struct cebus_cuda_cut {
    int ndim;
    int64_t shape[CEBUS_MAX_DIMS]; /**< of the batch */
    int64_t length;                /**< rows of a matrix */
    int dim;        /**< whose ranges chunks are; -1: all of the batch is one chunk */
    int64_t step;   /**< of it in a chunk, but for the last */
    int64_t inner;  /**< matrices for each index of it */
    int64_t chunks; /**< of the batch */
    int64_t rows;   /**< in a block, but for the last */
    int64_t blocks; /**< of a matrix */
} cebus_cuda_cut;

/** The order of a batch's dimensions in which its chunks make the largest products. Those of length
 * 1 are left out; of runs of neighbours that lie as one in all of `n` arrays (strides[k][i] of
 * dimension i), the one of most matrices, the innermost of several, comes last. Answers how many
 * dimensions there are, and of how many matrices that run is. */
int cebus_cuda_cut_order(int ndim, const int64_t *shape, int n, const int64_t *const *strides,
                         int *order, int64_t *out_together);

/** For matrices of `length` rows of `row` elements, in blocks of `rows` at most, and a buffer of
 * `bound` elements. Nothing may be empty. A chunk holds one row of one matrix at least, even where
 * that is beyond the bound. */
cebus_cuda_cut cebus_cuda_cut_of(int ndim, const int64_t *shape, int64_t length, int64_t rows,
                                 int64_t row, int64_t bound);

/** A chunk: matrices [first, first + matrices), a batch of its own. */
typedef struct cebus_cuda_chunk {
    int64_t first, matrices;
    int from; /**< its dimensions are those of the batch from here on, the first one shorter */
    int ndim;
    int64_t shape[CEBUS_MAX_DIMS];
} cebus_cuda_chunk;
cebus_cuda_chunk cebus_cuda_cut_chunk(const cebus_cuda_cut *cut, int64_t index);

/** Matrices of the largest chunk. */
int64_t cebus_cuda_cut_matrices(const cebus_cuda_cut *cut);
/** Rows of block number `index`. */
int64_t cebus_cuda_cut_rows(const cebus_cuda_cut *cut, int64_t index);

#endif
