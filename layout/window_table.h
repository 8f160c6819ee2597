/**
 * window_table.h: what is known of the windows that start at each block: a line (window_bound.h)
 * for each request size lately asked for.
 *
 * A table belongs to one size R. Of all runs of at least R bytes that start at a block only the
 * shortest matters, so there is one line for each block: it bounds that run. Chunks have a bound of
 * their lines, groups of CEBUS_GROUP consecutive chunk numbers one of those. Of a loose chunk
 * nothing but that bound is known, its lines say nothing. Lines of places without a block, and the
 * bound of a dead chunk, are empty.
 *
 * The numbers of a chunk's blocks lie side by side, of a group's chunks, and of as many groups.
 */
#ifndef CEBUS_LAYOUT_WINDOW_TABLE_H
#define CEBUS_LAYOUT_WINDOW_TABLE_H

#include "layout/pool.h"
#include "layout/window_bound.h"
#include "layout/window_chunk.h"

#define CEBUS_TABLES 32
#define CEBUS_GROUP 16

/** By place. */
typedef struct cebus_lines {
    cebus_line at[CEBUS_CHUNK_MAX];
} cebus_lines;

/** Bounds of a group's chunks, or of CEBUS_GROUP groups. */
typedef struct cebus_bounds {
    float near_rise[CEBUS_GROUP], near_zero[CEBUS_GROUP];
    float far_rise[CEBUS_GROUP], far_zero[CEBUS_GROUP];
    float until[CEBUS_GROUP];
} cebus_bounds;

typedef struct cebus_table {
    uint64_t bytes;       /**< R */
    uint64_t used;        /**< when last asked for, in queries */
    double level;         /**< 1/price of answers, about; 0: not known yet */
    cebus_lines *lines;   /**< by chunk */
    cebus_bounds *chunks; /**< by group */
    cebus_bounds *groups; /**< by CEBUS_GROUP groups */
    uint16_t *loose;      /**< by group: bit i: its chunk i is */
} cebus_table;

/** A chunk or a group that a search opened. */
typedef struct cebus_opened {
    uint32_t id;
    float was; /**< what its bound was worth */
} cebus_opened;

/** Of the search under way (window_queue.h); as large as a table may need it. */
typedef struct cebus_table_scratch {
    float *lines, *chunks, *groups; /**< values: of blocks in chunks that it opened, of chunks in
                                       groups that it opened, of all groups, */
    float *tops;                    /**< the greatest of each CEBUS_GROUP groups */
    uint64_t *chunk_opened_by, *group_opened_by; /**< the last search that did */
    cebus_opened *opened_chunks, *opened_groups; /**< in no order */
    uint64_t search;                             /**< its number */
} cebus_table_scratch;

typedef struct cebus_tables {
    cebus_pool *pool;  /**< borrowed */
    uint32_t capacity; /**< chunks, a multiple of CEBUS_GROUP^2 */
    uint32_t chunks;   /**< numbers in use */
    uint32_t groups;   /**< of them */
    uint32_t count;    /**< tables */
    uint64_t queries;
    uint64_t epoch; /**< of their bounds */
    cebus_table_scratch scratch;
    cebus_table table[CEBUS_TABLES]; /**< by size */
} cebus_tables;

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool);
void cebus_tables_deinit(cebus_tables *tables);

/** Forgets everything. */
void cebus_tables_clear(cebus_tables *tables);

/** Room for `chunks` chunks. A table for which there is no host memory goes. */
void cebus_tables_reserve(cebus_tables *tables, uint32_t chunks);

/** Sets the epoch anew where it was long ago: nothing is known then. */
void cebus_tables_set_time(cebus_tables *tables, uint64_t now);

/** The table of a size; NULL: there is none. Those that were not asked for in a long time go. */
cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes);
/** A table for a new size, maybe in the place of the one not asked for longest: nothing is known.
 * NULL without host memory. */
cebus_table *cebus_tables_add(cebus_tables *tables, uint64_t bytes);

/** The chunk has a new block, without windows; it had `place` before that place. */
void cebus_tables_insert(cebus_tables *tables, uint32_t chunk, uint32_t place);
/** The chunk has lost the block at a place. */
void cebus_tables_erase(cebus_tables *tables, uint32_t chunk, uint32_t place);
/** Blocks moved from the end of a chunk to that of another (window_chunk.h). */
void cebus_tables_move(cebus_tables *tables, const cebus_chunk_change *change, uint64_t now);
/** Chunk `dead` has no blocks any more. */
void cebus_tables_empty(cebus_tables *tables, uint32_t dead);

/** Make the bound of a chunk as tight as its lines, of a group as those of its chunks, from time
 * `t` on, unless it is tight enough. */
