/**
 * bias.h: a vector added to every row of a matrix, where a library does not do it on its way.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_BIAS_H
#define CEBUS_EAGER_DEVICE_CUDA_BIAS_H

#include "eager/device/cuda/cuda.h"

CEBUS_BEGIN_DECLS

/** Adds `bias`, a vector, to each row of `data`: rows of as many dense elements of the bias's type
 * (f32, f64, f16, bf16), one after the other. On the compute stream. */
cebus_status cebus_cuda_add_bias(const cebus_launch *launch, const char *op, void *data,
                                 int64_t rows, const cebus_array *bias);

CEBUS_END_DECLS

#endif
