/**
 * ground.h: when the bytes at each address of a planned placement become free: a value that has a
 * place waits until the one before it has left that place, however much is free elsewhere.
 */
#ifndef CEBUS_EVICT_TIMELINE_GROUND_H
#define CEBUS_EVICT_TIMELINE_GROUND_H

#include <stdbool.h>

#include "layout/pool.h"

/** Somebody has these bytes. */
#define CEBUS_GROUND_TAKEN UINT64_MAX

/** From its offset to that of the next. */
typedef struct cebus_plot {
    uint64_t offset, since;
} cebus_plot;

typedef struct cebus_ground {
    cebus_pool *pool; /**< borrowed */
    cebus_plot *plots;
    size_t count, capacity;
} cebus_ground;

/** All is free since 0. */
bool cebus_ground_init(cebus_ground *ground, cebus_pool *pool);
void cebus_ground_deinit(cebus_ground *ground);

/** Since when all of [offset, offset + bytes) is free, or TAKEN. */
uint64_t cebus_ground_since(const cebus_ground *ground, uint64_t offset, uint64_t bytes);
/** From now on it is free since then, or TAKEN. False without host memory. */
bool cebus_ground_set(cebus_ground *ground, uint64_t offset, uint64_t bytes, uint64_t since);

#endif
