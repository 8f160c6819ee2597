/**
 * numbers.h: elements of any float type as doubles, rounded once when they are stored.
 */
#ifndef CEBUS_TESTS_CUDA_HOST_NUMBERS_H
#define CEBUS_TESTS_CUDA_HOST_NUMBERS_H

#include <cebus/tensor.h>

#include "eager/device/half.h"

static inline double number_load(const void *data, int64_t dtype, int64_t at)
{
    switch (dtype) {
    case CEBUS_F64:
        return ((const double *)data)[at];
    case CEBUS_F16:
        return (double)cebus_f16_to_f32(((const uint16_t *)data)[at]);
    case CEBUS_BF16:
        return (double)cebus_bf16_to_f32(((const uint16_t *)data)[at]);
    default:
        return (double)((const float *)data)[at];
    }
}

static inline void number_store(void *data, int64_t dtype, int64_t at, double value)
{
    switch (dtype) {
    case CEBUS_F64:
        ((double *)data)[at] = value;
        break;
    case CEBUS_F16:
        ((uint16_t *)data)[at] = cebus_f16_from_f32((float)value);
        break;
    case CEBUS_BF16:
        ((uint16_t *)data)[at] = cebus_bf16_from_f32((float)value);
        break;
    default:
        ((float *)data)[at] = (float)value;
    }
}

#endif
