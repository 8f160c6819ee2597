/**
 * @file tensor.h
 * Tensors: counted handles to views of storages.
 *
 * A tensor is {element type, shape, strides, offset} over a storage; several tensors may view one
 * storage and see each other's in-place writes. The storage is the unit of memory: under pressure
 * the runtime may give its bytes up and rebuild them, at another address, before they are read.
 * Shape, strides and type never need the bytes and never cause a rebuild.
 *
 * Ownership: functions borrow their inputs and hand out new references in `out`; release each
 * with cebus_tensor_release(). Functions that return a status tell NULL and released handles; those
 * that return a fact (a type, a length) take neither. Thread-safety: any thread may use any tensor;
 * calls on one runtime are serialized by its lock; retain is lock-free.
 */
#ifndef CEBUS_TENSOR_H
#define CEBUS_TENSOR_H

#include <cebus/base.h>

CEBUS_BEGIN_DECLS

/** Dimensions a tensor may have at most. */
#define CEBUS_MAX_DIMS 8

/** A device, its arena and its books: see runtime.h. */
typedef struct cebus_runtime cebus_runtime;
/** A counted handle to a view of a storage. */
typedef struct cebus_tensor cebus_tensor;

/** Element types. Values are stable. */
typedef enum cebus_dtype {
    CEBUS_F32 = 1,
    CEBUS_F64 = 2,
    CEBUS_F16 = 3,
    CEBUS_BF16 = 4,
    CEBUS_I64 = 5,
    CEBUS_I32 = 6,
    CEBUS_U8 = 7,
    CEBUS_BOOL = 8, /**< one byte, 0 or 1 */
} cebus_dtype;

/** Bytes of one element, 0 for an unknown type. */
CEBUS_API size_t cebus_dtype_size(cebus_dtype dtype);
/** "f32", "i64", ... ; "invalid" for an unknown type. */
CEBUS_API const char *cebus_dtype_name(cebus_dtype dtype);
/** True of f32, f64, f16 and bf16. */
CEBUS_API bool cebus_dtype_is_float(cebus_dtype dtype);

/** How a tensor reads its storage. Offset and strides count elements; strides may be 0. */
typedef struct cebus_view {
    cebus_dtype dtype;               /**< element type */
    int32_t ndim;                    /**< number of dimensions */
    int64_t offset;                  /**< of the first element from the storage's start */
    int64_t shape[CEBUS_MAX_DIMS];   /**< length of each dimension */
    int64_t strides[CEBUS_MAX_DIMS]; /**< elements from one index to the next */
} cebus_view;

/** Takes another reference; returns `tensor`. NULL is allowed. Lock-free. */
CEBUS_API cebus_tensor *cebus_tensor_retain(cebus_tensor *tensor);
/** Drops a reference. NULL is allowed. The last one frees the tensor, maybe its storage. */
CEBUS_API void cebus_tensor_release(cebus_tensor *tensor);

/** The view; valid while the caller holds a reference. */
CEBUS_API const cebus_view *cebus_tensor_view(const cebus_tensor *tensor);
/** The runtime it belongs to. */
CEBUS_API cebus_runtime *cebus_tensor_runtime(const cebus_tensor *tensor);
/** Element type. */
CEBUS_API cebus_dtype cebus_tensor_dtype(const cebus_tensor *tensor);
/** Number of dimensions. */
CEBUS_API int cebus_tensor_ndim(const cebus_tensor *tensor);
/** Length of dimension `dim`; negative counts from the end; -1 when out of range. */
CEBUS_API int64_t cebus_tensor_size(const cebus_tensor *tensor, int dim);
/** Number of elements. */
CEBUS_API int64_t cebus_tensor_numel(const cebus_tensor *tensor);
/** True when the elements lie in row-major order without gaps. */
CEBUS_API bool cebus_tensor_is_contiguous(const cebus_tensor *tensor);
/** True while the storage has bytes on the device (it may be given up at any later call). */
CEBUS_API bool cebus_tensor_is_resident(const cebus_tensor *tensor);
/** Counts in-place writes to the storage; shared by all its views. */
CEBUS_API uint64_t cebus_tensor_version(const cebus_tensor *tensor);

/**
 * A new contiguous tensor of numel x element size bytes from `data` (NULL only where that is 0). A
 * leaf: it cannot be recomputed. `data` is not read after the return. CEBUS_INVALID_ARGUMENT: an
 * unknown type, a negative length, more than CEBUS_MAX_DIMS dimensions. CEBUS_OUT_OF_MEMORY.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_from_host(cebus_runtime *rt, const void *data,
                                                               cebus_dtype dtype, int ndim,
                                                               const int64_t *shape,
                                                               cebus_tensor **out);
/**
 * Copies the elements to `data` in row-major order; `bytes` must be numel x element size.
 * Rebuilds the value first when it was given up, and waits for the device. CEBUS_INVALID_ARGUMENT:
 * NULL or another number of bytes. CEBUS_OUT_OF_MEMORY: there is no room to rebuild it.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_to_host(cebus_tensor *tensor, void *data,
                                                             size_t bytes);
/** Overwrites the elements from row-major host data: an in-place write. Errors as in to_host;
 * CEBUS_AUTOGRAD_ERROR: a leaf that collects a gradient, while gradients are enabled. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_set_from_host(cebus_tensor *tensor,
                                                                   const void *data, size_t bytes);
/** The single element of a one-element tensor (else CEBUS_SHAPE_MISMATCH), as a double. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_item(cebus_tensor *tensor, double *out);

/**
 * Lets the caller read the bytes in place: pins the storage where it is until
 * cebus_tensor_unmap(). *out is the address of the view's first element (NULL when empty).
 * Counted; named in the out-of-memory report. To write, use cebus_tensor_set_from_host(). What
 * calls write there later is complete after cebus_runtime_synchronize().
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_map(cebus_tensor *tensor, const void **out);
/** Ends one cebus_tensor_map(). */
CEBUS_API void cebus_tensor_unmap(cebus_tensor *tensor);

