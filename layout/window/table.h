/**
 * table.h: what is known of the windows of each request size lately asked for: which are
 * cheap, and when there may be more of them.
 *
 * A table belongs to one size R and has a level: 1/price of what its answers cost, or somewhat
 * less. Of all runs of at least R bytes that start at a block only the shortest matters, so a block
 * stands for one window. Those at the level are hot: they are in a list, each with a line that
 * bounds it (bound.h). For all others of a chunk, one time is known before which none of
 * them gets there; a chunk whose time has come is due, and has to be looked at. So a search that
 * finds something at the level has seen all that might be better.
 *
 * Prices are integers, so that more windows may cost the same than the list has room for. Of those
 * only the better ones are hot then: a table says up to where it knows all, by price, evicted bytes
 * and offset.
 *
 * A level that rises leaves what is known true. Where it falls by a factor, what is hot still is,
 * and chunks are due sooner (level.h); where it is set anew, all are due.
 */
#ifndef CEBUS_LAYOUT_WINDOW_TABLE_H
#define CEBUS_LAYOUT_WINDOW_TABLE_H

#include "layout/pool.h"
#include "layout/window/bound.h"
#include "layout/window/chunk.h"
#include "layout/window/pool.h"

#define CEBUS_TABLES 32
/** Hot windows: a part of the chunks, so that in a large arena, too, a level falls seldom. */
#define CEBUS_HOT_MIN 96
#define CEBUS_HOT_MAX 512
#define CEBUS_HOT_PART 8
/** Levels: that of what costs nothing, and of prices that may saturate. Every window is at the
 * lowest. */
#define CEBUS_LEVEL_MAX (CEBUS_BOUND_OPEN / 2)
#define CEBUS_LEVEL_MIN (2.0 / (double)CEBUS_PRICE_MAX)
#define CEBUS_LEVEL_ANY 1e-30
/** Chunks that share a soonest time; so many groups are compared at once. */
#define CEBUS_GROUP 8
#define CEBUS_GROUPS 32
/** Tables whose times are compared at once. */
#define CEBUS_COLUMNS 16
/** Times of chunks, in the tables' time. */
#define CEBUS_DUE_NOW 0.0F
#define CEBUS_DUE_NEVER FLT_MAX

/** Windows by the block they start at. It may be gone, or somewhere else by now. */
typedef struct cebus_hot {
    uint32_t count, room;
    uint8_t *in; /**< how many, by chunk */
    float rise[CEBUS_HOT_MAX], zero[CEBUS_HOT_MAX];
    uint32_t chunk[CEBUS_HOT_MAX];
    const cebus_block *first[CEBUS_HOT_MAX];
    uint8_t place[CEBUS_HOT_MAX]; /**< of it in the chunk, when it was last seen */
} cebus_hot;

typedef struct cebus_table {
    uint64_t bytes;         /**< R */
    uint64_t used;          /**< when last asked for, in queries */
    double level;           /**< what is below it comes after `known` */
    double strict;          /**< what is below it costs no less than `known` */
    cebus_window_key known; /**< what is neither hot nor due comes after that */
    cebus_hot *hot;
    float *due;     /**< of chunk 0, a column of the rows of all tables */
    float *soonest; /**< of that column, by group */
} cebus_table;

typedef struct cebus_tables {
    cebus_pool *pool;  /**< borrowed */
    uint32_t capacity; /**< chunks, a multiple of CEBUS_GROUP x CEBUS_GROUPS */
    uint32_t chunks;   /**< numbers in use */
    uint32_t count;    /**< tables */
    uint64_t queries;
    uint64_t epoch; /**< of their times */
    float *due;     /**< a row for each chunk, as a change concerns many tables: from when
                       on it may have windows at their levels */
    float level[CEBUS_TABLES];       /**< of each, or somewhat less */
    uint64_t bytes[CEBUS_TABLES];    /**< of each; UINT64_MAX: no such table */
    cebus_table table[CEBUS_TABLES]; /**< by size */
} cebus_tables;

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool);

