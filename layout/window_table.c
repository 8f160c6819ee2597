#include "layout/window_table.h"

#include <string.h>

#include "layout/window_chunk.h"

/** A table that so many queries did not ask for goes: events would be written to it in vain. */
#define IDLE_QUERIES 2048
/** A bound that has lost no more than this stays as it is. */
#define TIGHT 0.98F

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool)
{
    *tables = (cebus_tables){.pool = pool};
}

/** Its chunks, their groups, and as many groups of groups as hold them. */
static size_t bytes_of(uint32_t capacity)
{
    uint32_t groups = capacity / CEBUS_GROUP;
    return capacity * sizeof(cebus_lines) + (groups + groups / CEBUS_GROUP) * sizeof(cebus_bounds) +
           groups * sizeof(uint16_t);
}

static void use_memory(cebus_table *table, void *memory, uint32_t capacity)
{
    uint32_t groups = capacity / CEBUS_GROUP;
    table->lines = memory;
    table->chunks = (cebus_bounds *)(table->lines + capacity);
    table->groups = table->chunks + groups;
    table->loose = (uint16_t *)(table->groups + groups / CEBUS_GROUP);
}

static size_t scratch_bytes(uint32_t capacity)
{
    uint32_t groups = capacity / CEBUS_GROUP;
    return (capacity + groups) * (sizeof(uint64_t) + sizeof(cebus_opened)) +
           ((CEBUS_CHUNK_MAX + 1) * capacity + groups + groups / CEBUS_GROUP) * sizeof(float);
}

static void free_scratch(cebus_tables *tables)
{
    cebus_pool_free_object(tables->pool, tables->scratch.chunk_opened_by,
                           scratch_bytes(tables->capacity));
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
    scratch->chunk_opened_by = memory;
    scratch->group_opened_by = scratch->chunk_opened_by + capacity;
    scratch->opened_chunks = (cebus_opened *)(scratch->group_opened_by + groups);
    scratch->opened_groups = scratch->opened_chunks + capacity;
    scratch->lines = (float *)(scratch->opened_groups + groups);
    scratch->chunks = scratch->lines + CEBUS_CHUNK_MAX * (size_t)capacity;
    scratch->groups = scratch->chunks + capacity;
    scratch->tops = scratch->groups + groups;
    memset(memory, 0, (capacity + groups) * sizeof(uint64_t));
    return true;
}

static void free_table(const cebus_tables *tables, const cebus_table *table)
{
    cebus_pool_free_object(tables->pool, table->lines, bytes_of(tables->capacity));
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
        memcpy(table->lines, old.lines, tables->capacity * sizeof *old.lines);
        memcpy(table->chunks, old.chunks, groups * sizeof *old.chunks);
        memcpy(table->groups, old.groups, groups / CEBUS_GROUP * sizeof *old.groups);
        memcpy(table->loose, old.loose, groups * sizeof *old.loose);
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
    tables->count--;
    memmove(&tables->table[i], &tables->table[i + 1], (tables->count - i) * sizeof *tables->table);
}

static void forget(const cebus_tables *tables, cebus_table *table)
{
    const cebus_bound open = cebus_bound_open();
    memset(table->chunks, 0, bytes_of(tables->capacity) - tables->capacity * sizeof(cebus_lines));
    for (uint32_t i = 0; i < tables->chunks; i++) {
        cebus_bounds_set(table->chunks, i, &open);
        cebus_table_set_loose(table, i, true);
    }
    for (uint32_t i = 0; i < tables->groups; i++)
        cebus_bounds_set(table->groups, i, &open);
}

void cebus_tables_set_time(cebus_tables *tables, uint64_t now)
{
    if (now - tables->epoch < CEBUS_BOUND_EPOCH)
        return;
    tables->epoch = now;
    for (uint32_t i = 0; i < tables->count; i++)
        forget(tables, &tables->table[i]);
}

cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes)
{
    cebus_table *found = NULL;
    tables->queries++;
    if (tables->scratch.chunks == NULL && !add_scratch(tables))
        return NULL;
    for (uint32_t i = 0; i < tables->count && found == NULL;) {
        cebus_table *table = &tables->table[i];
        if (table->bytes == bytes)
            found = table;
        else if (table->used + IDLE_QUERIES < tables->queries)
            drop_table(tables, i);
        else
            i++;
    }
    return found;
}

static uint32_t oldest_of(const cebus_tables *tables)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < tables->count; i++) {
        if (tables->table[i].used < tables->table[oldest].used)
            oldest = i;
    }
    return oldest;
}

/** Room for a table of a size between the others. */
static cebus_table *insert_table(cebus_tables *tables, uint64_t bytes)
{
    uint32_t at = tables->count++;
    for (; at > 0 && tables->table[at - 1].bytes > bytes; at--)
        tables->table[at] = tables->table[at - 1];
    return &tables->table[at];
}

cebus_table *cebus_tables_add(cebus_tables *tables, uint64_t bytes)
{
    if (tables->scratch.chunks == NULL)
        return NULL;
    if (tables->count == CEBUS_TABLES)
        drop_table(tables, oldest_of(tables));
    void *memory = cebus_pool_alloc(tables->pool, bytes_of(tables->capacity));
    if (memory == NULL)
        return NULL;
    cebus_table *table = insert_table(tables, bytes);
    use_memory(table, memory, tables->capacity);
    forget(tables, table);
    table->level = 0;
    table->bytes = bytes;
    table->used = tables->queries;
    return table;
}

static void raise(cebus_bounds *all, uint32_t k, double t, double value, double rise)
{
    cebus_bound bound = cebus_bounds_get(all, k);
    if (cebus_bound_covers(&bound, t, value, rise))
        return;
    cebus_bound_raise(&bound, t, value, rise);
    cebus_bounds_set(all, k, &bound);
}