/**
 * Brings back what of these tensors was given up, so that all are resident at once (NULL entries
 * allowed). Later calls may give them up again. CEBUS_OUT_OF_MEMORY when they do not fit together;
 * then some of them are back, and nothing is lost.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensors_restore(cebus_tensor *const *tensors,
                                                              size_t n);

/**
 * Declares a storage persistent (a parameter, optimizer state, a buffer): it lies in the persistent
 * zone, and in-place writes go to it directly. Nothing makes it again, so it is never dropped;
 * where values may be swapped it may leave for the host (cebus_swap), and come back elsewhere.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_tensor_set_persistent(cebus_tensor *tensor);
/** Whether it was. */
CEBUS_API bool cebus_tensor_is_persistent(const cebus_tensor *tensor);

/**
 * @name Views: new tensors over the same storage; no bytes move. Semantics are PyTorch's.
 * CEBUS_INVALID_ARGUMENT: a dimension, an index or a step that is out of range, or more than
 * CEBUS_MAX_DIMS dimensions. CEBUS_SHAPE_MISMATCH: a shape that x does not have the elements for.
 */
/** @{ */
/** One dimension may be -1. Copies only when no view can express the shape. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_reshape(cebus_runtime *rt, cebus_tensor *x, int ndim,
                                                      const int64_t *shape, cebus_tensor **out);
/** dims[i] is the input dimension that becomes dimension i; negative counts from the end. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_permute(cebus_runtime *rt, cebus_tensor *x,
                                                      const int *dims, cebus_tensor **out);
/** Swaps two dimensions; negative counts from the end. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_transpose(cebus_runtime *rt, cebus_tensor *x,
                                                        int dim0, int dim1, cebus_tensor **out);
/** Elements start, start+step, ... < stop of `dim`, clamped as in Python; step >= 1. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_slice(cebus_runtime *rt, cebus_tensor *x, int dim,
                                                    int64_t start, int64_t stop, int64_t step,
                                                    cebus_tensor **out);
/** Drops `dim` by taking one index of it. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_select(cebus_runtime *rt, cebus_tensor *x, int dim,
                                                     int64_t index, cebus_tensor **out);
/** The diagonal of two dimensions, `offset` to the right of the main one (left below 0), as a last
 * dimension in the place of both; of length 0 where it lies outside. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_diagonal(cebus_runtime *rt, cebus_tensor *x,
                                                       int64_t offset, int dim1, int dim2,
                                                       cebus_tensor **out);
/** Windows of `size` elements along `dim`, `step` apart, as a last dimension; 0 <= size <= the
 * length of `dim`. Where they share elements they cannot be written to. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_windows(cebus_runtime *rt, cebus_tensor *x, int dim,
                                                      int64_t size, int64_t step,
                                                      cebus_tensor **out);
/** x's storage read in any way: element (i, j, ..) is the one at offset + i x strides[0] + j x
 * strides[1] + .. of the storage; strides and offset must not be negative. All of it must lie in x
 * or, where no gradient is recorded, in the tensor that x is a view of. Not to be written to where
 * two elements may be one. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_as_strided(cebus_runtime *rt, cebus_tensor *x,
                                                         int ndim, const int64_t *shape,
                                                         const int64_t *strides, int64_t offset,
                                                         cebus_tensor **out);
/** Repeats dimensions of length 1, and new leading ones, with stride 0; -1 keeps a length. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_expand(cebus_runtime *rt, cebus_tensor *x, int ndim,
                                                     const int64_t *shape, cebus_tensor **out);
/** Drops `dim` when its length is 1; else a view of the same shape. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_squeeze(cebus_runtime *rt, cebus_tensor *x, int dim,
                                                      cebus_tensor **out);
/** Inserts a dimension of length 1 at `dim`; negative counts from the end of the result. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_unsqueeze(cebus_runtime *rt, cebus_tensor *x, int dim,
                                                        cebus_tensor **out);
/** Pieces of `size` along `dim` (the last may be shorter); `*count` is the room in `out`, then
 * the number of pieces; what is left of the room is NULL. With out NULL only the count is
 * answered. CEBUS_INVALID_ARGUMENT: too little room. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_split(cebus_runtime *rt, cebus_tensor *x,
                                                    int64_t size, int dim, cebus_tensor **out,
                                                    size_t *count);
/** @} */

CEBUS_END_DECLS

#endif
