/**
 * sweep.h: one pass over arrays of one shape, element by element: what unary, binary, cast,
 * where and in-place kernels are made of.
 *
 * An op gives loops over contiguous elements of a few compute types ("lanes"); the sweep brings
 * everything else: any strides, broadcasting, channels-last, the narrow types and threads. Arrays
 * that are contiguous in the order of the output are read and written in place, at memory speed;
 * the others pass through small blocks on the stack, gathered and converted on the way. Narrow
 * types are computed in a wider lane and rounded once, as in PyTorch:
 *
 *     f32 f16 bf16 -> F32      f64 -> F64      i64 i32 u8 bool -> I64
 *
 * The output's memory order decides the order of the pass; each element is computed alone, so bits
 * never depend on strides, threads or blocks.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_SWEEP_H
#define CEBUS_EAGER_DEVICE_CPU_SWEEP_H

#include "eager/op.h"

#define CEBUS_SWEEP_INPUTS 3

typedef enum cebus_lane {
    CEBUS_LANE_AUTO, /**< by dtype, see above */
    CEBUS_LANE_F32,
    CEBUS_LANE_F64,
    CEBUS_LANE_I64,
    CEBUS_LANE_U8, /**< bytes as they are: u8 and bool only */
    CEBUS_LANE_COUNT
} cebus_lane;

/** out[i] = f(in[0][i], ...) for i < n. The output may be the very same memory as an input. */
typedef void (*cebus_sweep_fn)(int64_t n, void *out, const void *const *in, const void *attrs);

typedef struct cebus_sweep {
    cebus_sweep_fn fn[CEBUS_LANE_COUNT]; /**< by the lane of the inputs; NULL: infer refuses it */
    cebus_lane out_lane;                 /**< AUTO: as the inputs */
    uint32_t byte_inputs;                /**< bit i: input i is a mask, read as bytes */
} cebus_sweep;

/** Runs the sweep over launch->in (broadcast to the output) into launch->out[0]. */
cebus_status cebus_sweep_run(const cebus_launch *launch, const cebus_sweep *sweep);

cebus_lane cebus_lane_of(cebus_dtype dtype);

/** Reads n elements of `dtype`, `step` elements apart, into contiguous elements of `lane`. The
 * pair (lane, dtype) must be one that CEBUS_LANE_* above names. */
void cebus_lane_load(cebus_lane lane, void *to, cebus_dtype dtype, const void *from, int64_t step,
                     int64_t n);
/** Writes n contiguous elements of `lane` back, rounding or wrapping; bool becomes "not zero". */
void cebus_lane_store(cebus_lane lane, const void *from, cebus_dtype dtype, void *to, int64_t step,
                      int64_t n);

#endif
