/**
 * image.h: images in whatever order they lie, a pixel at a time; neighbouring threads take
 * neighbouring channels.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_IMAGE_H
#define CEBUS_EAGER_DEVICE_CUDA_IMAGE_H

#include "eager/device/cuda/lane.h"

/** A 4-D array [n, c, h, w]; cells.data NULL: there is none. */
typedef struct cebus_image {
    cebus_cells cells;
    int64_t stride[4];
} cebus_image;

/** A channel of a pixel. */
typedef struct cebus_pixel {
    int64_t n, c, h, w;
} cebus_pixel;

/** Number i of images of `size` (height, width), channels innermost. */
CEBUS_DEVICE cebus_pixel cebus_pixel_of(int64_t i, int64_t channels, const int64_t size[2])
{
    cebus_pixel at = {};
    at.c = i % channels;
    i /= channels;
    at.w = i % size[1];
    i /= size[1];
    at.h = i % size[0];
    at.n = i / size[0];
    return at;
}

CEBUS_DEVICE int64_t cebus_image_offset(const cebus_image *image, cebus_pixel at)
{
    return at.n * image->stride[0] + at.c * image->stride[1] + at.h * image->stride[2] +
           at.w * image->stride[3];
}

template <class T> CEBUS_DEVICE T cebus_image_get(const cebus_image *image, cebus_pixel at)
{
    return cebus_lane<T>::get(image->cells, cebus_image_offset(image, at));
}

template <class T> CEBUS_DEVICE void cebus_image_set(const cebus_image *image, cebus_pixel at, T x)
{
    cebus_lane<T>::set(image->cells, cebus_image_offset(image, at), x);
}

static inline cebus_image cebus_image_of(const cebus_array *array)
{
    cebus_image image = {cebus_cells_of(array), {}};
    for (int d = 0; d < 4; d++)
        image.stride[d] = array->view->strides[d];
    return image;
}

#endif
