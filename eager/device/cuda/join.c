/* Kernels of the ops that only move elements (eager/device/join.h): one launch for each part. */
#include "eager/device/join.h"

#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"

static const cebus_mover mover = {cebus_cuda_copy, cebus_cuda_fill};

#define RUN(name)                                                                                  \
    static cebus_status run_##name(const cebus_launch *launch)                                     \
    {                                                                                              \
        cebus_join_##name(launch, &mover);                                                         \
        return cebus_cuda_launched(#name);                                                         \
    }
RUN(cat)
RUN(stack)
RUN(pad)
RUN(roll)

const cebus_kernel cebus_cuda_join_kernels[] = {
    {"cat", run_cat, NULL, NULL},
    {"stack", run_stack, NULL, NULL},
    {"pad", run_pad, NULL, NULL},
    {"roll", run_roll, NULL, NULL},
    {0},
};
