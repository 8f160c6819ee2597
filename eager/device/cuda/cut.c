#include "eager/device/cuda/cut.h"

#include "layout/number.h"

/* `part` of `length`, made as even as the same number of parts allows. */
static int64_t even(int64_t length, int64_t part)
{
    return cebus_ceil_div(length, cebus_ceil_div(length, part));
}

/* ---- order ------------------------------------------------------------------------------- */

/* Dimensions in their order, those of length 1 left out. */
static int longer_than_one(int ndim, const int64_t *shape, int *out)
{
    int n = 0;
    for (int i = 0; i < ndim; i++)
        if (shape[i] != 1)
            out[n++] = i;
    return n;
}

static bool lie_as_one(const int64_t *shape, int n, const int64_t *const *strides, int outer,
                       int inner)
{
    for (int k = 0; k < n; k++)
        if (strides[k][outer] != shape[inner] * strides[k][inner])
            return false;
    return true;
}

int cebus_cuda_cut_order(int ndim, const int64_t *shape, int n, const int64_t *const *strides,
                         int *order, int64_t *out_together)
{
    int dims[CEBUS_MAX_DIMS], best = 0, best_end = 0;
    int64_t most = 0;
    const int count = longer_than_one(ndim, shape, dims);
    for (int begin = 0, end = 0; begin < count; begin = end) {
        int64_t matrices = shape[dims[begin]];
        for (end = begin + 1;
             end < count && lie_as_one(shape, n, strides, dims[end - 1], dims[end]); end++)
            matrices *= shape[dims[end]];
        if (matrices < most)
            continue;
        most = matrices;
        best = begin;
        best_end = end;
    }
    int at = 0;
    for (int i = 0; i < count; i++)
        if (i < best || i >= best_end)
            order[at++] = dims[i];
    for (int i = best; i < best_end; i++)
        order[at++] = dims[i];
    *out_together = cebus_max_i64(1, most);
    return count;
}

/* ---- chunks ------------------------------------------------------------------------------ */

cebus_cuda_cut cebus_cuda_cut_of(int ndim, const int64_t *shape, int64_t length, int64_t rows,
                                 int64_t row, int64_t bound)
{
    cebus_cuda_cut cut = {.ndim = ndim, .length = length, .inner = 1, .chunks = 1};
    const int64_t most = bound / row / rows; /* matrices */
    for (int i = 0; i < ndim; i++)
        cut.shape[i] = shape[i];
    cut.rows = most > 0 ? rows : even(length, cebus_max_i64(1, cebus_min_i64(length, bound / row)));
    cut.blocks = cebus_ceil_div(length, cut.rows);
    cut.dim = ndim - 1;
    while (cut.dim >= 0 && cut.inner * shape[cut.dim] <= most)
        cut.inner *= shape[cut.dim--];
    if (cut.dim < 0)
        return cut;
    cut.step = even(shape[cut.dim], cebus_max_i64(1, most / cut.inner));
    cut.chunks = cebus_ceil_div(shape[cut.dim], cut.step);
    for (int i = 0; i < cut.dim; i++)
        cut.chunks *= shape[i];
    return cut;
}

cebus_cuda_chunk cebus_cuda_cut_chunk(const cebus_cuda_cut *cut, int64_t index)
{
    cebus_cuda_chunk chunk = {.from = cebus_max_i64(0, cut->dim)};
    int64_t length = 1, begin = 0;
    chunk.ndim = cut->ndim - chunk.from;
    for (int i = 0; i < chunk.ndim; i++)
        chunk.shape[i] = cut->shape[chunk.from + i];
    if (cut->dim >= 0) {
        const int64_t ranges = cebus_ceil_div(cut->shape[cut->dim], cut->step);
        begin = index % ranges * cut->step;
        length = cebus_min_i64(cut->step, cut->shape[cut->dim] - begin);
        begin += index / ranges * cut->shape[cut->dim];
        chunk.shape[0] = length;
    }
    chunk.first = begin * cut->inner;
    chunk.matrices = length * cut->inner;
    return chunk;
}

int64_t cebus_cuda_cut_matrices(const cebus_cuda_cut *cut)
{
    return cut->dim < 0 ? cut->inner : cut->step * cut->inner;
}

int64_t cebus_cuda_cut_rows(const cebus_cuda_cut *cut, int64_t index)
{
    return cebus_min_i64(cut->rows, cut->length - index * cut->rows);
}
