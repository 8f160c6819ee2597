/**
 * shapes.h: generated pictures of shapes, so that the example needs no files.
 */
#ifndef SHAPES_H
#define SHAPES_H

#include <stdint.h>

/** Disc, ring, square, frame, cross, triangle, and stripes that lie or stand. */
enum {
    SHAPE_KINDS = 8
};

/**
 * Draws picture number `index` of `seed`: [3, side, side] numbers around 0, a shape of random
 * kind, place, size and colours under noise. Returns its kind.
 */
int32_t shape_draw(uint64_t seed, uint64_t index, int64_t side, float *out);

#endif
