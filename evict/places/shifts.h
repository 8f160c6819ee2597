/**
 * shifts.h: values that lie in one order are to lie in another: which moves first, so that each
 * finds its new place free. Where they stand in each other's way one steps aside.
 *
 *     now      | a | b | c |   |      c to 3, a to 2, b to 0: then b lies where it should,
 *     to be    | b |   | a | c |      and a where c was
 */
#ifndef CEBUS_EVICT_PLACES_SHIFTS_H
#define CEBUS_EVICT_PLACES_SHIFTS_H

#include "evict/choice/move_terms.h"
#include "layout/pool.h"

/** Bytes that lie somewhere, and where they shall. */
typedef struct cebus_lodger {
    uint64_t bytes, now, then;
    uint32_t name;
} cebus_lodger;

typedef struct cebus_shift {
    uint32_t run;  /**< before this one */
    uint32_t name; /**< of who moves */
    uint64_t bytes;
    uint64_t offset; /**< to there, where all is free then */
} cebus_shift;

typedef struct cebus_shifts {
    cebus_pool *pool; /**< borrowed */
    cebus_shift *items;
    size_t count, capacity;
} cebus_shifts;

void cebus_shifts_init(cebus_shifts *shifts, cebus_pool *pool);
void cebus_shifts_deinit(cebus_shifts *shifts);

/**
 * Adds what takes the lodgers, apart from each other now and then, to where they shall be; they are
 * there after that. *out_found false: they stand in each other's way and there is no room to step
 * aside below `capacity`. False without host memory. O(lodgers) a shift, typically.
 */
bool cebus_shifts_add(cebus_shifts *shifts, cebus_lodger *lodgers, size_t n, uint32_t run,
                      uint64_t capacity, bool *out_found);

/** ns that all of them take. */
uint64_t cebus_shifts_ns(const cebus_shifts *shifts, const cebus_move_terms *terms);

#endif
