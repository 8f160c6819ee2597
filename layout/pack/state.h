/**
 * state.h: a part that is packed bottom up, block by block, and unpacked again.
 *
 * Every section has a floor: nothing that is still to come lies below it. The floor is the top of
 * what was put there, or higher where some room was given up. Every block has a low: it cannot
 * begin below. Floors, tops and lows are put back by a trail; all else is undone by its inverse.
 *
 * Indices of blocks and sections count from the part's first.
 */
#ifndef CEBUS_LAYOUT_PACK_STATE_H
#define CEBUS_LAYOUT_PACK_STATE_H

#include "layout/pack/problem.h"

#define CEBUS_PACK_NOBODY UINT32_MAX

/** An old value, or (place NULL) a block that was put. */
typedef struct cebus_pack_change {
    uint64_t *place;
    uint64_t value;
} cebus_pack_change;

typedef struct cebus_pack_state {
    cebus_pack_memory *memory;
    uint32_t n, n_sections;
    uint64_t capacity; /**< units that a section holds, the rounding of one block included */
    /* of blocks */
    uint32_t *first, *end;
    uint64_t *size, *align;
    uint64_t *last;   /**< the highest offset that ends within the capacity */
    uint64_t *preset; /**< or CEBUS_PACK_ANYWHERE */
    uint32_t *twin;   /**< one before it that is exactly alike, or NOBODY */
    uint64_t *low;    /**< of a block that was put: its offset */
    bool *is_put;
    /* of sections */
    uint64_t *floor, *top;
    uint64_t *rest;     /**< units of blocks still to be put */
    uint32_t *crossing; /**< of those, how many live in the next section as well */
    uint32_t *from;     /**< the first block that starts here or later */
    uint32_t *weight;   /**< one, and how often what is left did not fit there */
    /* what has changed */
    cebus_pack_change *trail;
    size_t n_trail, trail_room;
    bool had_hat;   /**< something still to be put lives with the block that was put last */
    bool no_memory; /**< the trail could not grow: the state is lost */
} cebus_pack_state;

/** False without host memory. `capacity` in bytes. */
bool cebus_pack_state_init(cebus_pack_state *state, const cebus_pack_problem *problem,
                           const cebus_pack_part *part, uint64_t capacity,
                           cebus_pack_memory *memory);

/** Raises a floor, a top or a low. */
void cebus_pack_state_set(cebus_pack_state *state, uint64_t *place, uint64_t value);

/** Puts a block at its low, among those that start in section `lo` or later. False: what is
 * left does not fit any more. Undo either. */
bool cebus_pack_state_put(cebus_pack_state *state, uint32_t block, uint32_t lo);

/** Back to when the trail was as long as `n_trail`. */
void cebus_pack_state_undo(cebus_pack_state *state, size_t n_trail);

#endif
