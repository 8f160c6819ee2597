/**
 * widen.h: f16 and bf16 for kernels that are written for f32. Each such input is converted in the
 * workspace, the kernel runs on f32 throughout, and each such output is rounded once, to nearest,
 * ties to even. So a kernel accumulates in f32, and what it gives for f16 is what it gives for the
 * same numbers in f32, rounded: the same choice of algorithm, the same order of sums.
 *
 * A processor's own 16-bit products would be faster where there are any (AVX512-BF16, AMX); they
 * would be another algorithm on another machine, and are not used.
 *
 * Costs workspace: twice the bytes of the narrow arrays. Arrays that share memory (what a kernel
 * writes in place) must not be narrow.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_WIDEN_H
#define CEBUS_EAGER_DEVICE_CPU_WIDEN_H

#include "eager/op.h"

/** Arrays of a launch, inputs and outputs together, at most. */
#define CEBUS_WIDEN_ARRAYS 16

/** Workspace of a launch of a kernel that itself takes `workspace` (NULL: none). */
uint64_t cebus_widen_workspace(const cebus_launch *launch,
                               uint64_t (*workspace)(const cebus_launch *launch));
/** Runs it; a launch without narrow arrays as it is. */
cebus_status cebus_widen_run(const cebus_launch *launch,
                             cebus_status (*run)(const cebus_launch *launch));

/** A family lists its kernels as X(op, run, workspace): this gives each the two functions that
 * CEBUS_WIDENED, its entry in the family's table, names. */
#define CEBUS_WIDEN(op, run, workspace)                                                            \
    static cebus_status op##_widened(const cebus_launch *launch)                                   \
    {                                                                                              \
        return cebus_widen_run(launch, run);                                                       \
    }                                                                                              \
    static uint64_t op##_widened_workspace(const cebus_launch *launch)                             \
    {                                                                                              \
        return cebus_widen_workspace(launch, workspace);                                           \
    }
#define CEBUS_WIDENED(op, run, workspace) {#op, op##_widened, op##_widened_workspace, NULL},

#endif
