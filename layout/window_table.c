#include "layout/window_table.h"

#include <string.h>

#include "layout/window_chunk.h"

/** A table that so many queries did not ask for goes: events would be written to it in vain. */
#define IDLE_QUERIES 2048

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool)
{
    *tables = (cebus_tables){.pool = pool};
}

/** Its groups, and as many groups of groups as hold them. */
static size_t bytes_of(uint32_t capacity)
{
    uint32_t groups = capacity / CEBUS_GROUP;
    return (groups + groups / CEBUS_GROUP) * sizeof(cebus_bounds);
}

static void use_memory(cebus_table *table, void *memory, uint32_t capacity)
{
    table->chunks = memory;
    table->groups = table->chunks + capacity / CEBUS_GROUP;
}

static size_t scratch_bytes(uint32_t capacity)
{
    uint32_t groups = capacity / CEBUS_GROUP;
    return (capacity + groups + groups / CEBUS_GROUP) * sizeof(double) +
           groups * (sizeof(uint64_t) + sizeof(uint32_t));
}

static void free_scratch(cebus_tables *tables)
{
    cebus_pool_free_object(tables->pool, tables->scratch.chunks, scratch_bytes(tables->capacity));
    tables->scratch = (cebus_table_scratch){0};
}

/** False without host memory. */
static bool add_scratch(cebus_tables *tables)
{
    uint32_t capacity = tables->capacity, groups = capacity / CEBUS_GROUP;
    cebus_table_scratch *scratch = &tables->scratch;
    void *memory = cebus_pool_alloc(tables->pool, scratch_bytes(capacity));
    if (memory == NULL)
        return false;
    memset(memory, 0, scratch_bytes(capacity));
    scratch->chunks = memory;
    scratch->groups = scratch->chunks + capacity;
    scratch->tops = scratch->groups + groups;
    scratch->opened_by = (uint64_t *)(scratch->tops + groups / CEBUS_GROUP);
    scratch->opened = (uint32_t *)(scratch->opened_by + groups);
    return true;
}

static void free_table(const cebus_tables *tables, const cebus_table *table)
{
    cebus_pool_free_object(tables->pool, table->chunks, bytes_of(tables->capacity));
}

void cebus_tables_clear(cebus_tables *tables)
{
    while (tables->count > 0)
        free_table(tables, &tables->table[--tables->count]);
}

void cebus_tables_deinit(cebus_tables *tables)
{
    cebus_tables_clear(tables);
    free_scratch(tables);
    cebus_tables_init(tables, tables->pool);
}

/** The table for more chunks, the new ones empty. False without host memory: it is gone. */
static bool widen(const cebus_tables *tables, cebus_table *table, uint32_t capacity)
{
    cebus_table old = *table;
    uint32_t groups = tables->capacity / CEBUS_GROUP;
    void *wide = cebus_pool_alloc(tables->pool, bytes_of(capacity));
    if (wide != NULL) {
        memset(wide, 0, bytes_of(capacity));
        use_memory(table, wide, capacity);
        memcpy(table->chunks, old.chunks, groups * sizeof *old.chunks);
        memcpy(table->groups, old.groups, groups / CEBUS_GROUP * sizeof *old.groups);
    }
    free_table(tables, &old);
    return wide != NULL;
}

void cebus_tables_reserve(cebus_tables *tables, uint32_t chunks)
{
    uint32_t capacity = CEBUS_GROUP * CEBUS_GROUP, kept = 0;
    tables->chunks = chunks;
    tables->groups = (chunks + CEBUS_GROUP - 1) / CEBUS_GROUP;
    if (chunks <= tables->capacity)
        return;
    while (capacity < chunks)
        capacity *= 2;
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_table table = tables->table[i];
        if (widen(tables, &table, capacity))
            tables->table[kept++] = table;
    }
    tables->count = kept;
    free_scratch(tables); /* the next search makes it anew */
    tables->capacity = capacity;
}

static void drop_table(cebus_tables *tables, uint32_t i)
{
    free_table(tables, &tables->table[i]);
    tables->table[i] = tables->table[--tables->count];
}

