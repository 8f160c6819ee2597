/**
 * window_table.h: what is known of the windows that start in each chunk: a bound (window_bound.h)
 * for each request size lately asked for.
 *
 * A table belongs to one size R: entry k bounds all runs of at least R bytes that start in chunk k.
 * Groups of CEBUS_GROUP consecutive chunk numbers have bounds of their own, behind those of chunks.
 * A dead chunk's entry is empty.
 */
#ifndef CEBUS_LAYOUT_WINDOW_TABLE_H
#define CEBUS_LAYOUT_WINDOW_TABLE_H

#include "layout/pool.h"
#include "layout/window_bound.h"

#define CEBUS_TABLES 32
#define CEBUS_GROUP 16

typedef struct cebus_table {
    uint64_t bytes;      /**< R */
    uint64_t used;       /**< when last asked for, in queries */
    double horizon;      /**< H of new bounds; 0: not known yet */
    uint32_t winner;     /**< the chunk of its last answer */
    cebus_bound *bounds; /**< by chunk, then by group */
} cebus_table;

typedef struct cebus_tables {
    cebus_pool *pool;  /**< borrowed */
    uint32_t capacity; /**< chunks, a multiple of CEBUS_GROUP */
    uint32_t groups;   /**< that may have windows */
    uint32_t count;    /**< tables */
    uint64_t queries;
    cebus_table table[CEBUS_TABLES];
} cebus_tables;

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool);
void cebus_tables_deinit(cebus_tables *tables);

/** Forgets everything. */
void cebus_tables_clear(cebus_tables *tables);

/** Room for `chunks` chunks. A table for which there is no host memory goes. */
void cebus_tables_reserve(cebus_tables *tables, uint32_t chunks);

/** The table of a size; NULL: there is none. Those that were not asked for in a long time go. */
cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes);
/** A table for a new size, maybe in the place of the one not asked for longest: the bounds of the
 * next smaller size, which hold for this one, too, or open ones. NULL without host memory. */
cebus_table *cebus_tables_add(cebus_tables *tables, uint64_t bytes, uint64_t now);

/** Chunk `to` now holds blocks that were in `from`. */
void cebus_tables_spread(cebus_tables *tables, uint32_t from, uint32_t to, uint64_t now);
/** Chunk `dead` has no blocks any more. */
void cebus_tables_empty(cebus_tables *tables, uint32_t dead);

/** The place of a group's bound in cebus_table.bounds. */
static inline uint32_t cebus_tables_group(const cebus_tables *tables, uint32_t chunk)
{
    return tables->capacity + chunk / CEBUS_GROUP;
}

/** Makes the bounds of a chunk and its group hold for windows behind `bound`, too. */
static inline void cebus_tables_raise(cebus_tables *tables, cebus_table *table, uint32_t chunk,
                                      const cebus_bound *bound, uint64_t now)
{
    cebus_bound_join(&table->bounds[chunk], bound, now);
    cebus_bound_join(&table->bounds[cebus_tables_group(tables, chunk)], bound, now);
}

/** Makes the bound of a group as tight as those of its chunks. */
void cebus_tables_tighten(cebus_tables *tables, cebus_table *table, uint32_t group, uint64_t now);

#endif
