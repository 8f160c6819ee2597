/**
 * span.h: which pixels a pooling window reads along one dimension, and which windows read a pixel,
 * once, for every device.
 */
#ifndef CEBUS_EAGER_DEVICE_SPAN_H
#define CEBUS_EAGER_DEVICE_SPAN_H

#include "eager/device/scalar.h"
#include "eager/ops/pool.h"

/** Indices [begin, end), and how many values the mean is over. */
typedef struct cebus_span {
    int64_t begin, end, count;
} cebus_span;

/** Lengths along dimension d (0: height, 1: width) of a pooling. */
typedef struct cebus_span_axis {
    int d;
    int64_t windows, image;
} cebus_span_axis;

CEBUS_INLINE int64_t cebus_span_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/** The pixels of an averaging window, inside the image. */
CEBUS_INLINE cebus_span cebus_span_of_window(const cebus_pool_attrs *a, cebus_span_axis axis,
                                             int64_t window)
{
    int d = axis.d;
    cebus_span span;
    if (a->adaptive) {
        span.begin = window * axis.image / axis.windows;
        span.end = ((window + 1) * axis.image + axis.windows - 1) / axis.windows;
        span.count = span.end - span.begin;
        return span;
    }
    int64_t begin = window * a->stride[d] - a->padding[d];
    int64_t end = cebus_span_least(begin + a->kernel[d], axis.image + a->padding[d]);
    span.begin = begin < 0 ? 0 : begin;
    span.end = cebus_span_least(end, axis.image);
    span.count = a->exclude_padding ? span.end - span.begin : end - begin;
    return span;
}

/** The windows whose span covers a pixel. */
CEBUS_INLINE cebus_span cebus_span_over_pixel(const cebus_pool_attrs *a, cebus_span_axis axis,
                                              int64_t pixel)
{
    int d = axis.d;
    cebus_span span;
    span.count = 0;
    if (a->adaptive) {
        span.begin = pixel * axis.windows / axis.image;
        span.end = ((pixel + 1) * axis.windows + axis.image - 1) / axis.image;
        return span;
    }
    int64_t first = pixel + a->padding[d] - a->dilation[d] * (a->kernel[d] - 1);
    span.begin = first <= 0 ? 0 : (first + a->stride[d] - 1) / a->stride[d];
    span.end = cebus_span_least((pixel + a->padding[d]) / a->stride[d] + 1, axis.windows);
    return span;
}

#endif
