/**
 * holes.h: free bytes where memory is a number: they remember since when they are free, and those
 * that are free for longest are taken first.
 */
#ifndef CEBUS_EVICT_TIMELINE_HOLES_H
#define CEBUS_EVICT_TIMELINE_HOLES_H

#include <stdbool.h>

#include "layout/pool.h"

/** Bytes that are free, since when. */
typedef struct cebus_hole {
    uint64_t since, bytes;
} cebus_hole;

typedef struct cebus_holes {
    cebus_pool *pool;  /**< borrowed */
    cebus_hole *items; /**< [first, count), by time */
    size_t first, count, capacity;
    uint64_t free; /**< bytes */
} cebus_holes;

void cebus_holes_init(cebus_holes *holes, cebus_pool *pool);
void cebus_holes_deinit(cebus_holes *holes);

/** False without host memory. O(1) for what becomes free last, which most does. */
bool cebus_holes_add(cebus_holes *holes, uint64_t since, uint64_t bytes);
/** Takes bytes, all that there are if they are fewer; answers since when all of these are free. */
uint64_t cebus_holes_take(cebus_holes *holes, uint64_t bytes);

#endif
