/**
 * norm.h: group norm's kernels, which norm.c lists beside its own.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_NORM_H
#define CEBUS_EAGER_DEVICE_CPU_NORM_H

#include "eager/op.h"

/** The bytes of the backward op's output `which` (CEBUS_NORM_*), NULL when it is not wanted. */
void *cebus_norm_output(const cebus_launch *launch, int64_t which);

cebus_status cebus_group_norm_run(const cebus_launch *launch);
uint64_t cebus_group_norm_workspace(const cebus_launch *launch);
cebus_status cebus_group_norm_backward_run(const cebus_launch *launch);
uint64_t cebus_group_norm_backward_workspace(const cebus_launch *launch);

#endif
