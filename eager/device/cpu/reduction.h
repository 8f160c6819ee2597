/**
 * reduction.h: which elements of a view fall together, and the walk over them.
 *
 * The reduced and the kept dimensions are each ordered as they lie in memory and merged where
 * they continue each other. If the innermost dimension is a reduced one, each output is folded
 * from rows; otherwise outputs that lie side by side are folded together, up to
 * CEBUS_FOLD_WIDTH columns at a time. That is a unit. When there are few units, each is cut into
 * slices of the reduced positions, folded apart and merged in order, so that all threads have
 * work; the number of slices depends on the shape alone, and so do the bits.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_REDUCTION_H
#define CEBUS_EAGER_DEVICE_CPU_REDUCTION_H

#include "eager/device/cpu/fold.h"
#include "eager/op.h"

typedef struct cebus_axis {
    int64_t length, in, out; /**< strides in the input and in the contiguous output */
} cebus_axis;

typedef struct cebus_reduction {
    cebus_axis kept[CEBUS_MAX_DIMS], reduced[CEBUS_MAX_DIMS]; /**< outermost first */
    int n_kept, n_reduced;
    bool by_columns;
    int64_t count; /**< elements that fall on one output */
    int64_t outputs;
    int64_t tiles; /**< units along the innermost kept dimension (by columns) */
    int64_t units, slices;
    int64_t block_bytes; /**< of the accumulators of the widest unit */
} cebus_reduction;

/** One pass: `x` folded into `out`, which is contiguous and may be `centers`, of the same shape. */
typedef struct cebus_reduction_pass {
    const cebus_fold *fold;
    const void *x, *centers; /**< centers NULL: 0 */
    void *out;
    double divisor;
    int threads;
    void *workspace;
} cebus_reduction_pass;

/**
 * Bit d of `dims`: dimension d is reduced. `ordered` keeps the reduced dimensions in their order,
 * for folds that care for positions.
 */
void cebus_reduction_plan(cebus_reduction *out, const cebus_view *x, uint32_t dims, bool ordered);

/** Bytes of workspace a pass needs. */
uint64_t cebus_reduction_workspace(const cebus_reduction *reduction);

void cebus_reduction_run(const cebus_reduction *reduction, const cebus_reduction_pass *pass);

#endif
