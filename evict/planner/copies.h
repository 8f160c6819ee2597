/**
 * copies.h: what one direction of the link is busy with, and when: copies in the order in which
 * they start. Some may be at once: those that are to give way.
 *
 *     |xxxx|yyyy|      |zz|        earliest(from 0, 3) = 9      latest(to 20, 3) = 13
 *     0    4    9     16  18
 */
#ifndef CEBUS_EVICT_PLANNER_COPIES_H
#define CEBUS_EVICT_PLANNER_COPIES_H

#include "evict/timeline/streams.h"
#include "layout/pool.h"

typedef struct cebus_copy {
    cebus_span when;
    uint32_t value;
    uint32_t behind; /**< of a sequence (links.h): a copy out may start behind this instance; a copy
                          in is due before it */
} cebus_copy;

typedef struct cebus_copies {
    cebus_copy *items;
    size_t count, capacity;
    uint64_t longest; /**< none takes longer */
} cebus_copies;

void cebus_copies_deinit(cebus_copies *copies, cebus_pool *pool);

/** The earliest time without copies from a time on. O(log copies + those that are
 * passed, or may be). */
cebus_span cebus_copies_earliest(const cebus_copies *copies, uint64_t from, uint64_t length);
/** The latest that ends by a time; from == to: there is none. As long. */
cebus_span cebus_copies_latest(const cebus_copies *copies, uint64_t to, uint64_t length);

/** One more, behind those that start no later. False without host memory. O(copies behind it). */
bool cebus_copies_add(cebus_copies *copies, cebus_pool *pool, cebus_copy copy);
/** Takes those of a value out. O(copies). */
void cebus_copies_remove(cebus_copies *copies, uint32_t value);
/** The same copies as another has. False without host memory. */
bool cebus_copies_copy(cebus_copies *copies, cebus_pool *pool, const cebus_copies *from);

#endif