void cebus_table_tighten_chunk(cebus_table *table, cebus_opened chunk, double t);
void cebus_table_tighten_group(cebus_table *table, cebus_opened group, double t);

/** Makes the bounds of a chunk and its group hold for windows below a line through (t, value), too,
 * from `t` on. */
void cebus_table_raise(cebus_table *table, uint32_t chunk, double t, double value, double rise);

static inline double cebus_tables_time(const cebus_tables *tables, uint64_t now)
{
    return (double)(int64_t)(now - tables->epoch);
}

static inline bool cebus_table_is_loose(const cebus_table *table, uint32_t chunk)
{
    return table->loose[chunk / CEBUS_GROUP] >> chunk % CEBUS_GROUP & 1;
}

static inline void cebus_table_set_loose(cebus_table *table, uint32_t chunk, bool loose)
{
    uint16_t *bits = &table->loose[chunk / CEBUS_GROUP];
    unsigned bit = 1U << chunk % CEBUS_GROUP;
    *bits = (uint16_t)(loose ? *bits | bit : *bits & ~bit);
}

static inline void cebus_table_set_line(cebus_table *table, cebus_seat at, cebus_line line)
{
    table->lines[at.chunk].at[at.place] = line;
}

static inline cebus_bound cebus_bounds_get(const cebus_bounds *all, uint32_t k)
{
    const cebus_bounds *at = &all[k / CEBUS_GROUP];
    uint32_t i = k % CEBUS_GROUP;
    return (cebus_bound){
        {at->near_rise[i], at->near_zero[i]}, {at->far_rise[i], at->far_zero[i]}, at->until[i]};
}

static inline void cebus_bounds_set(cebus_bounds *all, uint32_t k, const cebus_bound *bound)
{
    cebus_bounds *at = &all[k / CEBUS_GROUP];
    uint32_t i = k % CEBUS_GROUP;
    at->near_rise[i] = bound->near.rise;
    at->near_zero[i] = bound->near.zero;
    at->far_rise[i] = bound->far.rise;
    at->far_zero[i] = bound->far.zero;
    at->until[i] = bound->until;
}

/* Loops of a fixed length, for compilers that know vectors. */

/** What each line is at `t`. */
static inline void cebus_lines_value(const cebus_lines *lines, float t, float *restrict out)
{
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++)
        out[i] = lines->at[i].rise * (t - lines->at[i].zero);
}

/** What each bound is at `t`. */
static inline void cebus_bounds_value(const cebus_bounds *bounds, float t, float *restrict out)
{
    for (uint32_t i = 0; i < CEBUS_GROUP; i++) {
        float near = bounds->near_rise[i] * (t - bounds->near_zero[i]);
        float far = bounds->far_rise[i] * (t - bounds->far_zero[i]);
        out[i] = near > far ? near : far;
    }
}

/** The greatest of two numbers so far apart, for each of the lower half. */
static inline void cebus_halve(const float *terms, uint32_t half, float *restrict out)
{
    for (uint32_t i = 0; i < half; i++)
        out[i] = terms[i] > terms[i + half] ? terms[i] : terms[i + half];
}

/** The greatest of CEBUS_GROUP numbers. */
static inline float cebus_most_of_group(const float *terms)
{
    float most[8], four[4];
    cebus_halve(terms, 8, most);
    cebus_halve(most, 4, four);
    float low = four[0] > four[1] ? four[0] : four[1];
    float high = four[2] > four[3] ? four[2] : four[3];
    return low > high ? low : high;
}

/** The greatest of CEBUS_CHUNK_MAX numbers. */
static inline float cebus_most_of_chunk(const float *terms)
{
    float most[CEBUS_CHUNK_MAX / 2];
    cebus_halve(terms, CEBUS_CHUNK_MAX / 2, most);
    return cebus_most_of_group(most);
}

/** Where one of CEBUS_GROUP numbers is, the greatest of them. */
static inline uint32_t cebus_place_in_group(const float *terms, float most)
{
    float eight[8], four[4];
    cebus_halve(terms, 8, eight);
    cebus_halve(eight, 4, four);
    uint32_t place = four[0] == most ? 0 : four[1] == most ? 1 : four[2] == most ? 2 : 3;
    place += eight[place] == most ? 0 : 4;
    return place + (terms[place] == most ? 0 : 8);
}

/** The same in a chunk. */
static inline uint32_t cebus_place_in_chunk(const float *terms, float most)
{
    float half[CEBUS_CHUNK_MAX / 2];
    cebus_halve(terms, CEBUS_CHUNK_MAX / 2, half);
    uint32_t place = cebus_place_in_group(half, most);
    return place + (terms[place] == most ? 0 : CEBUS_CHUNK_MAX / 2);
}

_Static_assert(CEBUS_GROUP == 16 && CEBUS_CHUNK_MAX == 32, "loops of these lengths");

#endif
