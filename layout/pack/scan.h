/**
 * scan.h: what must follow from where the blocks of a component are, and where to branch.
 *
 * A niche is a stretch of sections of one floor between higher ones. Whatever is lowest on one of
 * its sections lies right on the floor and inside the niche (an option), or above the floor. An
 * option must rest on something: on the ground, or on a block under some part of it. Packings where
 * some block rests on nothing need not be looked at, because it can be lowered until it does. Where
 * a section has no options its floor rises to the lowest place where something can be.
 */
#ifndef CEBUS_LAYOUT_PACK_SCAN_H
#define CEBUS_LAYOUT_PACK_SCAN_H

#include "layout/pack/state.h"
#include "layout/pack/stop.h"

/** Sections [lo, hi) that no block still to be put crosses the ends of. */
typedef struct cebus_pack_component {
    uint32_t lo, hi;
} cebus_pack_component;

/** The two entries of a table (scan.c) that a lifetime is. */
typedef struct cebus_pack_places {
    size_t first, second;
} cebus_pack_places;

/** Scratch space and results of a scan. */
typedef struct cebus_pack_scan {
    cebus_pack_state *state;
    cebus_pack_stop *stop; /**< ends a run in the middle: its result is then nothing */
    uint32_t *list;        /**< the blocks still to be put, in order */
    uint32_t count;
    uint32_t *niche;   /**< by section: the first section of its niche + 1, or 0 */
    uint32_t *resting; /**< by section: sections before it whose floor is a top */
    int32_t *options;  /**< by section */
    uint64_t *next;   /**< by section: the lowest place above the floor, or on it without options */
    uint64_t *levels; /**< of the table that next is made from */
    size_t stride;    /**< of its rows */
    uint32_t n_levels;
    cebus_pack_places *places; /**< by block: in the table */
    uint64_t least;            /**< the smallest size in the list */
    bool lowest_first;         /**< of sections with equally few options; else the tightest first */
    bool weighted;    /**< options count for less where it failed often, and `urgent` comes first */
    uint32_t urgent;  /**< a section, or NOBODY */
    uint32_t section; /**< where to branch */
    bool may_be_empty; /**< nothing need lie on the floor there */
} cebus_pack_scan;

typedef enum cebus_pack_found {
    CEBUS_PACK_FOUND_BRANCH,
    CEBUS_PACK_FOUND_END, /**< nothing is left to be put */
    CEBUS_PACK_FOUND_CONFLICT,
} cebus_pack_found;

/** False without host memory. */
bool cebus_pack_scan_init(cebus_pack_scan *scan, cebus_pack_state *state);

/** Raises floors and lows as far as they must, then chooses the section with the fewest options (as
 * `lowest_first` and `weighted` say). */
cebus_pack_found cebus_pack_scan_run(cebus_pack_scan *scan, cebus_pack_component component);

/** Lists the blocks of a component that are still to be put. */
void cebus_pack_scan_list(cebus_pack_scan *scan, cebus_pack_component component);
/** The same, and finds the niches again, for the state that a run has left. */
void cebus_pack_scan_look(cebus_pack_scan *scan, cebus_pack_component component);

/** Whether a block can lie right on the floor of its niche and rest on something. After a run or a
 * look. */
bool cebus_pack_scan_lies(const cebus_pack_scan *scan, uint32_t block);
/** The same, and it is the first of its twins. */
bool cebus_pack_scan_is_option(const cebus_pack_scan *scan, uint32_t block);

/** The lowest place of a block that may not lie on the floor: on top of another one that is still
 * to be put. UINT64_MAX when there is none that lives with it. */
uint64_t cebus_pack_scan_above(const cebus_pack_scan *scan, uint32_t block);

#endif
