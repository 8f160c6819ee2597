/**
 * view.h: arithmetic on views (shape, strides, offset), used by inference and by kernels.
 * Pure functions; nothing allocates.
 */
#ifndef CEBUS_EAGER_VIEW_H
#define CEBUS_EAGER_VIEW_H

#include <cebus/tensor.h>

/** Text of a shape, "[2, 3]", in a small struct so that calls can nest in one message. */
typedef struct cebus_shape_text {
    char text[96];
} cebus_shape_text;
cebus_shape_text cebus_shape_format(const cebus_view *view);
#define CEBUS_SHAPE(view) (cebus_shape_format(view).text)

/** Fills `out` with row-major strides and offset 0. */
void cebus_view_contiguous(cebus_view *out, cebus_dtype dtype, int ndim, const int64_t *shape);

/** Same shape and dtype as `like`; strides dense in the memory order of `like` (so that
 * elementwise results of channels-last inputs stay channels-last), row-major if that is not dense.
 */
void cebus_view_like(cebus_view *out, const cebus_view *like, cebus_dtype dtype);

int64_t cebus_view_numel(const cebus_view *view);
bool cebus_view_is_contiguous(const cebus_view *view); /**< row-major, offset ignored */
/** Elements occupy [0, numel) exactly once, in some order: elementwise loops may run flat. */
bool cebus_view_is_dense(const cebus_view *view);
/** Same shape and strides: two dense arrays may be walked by one flat index. */
bool cebus_view_same_layout(const cebus_view *a, const cebus_view *b);
bool cebus_view_same_shape(const cebus_view *a, const cebus_view *b);
/** 4-D with channels innermost (strides[1] == 1, then W, H, N), the CPU's layout between
 * convolutions. */
bool cebus_view_is_channels_last(const cebus_view *view);
void cebus_view_channels_last(cebus_view *out, cebus_dtype dtype, const int64_t *nchw);

/** One past the highest element touched, relative to the storage; 0 if empty. */
int64_t cebus_view_extent(const cebus_view *view);
/** Whether two views of one storage may share an element. False is certain: their ranges are
 * apart, or interleave without meeting, as columns of a matrix do. */
bool cebus_view_may_overlap(const cebus_view *a, const cebus_view *b);
/** Whether they may share some elements without being the same view. */
bool cebus_view_overlaps_partially(const cebus_view *a, const cebus_view *b);
/** Whether two elements may share a place. False is certain. */
bool cebus_view_may_repeat(const cebus_view *view);
/** Bytes a fresh storage for this (dense or strided) view needs. False on overflow. */
bool cebus_view_bytes(const cebus_view *view, uint64_t *out_bytes);

/** The common shape by PyTorch's broadcasting rules; false when they do not go together. */
bool cebus_view_broadcast(const cebus_view *a, const cebus_view *b, int *out_ndim,
                          int64_t *out_shape);
/** Puts a dimension of length 1 in front of `dim`, below CEBUS_MAX_DIMS of them; stride 0. */
void cebus_view_insert_dim(cebus_view *view, int dim);
/** `view` read as `shape`: stride 0 where it is repeated. The shapes must broadcast. */
void cebus_view_expand(const cebus_view *view, int ndim, const int64_t *shape, cebus_view *out);

/** The type in which sums and statistics of elements of `dtype` are kept: f32 for f16 and bf16. */
static inline cebus_dtype cebus_dtype_wide(cebus_dtype dtype)
{
    return dtype == CEBUS_F16 || dtype == CEBUS_BF16 ? CEBUS_F32 : dtype;
}

/** Checks ndim, lengths >= 0 and that numel x element size fits in 2^62. */
bool cebus_shape_valid(cebus_dtype dtype, int ndim, const int64_t *shape);

/** A dimension in [-ndim, ndim) made non-negative, or -1. */
static inline int cebus_dim_wrap(int dim, int ndim)
{
    if (dim < -ndim || dim >= ndim)
        return -1;
    return dim < 0 ? dim + ndim : dim;
}

#endif
