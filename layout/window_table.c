#include "layout/window_table.h"

#include <string.h>

#include "layout/window_chunk.h"

/** A table that so many queries did not ask for goes: events would be written to it in vain. */
#define IDLE_QUERIES 128

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool)
{
    *tables = (cebus_tables){.pool = pool};
}

static uint32_t entries_of(uint32_t capacity)
{
    return capacity + capacity / CEBUS_GROUP;
}

static void free_bounds(const cebus_tables *tables, cebus_bound *bounds)
{
    cebus_pool_free_object(tables->pool, bounds, entries_of(tables->capacity) * sizeof *bounds);
}

void cebus_tables_clear(cebus_tables *tables)
{
    while (tables->count > 0)
        free_bounds(tables, tables->table[--tables->count].bounds);
}

void cebus_tables_deinit(cebus_tables *tables)
{
    cebus_tables_clear(tables);
    cebus_tables_init(tables, tables->pool);
}

/** `old` for more chunks, the new ones empty. NULL without host memory. */
static cebus_bound *widened(const cebus_tables *tables, const cebus_bound *old, uint32_t capacity)
{
    size_t bytes = entries_of(capacity) * sizeof(cebus_bound);
    cebus_bound *wide = cebus_pool_alloc(tables->pool, bytes);
    if (wide == NULL)
        return NULL;
    memset(wide, 0, bytes);
    memcpy(wide, old, tables->capacity * sizeof *wide);
    memcpy(wide + capacity, old + tables->capacity, tables->capacity / CEBUS_GROUP * sizeof *wide);
    return wide;
}

void cebus_tables_reserve(cebus_tables *tables, uint32_t chunks)
{
    uint32_t capacity = 4 * CEBUS_GROUP, kept = 0;
    tables->groups = (chunks + CEBUS_GROUP - 1) / CEBUS_GROUP;
    if (chunks <= tables->capacity)
        return;
    while (capacity < chunks)
        capacity *= 2;
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_bound *wide = widened(tables, tables->table[i].bounds, capacity);
        free_bounds(tables, tables->table[i].bounds);
        tables->table[kept] = tables->table[i];
        tables->table[kept].bounds = wide;
        kept += wide != NULL;
    }
    tables->count = kept;
    tables->capacity = capacity;
}

static void drop_table(cebus_tables *tables, uint32_t i)
{
    free_bounds(tables, tables->table[i].bounds);
    tables->table[i] = tables->table[--tables->count];
}

cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes)
{
    cebus_table *found = NULL;
    tables->queries++;
    for (uint32_t i = 0; i < tables->count;) {
        if (tables->table[i].bytes == bytes)
            found = &tables->table[i++];
        else if (tables->table[i].used + IDLE_QUERIES < tables->queries && found == NULL)
            drop_table(tables, i);
        else
            i++;
    }
    return found;
}

/** The table of the greatest size below `bytes`, or NULL. */
static const cebus_table *next_smaller(const cebus_tables *tables, uint64_t bytes)
{
    const cebus_table *best = NULL;
    for (uint32_t i = 0; i < tables->count; i++) {
        const cebus_table *table = &tables->table[i];
        if (table->bytes < bytes && (best == NULL || table->bytes > best->bytes))
            best = table;
    }
    return best;
}

static cebus_table *oldest_of(cebus_tables *tables)
{
    cebus_table *oldest = &tables->table[0];
    for (uint32_t i = 1; i < tables->count; i++) {
        if (tables->table[i].used < oldest->used)
            oldest = &tables->table[i];
    }
    return oldest;
}

cebus_table *cebus_tables_add(cebus_tables *tables, uint64_t bytes, uint64_t now)
{
    const cebus_table *like = next_smaller(tables, bytes);
    uint32_t entries = entries_of(tables->capacity);
    cebus_table *table;
    if (tables->count < CEBUS_TABLES) {
        cebus_bound *bounds = cebus_pool_alloc(tables->pool, entries * sizeof *bounds);
        if (bounds == NULL)
            return NULL;
        table = &tables->table[tables->count++];
        *table = (cebus_table){.bounds = bounds};
    } else {
        table = oldest_of(tables);
    }
    if (like == NULL) {
        for (uint32_t i = 0; i < entries; i++)
            table->bounds[i] = cebus_bound_open(now);
    } else if (like != table) {
        memcpy(table->bounds, like->bounds, entries * sizeof *table->bounds);
    }
    table->horizon = like != NULL ? like->horizon : 0;
    table->bytes = bytes;
    table->winner = CEBUS_CHUNK_NONE;
    return table;
}

void cebus_tables_spread(cebus_tables *tables, uint32_t from, uint32_t to, uint64_t now)
{
    for (uint32_t i = 0; i < tables->count; i++)
        cebus_tables_raise(tables, &tables->table[i], to, &tables->table[i].bounds[from], now);
}

void cebus_tables_empty(cebus_tables *tables, uint32_t dead)
{
    for (uint32_t i = 0; i < tables->count; i++)
        tables->table[i].bounds[dead] = (cebus_bound){0};
}

void cebus_tables_tighten(cebus_tables *tables, cebus_table *table, uint32_t group, uint64_t now)
{
    double horizon = table->horizon > 0 ? table->horizon : 1;
    float most = 0, later = 0;
    uint32_t blocks = 0;
    for (uint32_t i = group * CEBUS_GROUP; i < (group + 1) * CEBUS_GROUP; i++) {
        const cebus_bound *bound = &table->bounds[i];
        float r = cebus_bound_horizons(bound, now), at = cebus_bound_value(bound, r);
        most = at > most ? at : most;
        at = cebus_bound_value(bound, r + (float)horizon * bound->rate);
        later = at > later ? at : later;
        blocks = bound->blocks > blocks ? bound->blocks : blocks;
    }
    table->bounds[tables->capacity + group] = cebus_bound_of(now, most, later, horizon);
    table->bounds[tables->capacity + group].blocks = blocks;
}
