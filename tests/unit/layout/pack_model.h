/**
 * pack_model.h: what a packing is, written down once more and without the library: a check of
 * offsets by a sweep over starts and ends, the optimum by trying every offset, and instances.
 */
#ifndef CEBUS_TESTS_LAYOUT_PACK_MODEL_H
#define CEBUS_TESTS_LAYOUT_PACK_MODEL_H

#include <cebus/pack.h>

/** Blocks, and presets if has_presets. `capacity` is one that they fit into, if one is known. */
typedef struct pack_model {
    cebus_pack_block *blocks;
    uint64_t *presets;
    uint64_t *offsets; /**< room for an answer */
    size_t n, room;
    uint64_t capacity;
    bool has_presets;
} pack_model;

/** Room for `most` blocks; none yet. */
pack_model *pack_model_create(size_t most);
void pack_model_destroy(pack_model *model);
void pack_model_clear(pack_model *model);
/** Adds a block anywhere. */
void pack_model_add(pack_model *model, uint64_t lower, uint64_t upper, uint64_t bytes,
                    uint64_t alignment);
/** Adds a block that must be at `offset`. */
void pack_model_add_at(pack_model *model, uint64_t lower, uint64_t upper, uint64_t bytes,
                       uint64_t alignment, uint64_t offset);

/** What is wrong with offsets, or NULL; out_height: the highest end. */
const char *pack_model_check(const pack_model *model, const uint64_t *offsets,
                             uint64_t *out_height);
/** The most bytes alive at once. */
uint64_t pack_model_load(const pack_model *model);
/** Whether some offsets keep to `capacity`, by trying them all: a handful of small blocks. */
bool pack_model_fits(const pack_model *model, uint64_t capacity);

/** Any few blocks: up to `most`, of small sizes and times; alignments and presets if asked for. */
void pack_model_fill_tiny(pack_model *model, size_t most, bool alignments, bool presets,
                          uint64_t *seed);
/**
 * A rectangle, `width` of time by `height` of bytes, cut into `n` blocks by straight cuts, each
 * through one piece; so it fits into `height`, and fills all of it. Pieces are multiples of
 * `grain` in both directions.
 */
void pack_model_fill_cut(pack_model *model, size_t n, uint64_t width, uint64_t height,
                         uint64_t grain, uint64_t *seed);
/** The same, each cut into five pieces around a middle one, which no straight cut makes. */
void pack_model_fill_pinwheels(pack_model *model, size_t n, uint64_t width, uint64_t height,
                               uint64_t *seed);
/** A training step: what is made going forward goes in the reverse order, temporaries at once. */
void pack_model_fill_training(pack_model *model, size_t n, uint64_t *seed);
/** Blocks that start anywhere and live for times of a geometric distribution. */
void pack_model_fill_random(pack_model *model, size_t n, uint64_t *seed);

#endif
