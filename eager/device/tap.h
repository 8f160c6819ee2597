/**
 * tap.h: where a row (or column) of an interpolated image comes from, once, for every device.
 */
#ifndef CEBUS_EAGER_DEVICE_TAP_H
#define CEBUS_EAGER_DEVICE_TAP_H

#include "eager/device/scalar.h"

/** Where one row of the result comes from. */
typedef struct cebus_tap {
    int64_t source[2]; /**< rows of the image, maybe the same one twice */
    double weight[2];
} cebus_tap;

/** One dimension of an interpolation: lengths, and how positions are found. */
typedef struct cebus_tap_axis {
    int64_t image, result;
    double step; /**< rows of the image from one of the result to the next; 0: by the lengths */
    int64_t align_corners;
} cebus_tap_axis;

CEBUS_INLINE cebus_tap cebus_tap_nearest(cebus_tap_axis a, int64_t i)
{
    cebus_tap tap;
    int64_t last = a.image - 1;
    int64_t source = a.step > 0 ? (int64_t)((double)i * a.step) : i * a.image / a.result;
    source = source > last ? last : source;
    tap.source[0] = tap.source[1] = source;
    tap.weight[0] = 1;
    tap.weight[1] = 0;
    return tap;
}

CEBUS_INLINE cebus_tap cebus_tap_bilinear(cebus_tap_axis a, int64_t i)
{
    cebus_tap tap;
    double image = (double)a.image, result = (double)a.result, at;
    if (a.align_corners)
        at = result > 1 ? (double)i * ((image - 1) / (result - 1)) : 0;
    else
        at = ((double)i + 0.5) * (a.step > 0 ? a.step : image / result) - 0.5;
    int64_t last = a.image - 1, low = at > 0 ? (int64_t)at : 0;
    low = low > last ? last : low;
    double part = at > (double)low ? at - (double)low : 0;
    part = part > 1 ? 1 : part;
    tap.source[0] = low;
    tap.source[1] = low < last ? low + 1 : low;
    tap.weight[0] = 1 - part;
    tap.weight[1] = part;
    return tap;
}

/** What row `source` of the image gives to the row of the result. */
CEBUS_INLINE double cebus_tap_share(const cebus_tap *tap, int64_t source)
{
    return (tap->source[0] == source ? tap->weight[0] : 0) +
           (tap->source[1] == source ? tap->weight[1] : 0);
}

#endif