void cebus_table_raise(cebus_table *table, uint32_t chunk, double t, double value, double rise)
{
    raise(table->chunks, chunk, t, value, rise);
    raise(table->groups, chunk / CEBUS_GROUP, t, value, rise);
}

void cebus_tables_insert(cebus_tables *tables, uint32_t chunk, uint32_t place)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_line *at = &tables->table[i].lines[chunk].at[place];
        memmove(at + 1, at, (CEBUS_CHUNK_MAX - 1 - place) * sizeof *at);
        *at = (cebus_line){0, 0};
    }
}

void cebus_tables_erase(cebus_tables *tables, uint32_t chunk, uint32_t place)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_line *at = tables->table[i].lines[chunk].at;
        memmove(&at[place], &at[place + 1], (CEBUS_CHUNK_MAX - 1 - place) * sizeof *at);
        at[CEBUS_CHUNK_MAX - 1] = (cebus_line){0, 0};
    }
}

void cebus_tables_move(cebus_tables *tables, const cebus_chunk_change *change, uint64_t now)
{
    double t = cebus_tables_time(tables, now);
    cebus_seat from = change->from, to = change->to;
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_table *table = &tables->table[i];
        cebus_bound bound = cebus_bounds_get(table->chunks, from.chunk);
        if (to.place == 0) /* it was dead */
            memset(&table->lines[to.chunk], 0, sizeof *table->lines);
        cebus_line *source = &table->lines[from.chunk].at[from.place];
        memcpy(&table->lines[to.chunk].at[to.place], source, change->moved * sizeof *source);
        memset(source, 0, change->moved * sizeof *source);
        cebus_table_raise(table, to.chunk, t, cebus_line_at(&bound.near, t),
                          (double)bound.near.rise);
        cebus_table_raise(table, to.chunk, t, cebus_line_at(&bound.far, t), (double)bound.far.rise);
        if (cebus_table_is_loose(table, from.chunk))
            cebus_table_set_loose(table, to.chunk, true);
    }
}

void cebus_tables_empty(cebus_tables *tables, uint32_t dead)
{
    const cebus_bound none = {0};
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_bounds_set(tables->table[i].chunks, dead, &none);
        cebus_table_set_loose(&tables->table[i], dead, false);
        memset(&tables->table[i].lines[dead], 0, sizeof(cebus_lines));
    }
}

/** As 1/time, until something at `value` that rises so gets to the level; 0: it is there. */
static inline float rate_to(float level, float value, float rise)
{
    float gap = level - value;
    return rise / (gap > 0 ? gap : FLT_MAX);
}

/** The greatest of those is the first to get there. */
static double time_of(float rate)
{
    return rate * (float)CEBUS_BOUND_LONGEST > 1 ? (rate < 1 ? 1 / (double)rate : 1)
                                                 : CEBUS_BOUND_LONGEST;
}

void cebus_table_tighten_chunk(cebus_table *table, cebus_opened chunk, double t)
{
    const cebus_lines *lines = &table->lines[chunk.id];
    float rise[CEBUS_CHUNK_MAX], value[CEBUS_CHUNK_MAX], rate[CEBUS_CHUNK_MAX];
    cebus_lines_value(lines, cebus_bound_time(t), value);
    float now = cebus_most_of_chunk(value);
    if (now >= TIGHT * chunk.was)
        return;
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++)
        rise[i] = lines->at[i].rise;
    float steepest = cebus_most_of_chunk(rise);
    float level = now * (float)CEBUS_BOUND_CHEAPER;
    level = level > (float)table->level ? level : (float)table->level;
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++)
        rate[i] = rate_to(level, value[i], rise[i]);
    double rest = time_of(cebus_most_of_chunk(rate));
    cebus_lines_value(lines, cebus_bound_time(t + rest), value);
    cebus_bound bound = cebus_bound_of(t, now, rest, cebus_most_of_chunk(value), steepest);
    cebus_bounds_set(table->chunks, chunk.id, &bound);
}

/** How long until the first of the chunks that are not yet at the table's level gets there. */
static double until_level(const cebus_bounds *bounds, float level, float t)
{
    float rate[CEBUS_GROUP];
    for (uint32_t i = 0; i < CEBUS_GROUP; i++) {
        float near_rise = bounds->near_rise[i], near = near_rise * (t - bounds->near_zero[i]);
        float far_rise = bounds->far_rise[i], far = far_rise * (t - bounds->far_zero[i]);
        float near_rate = rate_to(level, near, near_rise), far_rate = rate_to(level, far, far_rise);
        float sooner = near_rate > far_rate ? near_rate : far_rate;
        float most = near > far ? near : far;
        rate[i] = most < level ? sooner : 0;
    }
    return time_of(cebus_most_of_group(rate));
}

void cebus_table_tighten_group(cebus_table *table, cebus_opened group, double t)
{
    const cebus_bounds *bounds = &table->chunks[group.id];
    float value[CEBUS_GROUP], at = cebus_bound_time(t);
    cebus_bounds_value(bounds, at, value);
    float now = cebus_most_of_group(value);
    if (now >= TIGHT * group.was)
        return;
    double rest =
        table->level > 0 ? until_level(bounds, (float)table->level, at) : CEBUS_BOUND_LONGEST;
    cebus_bounds_value(bounds, cebus_bound_time(t + rest), value);
    cebus_bound bound = cebus_bound_of(t, now, rest, cebus_most_of_group(value),
                                       cebus_most_of_group(bounds->far_rise));
    cebus_bounds_set(table->groups, group.id, &bound);
}
