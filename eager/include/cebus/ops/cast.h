/**
 * @file ops/cast.h
 * Copies: of another element type, of another memory order, or just another storage.
 *
 * Conversions round to nearest, ties to even; a float becomes an integer by dropping its fraction
 * (out of the range of i64: its nearest end, NaN: 0) and wraps into the narrower integer types;
 * anything becomes bool by "not zero". Gradients are converted back to the type of `x`.
 */
#ifndef CEBUS_OPS_CAST_H
#define CEBUS_OPS_CAST_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** `x` with elements of `dtype`, in the memory order of `x`; `x` itself, retained, when it has them
 * already. An unknown type is #CEBUS_INVALID_ARGUMENT. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_cast(cebus_runtime *rt, cebus_tensor *x,
                                                   cebus_dtype dtype, cebus_tensor **out);
/** A copy in a storage of its own, in the memory order of `x` where that is dense. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_clone(cebus_runtime *rt, cebus_tensor *x,
                                                    cebus_tensor **out);
/** `x` in row-major order: `x` itself, retained, when it is so already, else a copy. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_contiguous(cebus_runtime *rt, cebus_tensor *x,
                                                         cebus_tensor **out);

CEBUS_END_DECLS

#endif
