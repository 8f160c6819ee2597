/**
 * conv_plan.h: convolutions (conv.h) as plans of cuDNN (dnn.h).
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CONV_PLAN_H
#define CEBUS_EAGER_DEVICE_CUDA_CONV_PLAN_H

#include "eager/device/cuda/conv.h"
#include "eager/device/cuda/dnn.h"

/** Workspace that a plan may take: as much as its operands, and at least 32 MiB. */
uint64_t cebus_cuda_conv_bound(const cebus_cuda_conv_key *key);

cudnnStatus_t cebus_cuda_conv_plan_create(const cebus_cuda_dnn_target *target,
                                          const cebus_cuda_conv_key *key, cebus_cuda_dnn_plan *out);

cudnnStatus_t cebus_cuda_conv_plan_run(cudnnHandle_t handle, const cebus_cuda_dnn_plan *plan,
                                       const cebus_cuda_conv_data *data);

#endif
