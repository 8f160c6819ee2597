/**
 * window_table.h: what is known of the windows that start in each chunk: a bound (window_bound.h)
 * for each request size lately asked for.
 *
 * A table belongs to one size R: entry k bounds all minimal runs of at least R bytes that start in
 * chunk k. Groups of CEBUS_GROUP consecutive chunk numbers have bounds of their own. A dead chunk's
 * entry is empty. The numbers of a group's chunks lie side by side, and so do those of as many
 * groups: a search reads most of them most of the time.
 */
#ifndef CEBUS_LAYOUT_WINDOW_TABLE_H
#define CEBUS_LAYOUT_WINDOW_TABLE_H

#include "layout/pool.h"
#include "layout/window_bound.h"

#define CEBUS_TABLES 32
#define CEBUS_GROUP 16

/** Bounds of a group's chunks, or of CEBUS_GROUP groups. */
typedef struct cebus_bounds {
    double near_base[CEBUS_GROUP], near_rise[CEBUS_GROUP];
    double far_base[CEBUS_GROUP], far_rise[CEBUS_GROUP];
} cebus_bounds;

typedef struct cebus_table {
    uint64_t bytes;       /**< R */
    uint64_t used;        /**< when last asked for, in queries */
    uint64_t epoch;       /**< of its bounds */
    double level;         /**< 1/price of answers, about; 0: not known yet */
    cebus_bounds *chunks; /**< by group */
    cebus_bounds *groups; /**< by CEBUS_GROUP groups */
} cebus_table;

/** Of the search under way (window_queue.h); as large as a table may need it. */
typedef struct cebus_table_scratch {
    double *chunks, *groups; /**< values: of chunks in groups that it opened, of all groups, */
    double *tops;            /**< the greatest of each CEBUS_GROUP groups */
    uint64_t *opened_by;     /**< by group: the last search that opened it */
    uint32_t *opened;        /**< groups, in no order */
    uint64_t search;         /**< its number */
} cebus_table_scratch;

typedef struct cebus_tables {
    cebus_pool *pool;  /**< borrowed */
    uint32_t capacity; /**< chunks, a multiple of CEBUS_GROUP^2 */
    uint32_t chunks;   /**< numbers in use */
    uint32_t groups;   /**< of them */
    uint32_t count;    /**< tables */
    uint64_t queries;
    cebus_table_scratch scratch;
    cebus_table table[CEBUS_TABLES];
} cebus_tables;

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool);
void cebus_tables_deinit(cebus_tables *tables);

/** Forgets everything. */
void cebus_tables_clear(cebus_tables *tables);

/** Room for `chunks` chunks. A table for which there is no host memory goes. */
void cebus_tables_reserve(cebus_tables *tables, uint32_t chunks);

/** The table of a size; NULL: there is none. Those that were not asked for in a long time go. One
 * with an old epoch begins anew. */
cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes, uint64_t now);
/** A table for a new size, maybe in the place of the one not asked for longest: nothing is known.
 * NULL without host memory. */
cebus_table *cebus_tables_add(cebus_tables *tables, uint64_t bytes, uint64_t now);

/** Chunk `to` now holds blocks that were in `from`. */
void cebus_tables_spread(cebus_tables *tables, uint32_t from, uint32_t to, uint64_t now);
/** Chunk `dead` has no blocks any more. */
void cebus_tables_empty(cebus_tables *tables, uint32_t dead);

/** Makes the bound of a group as tight as those of its chunks, from the table's time `t` on. */
void cebus_table_tighten(cebus_table *table, uint32_t group, double t);

static inline double cebus_table_time(const cebus_table *table, uint64_t now)
{
    return (double)(int64_t)(now - table->epoch);
}

static inline cebus_bound cebus_bounds_get(const cebus_bounds *all, uint32_t k)
{
    const cebus_bounds *at = &all[k / CEBUS_GROUP];
    uint32_t i = k % CEBUS_GROUP;
    return (cebus_bound){{at->near_base[i], at->near_rise[i]}, {at->far_base[i], at->far_rise[i]}};
}

static inline void cebus_bounds_set(cebus_bounds *all, uint32_t k, const cebus_bound *bound)
{
    cebus_bounds *at = &all[k / CEBUS_GROUP];
    uint32_t i = k % CEBUS_GROUP;
    at->near_base[i] = bound->near.base;
    at->near_rise[i] = bound->near.rise;
    at->far_base[i] = bound->far.base;
    at->far_rise[i] = bound->far.rise;
}

/** What each is at `t`. */
static inline void cebus_bounds_value(const cebus_bounds *bounds, double t, double *restrict out)
{
    for (uint32_t i = 0; i < CEBUS_GROUP; i++) {
        double near = bounds->near_base[i] + bounds->near_rise[i] * t;
        double far = bounds->far_base[i] + bounds->far_rise[i] * t;
        out[i] = near > far ? near : far;
    }
}

/** The greatest of CEBUS_GROUP numbers; four at a time, for compilers that know vectors. */
static inline double cebus_bounds_most(const double *terms)
{
    double most[4] = {terms[0], terms[1], terms[2], terms[3]};
    for (uint32_t i = 4; i < CEBUS_GROUP; i += 4) {
        for (uint32_t l = 0; l < 4; l++)
            most[l] = terms[i + l] > most[l] ? terms[i + l] : most[l];
    }
    double low = most[0] > most[1] ? most[0] : most[1];
    double high = most[2] > most[3] ? most[2] : most[3];
    return low > high ? low : high;
}

/** Makes the bounds of a chunk and its group hold for windows behind `line`, too, from
 * the table's time `t` on. */
void cebus_table_raise(cebus_table *table, uint32_t chunk, const cebus_line *line, double t);

#endif