/** Forgets all tables. */
void cebus_tables_clear(cebus_tables *tables);
void cebus_tables_deinit(cebus_tables *tables);

/** Room for `chunks` chunks. A table for which there is no host memory goes. */
void cebus_tables_reserve(cebus_tables *tables, uint32_t chunks);

/** Sets the epoch anew where it was long ago: all chunks are due then. */
void cebus_tables_set_time(cebus_tables *tables, uint64_t now);

/** The table of a size; NULL: there is none. Those that were not asked for in a long time go. */
cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes);
/** A table for a new size, maybe in the place of the one not asked for longest; it has no
 * level yet. NULL without host memory. */
cebus_table *cebus_tables_add(cebus_tables *tables, uint64_t bytes);

/** Some blocks of a chunk are in another one now. */
void cebus_tables_move(cebus_tables *tables, uint32_t from, uint32_t to);
/** Chunk `dead` has no blocks any more. */
void cebus_tables_empty(cebus_tables *tables, uint32_t dead);

/** Sets a level, or the nearest that it may be; all chunks are due. */
void cebus_table_set_level(cebus_tables *tables, cebus_table *table, double level);

/** After the level of a table changed. */
static inline void cebus_table_tell_level(cebus_tables *tables, const cebus_table *table)
{
    tables->level[table - tables->table] = (float)table->level * (1 - 0x1p-22F);
}

/** Forgets what is hot in a chunk. */
void cebus_table_forget(cebus_table *table, uint32_t chunk);

/** What takes the place of the i-th is the last. */
void cebus_table_remove_hot(cebus_table *table, uint32_t i);

static inline double cebus_tables_time(const cebus_tables *tables, uint64_t now)
{
    return (double)(int64_t)(now - tables->epoch);
}

/** What is not at a level costs more than that. */
static inline uint64_t cebus_level_price(double level)
{
    return level > CEBUS_LEVEL_ANY ? (uint64_t)(CEBUS_BOUND_SURE / level) : UINT64_MAX;
}

/** When a chunk is due, for each table. */
static inline const float *cebus_tables_row(const cebus_tables *tables, uint32_t chunk)
{
    return &tables->due[(size_t)chunk * CEBUS_TABLES];
}

/** When a chunk is due. */
static inline float *cebus_table_due(const cebus_table *table, uint32_t chunk)
{
    return &table->due[(size_t)chunk * CEBUS_TABLES];
}

/** A chunk is due at that time, if it is not sooner. */
static inline void cebus_table_set_due(cebus_table *table, uint32_t chunk, float due)
{
    float *soonest = &table->soonest[chunk / CEBUS_GROUP], *at = cebus_table_due(table, chunk);
    if (due >= *at)
        return;
    *at = due;
    *soonest = due < *soonest ? due : *soonest;
}

/** A window of the chunk may be at the level from time `t` on. */
static inline void cebus_table_expect(cebus_table *table, uint32_t chunk, double t)
{
    cebus_table_set_due(table, chunk,
                        t < (double)CEBUS_DUE_NEVER ? cebus_bound_time_before(t) : CEBUS_DUE_NEVER);
}

/** The same of a window with that line, from when it is at `level` on. */
static inline void cebus_table_expect_line(cebus_table *table, uint32_t chunk, cebus_line line,
                                           double level)
{
    if (line.rise > 0)
        cebus_table_expect(table, chunk, (double)line.zero + level / (double)line.rise);
}

/** After times of a group went up. */
static inline void cebus_table_regroup(cebus_table *table, uint32_t group)
{
    float soonest = CEBUS_DUE_NEVER;
    for (uint32_t i = 0; i < CEBUS_GROUP; i++) {
        float due = *cebus_table_due(table, group * CEBUS_GROUP + i);
        soonest = due < soonest ? due : soonest;
    }
    table->soonest[group] = soonest;
}

#endif