static void forget(const cebus_tables *tables, cebus_table *table, uint64_t now)
{
    const cebus_bound open = cebus_bound_open();
    memset(table->chunks, 0, bytes_of(tables->capacity));
    for (uint32_t i = 0; i < tables->chunks; i++)
        cebus_bounds_set(table->chunks, i, &open);
    for (uint32_t i = 0; i < tables->groups; i++)
        cebus_bounds_set(table->groups, i, &open);
    table->epoch = now;
}

cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes, uint64_t now)
{
    cebus_table *found = NULL;
    tables->queries++;
    if (tables->scratch.chunks == NULL && !add_scratch(tables))
        return NULL;
    for (uint32_t i = 0; i < tables->count;) {
        cebus_table *table = &tables->table[i];
        if (table->bytes != bytes && table->used + IDLE_QUERIES < tables->queries &&
            found == NULL) {
            drop_table(tables, i);
            continue;
        }
        if (now - table->epoch >= CEBUS_BOUND_EPOCH)
            forget(tables, table, now);
        if (table->bytes == bytes)
            found = table;
        i++;
    }
    return found;
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
    cebus_table *table;
    if (tables->scratch.chunks == NULL)
        return NULL;
    if (tables->count < CEBUS_TABLES) {
        void *memory = cebus_pool_alloc(tables->pool, bytes_of(tables->capacity));
        if (memory == NULL)
            return NULL;
        table = &tables->table[tables->count++];
        use_memory(table, memory, tables->capacity);
    } else {
        table = oldest_of(tables);
    }
    forget(tables, table, now);
    table->level = 0;
    table->bytes = bytes;
    return table;
}

static void raise(cebus_bounds *all, uint32_t k, const cebus_line *line, double t)
{
    cebus_bound bound = cebus_bounds_get(all, k);
    cebus_bound_raise(&bound, line, t);
    cebus_bounds_set(all, k, &bound);
}

void cebus_table_raise(cebus_table *table, uint32_t chunk, const cebus_line *line, double t)
{
    raise(table->chunks, chunk, line, t);
    raise(table->groups, chunk / CEBUS_GROUP, line, t);
}

void cebus_tables_spread(cebus_tables *tables, uint32_t from, uint32_t to, uint64_t now)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_table *table = &tables->table[i];
        double t = cebus_table_time(table, now);
        cebus_bound bound = cebus_bounds_get(table->chunks, from);
        cebus_table_raise(table, to, &bound.near, t);
        cebus_table_raise(table, to, &bound.far, t);
    }
}

void cebus_tables_empty(cebus_tables *tables, uint32_t dead)
{
    const cebus_bound none = {0};
    for (uint32_t i = 0; i < tables->count; i++)
        cebus_bounds_set(tables->table[i].chunks, dead, &none);
}

/** How long until the first of the chunks that are not yet at the table's level gets there. */
static double until_level(const cebus_bounds *bounds, double level, double t)
{
    double later[CEBUS_GROUP];
    for (uint32_t i = 0; i < CEBUS_GROUP; i++) {
        double near = level - (bounds->near_base[i] + bounds->near_rise[i] * t);
        double far = level - (bounds->far_base[i] + bounds->far_rise[i] * t);
        /* As 1/time: the greatest is the first. */
        double near_rate = bounds->near_rise[i] / (near > 0 ? near : level);
        double far_rate = bounds->far_rise[i] / (far > 0 ? far : level);
        double rate = near_rate > far_rate ? near_rate : far_rate;
        later[i] = near > 0 && far > 0 ? rate : 0;
    }
    double rate = cebus_bounds_most(later);
    return rate * CEBUS_BOUND_LONGEST > 1 ? (rate < 1 ? 1 / rate : 1) : CEBUS_BOUND_LONGEST;
}

void cebus_table_tighten(cebus_table *table, uint32_t group, double t)
{
    const cebus_bounds *bounds = &table->chunks[group];
    double rest = table->level > 0 ? until_level(bounds, table->level, t) : CEBUS_BOUND_LONGEST;
    double now[CEBUS_GROUP], later[CEBUS_GROUP];
    cebus_bounds_value(bounds, t, now);
    cebus_bounds_value(bounds, t + rest, later);
    cebus_bound bound = cebus_bound_of(t, cebus_bounds_most(now), rest, cebus_bounds_most(later),
                                       cebus_bounds_most(bounds->far_rise));
    cebus_bounds_set(table->groups, group, &bound);
}
