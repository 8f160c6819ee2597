#include "layout/window/table.h"

#include <string.h>

/** A table that so many queries did not ask for goes: events would be written to it in vain. */
#define IDLE_QUERIES 2048
/** Every so many queries it is asked which. */
#define IDLE_REVIEW 64

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool)
{
    *tables = (cebus_tables){.pool = pool};
}

/** What is hot, then the times of groups. */
static size_t bytes_of(uint32_t capacity)
{
    return sizeof(cebus_hot) + capacity * sizeof(uint8_t) + capacity / CEBUS_GROUP * sizeof(float);
}

static size_t row_bytes(uint32_t capacity)
{
    return (size_t)capacity * CEBUS_TABLES * sizeof(float);
}

static uint32_t room_of(uint32_t capacity)
{
    uint32_t room = capacity / CEBUS_HOT_PART;
    room = room > CEBUS_HOT_MIN ? room : CEBUS_HOT_MIN;
    return room < CEBUS_HOT_MAX ? room : CEBUS_HOT_MAX;
}

static void use_memory(cebus_table *table, void *memory, uint32_t capacity)
{
    table->hot = memory;
    table->soonest = (float *)(table->hot + 1);
    table->hot->in = (uint8_t *)(table->soonest + capacity / CEBUS_GROUP);
    table->hot->count = 0;
    table->hot->room = room_of(capacity);
    memset(table->hot->in, 0, capacity);
    for (uint32_t i = 0; i < capacity / CEBUS_GROUP; i++)
        table->soonest[i] = CEBUS_DUE_NEVER;
}

static void free_table(const cebus_tables *tables, const cebus_table *table)
{
    cebus_pool_free_object(tables->pool, table->hot, bytes_of(tables->capacity));
}

/** The columns of tables, each of which the table at its place has. */
static void place_columns(cebus_tables *tables)
{
    for (uint32_t k = 0; k < tables->count; k++) {
        tables->table[k].due = &tables->due[k];
        tables->bytes[k] = tables->table[k].bytes;
        cebus_table_tell_level(tables, &tables->table[k]);
    }
    for (uint32_t k = tables->count; k < CEBUS_TABLES; k++) {
        tables->level[k] = 0;
        tables->bytes[k] = UINT64_MAX;
    }
}

/** Those of tables from `from` on, up to the last, are from `to` on. */
static void move_columns(cebus_tables *tables, uint32_t from, uint32_t to)
{
    for (uint32_t id = 0; id < tables->capacity; id++) {
        float *row = &tables->due[(size_t)id * CEBUS_TABLES];
        memmove(&row[to], &row[from], (tables->count - from) * sizeof *row);
    }
}

/** Table i is free by now. */
static void remove_table(cebus_tables *tables, uint32_t i)
{
    move_columns(tables, i + 1, i);
    tables->count--;
    memmove(&tables->table[i], &tables->table[i + 1], (tables->count - i) * sizeof *tables->table);
    place_columns(tables);
}

static void drop_table(cebus_tables *tables, uint32_t i)
{
    free_table(tables, &tables->table[i]);
    remove_table(tables, i);
}

void cebus_tables_clear(cebus_tables *tables)
{
    while (tables->count > 0)
        free_table(tables, &tables->table[--tables->count]);
    place_columns(tables);
}

static void free_rows(cebus_tables *tables)
{
    cebus_pool_free_object(tables->pool, tables->due, row_bytes(tables->capacity));
    tables->due = NULL;
    tables->capacity = 0;
}

void cebus_tables_deinit(cebus_tables *tables)
{
    cebus_tables_clear(tables);
    free_rows(tables);
}

/** Memory of a table for more chunks, the new ones empty. Without host memory it has none. */
static void widen(const cebus_tables *tables, cebus_table *table, uint32_t capacity)
{
    cebus_table old = *table;
    void *wide = cebus_pool_alloc(tables->pool, bytes_of(capacity));
    table->hot = wide;
    if (wide != NULL) {
        use_memory(table, wide, capacity);
        uint8_t *in = table->hot->in;
        uint32_t room = table->hot->room;
        *table->hot = *old.hot;
        table->hot->in = in;
        table->hot->room = room;
        memcpy(table->soonest, old.soonest,
               tables->capacity / CEBUS_GROUP * sizeof *table->soonest);
        memcpy(in, old.hot->in, tables->capacity);
    }
    free_table(tables, &old);
}

/** Rows for more chunks. */
static void widen_rows(cebus_tables *tables, float *wide, uint32_t capacity)
{
    size_t count = (size_t)tables->capacity * CEBUS_TABLES;
    if (count > 0)
        memcpy(wide, tables->due, count * sizeof *wide);
    for (; count < (size_t)capacity * CEBUS_TABLES; count++)
        wide[count] = CEBUS_DUE_NEVER;
    free_rows(tables);
    tables->due = wide;
    tables->capacity = capacity;
    place_columns(tables);
}

void cebus_tables_reserve(cebus_tables *tables, uint32_t chunks)
{
    uint32_t capacity = CEBUS_GROUP * CEBUS_GROUPS;
    tables->chunks = chunks;
    if (chunks <= tables->capacity)
        return;
    while (capacity < chunks)
        capacity *= 2;
    float *rows = cebus_pool_alloc(tables->pool, row_bytes(capacity));
    if (rows == NULL) {
        cebus_tables_deinit(tables);
        tables->chunks = chunks;
        return;
    }
    for (uint32_t i = 0; i < tables->count; i++)
        widen(tables, &tables->table[i], capacity);
    widen_rows(tables, rows, capacity);
    for (uint32_t i = tables->count; i-- > 0;) {
        if (tables->table[i].hot == NULL)
            remove_table(tables, i);
    }
}

void cebus_table_set_level(cebus_tables *tables, cebus_table *table, double level)
{
    bool any = level < CEBUS_LEVEL_MIN;
    table->level = table->strict = any ? CEBUS_LEVEL_ANY : fmin(level, CEBUS_LEVEL_MAX);
    table->known = (cebus_window_key){cebus_level_price(table->level), UINT64_MAX, UINT64_MAX};
    table->hot->count = 0;
    memset(table->hot->in, 0, tables->chunks);
    for (uint32_t i = 0; i < tables->chunks; i++)
        *cebus_table_due(table, i) = table->soonest[i / CEBUS_GROUP] = CEBUS_DUE_NOW;
    cebus_table_tell_level(tables, table);
}

void cebus_tables_set_time(cebus_tables *tables, uint64_t now)
{
    if (now - tables->epoch < CEBUS_BOUND_EPOCH)
        return;
    tables->epoch = now;
    for (uint32_t i = 0; i < tables->count; i++)
        cebus_table_set_level(tables, &tables->table[i], tables->table[i].level);
}

static void drop_idle(cebus_tables *tables)
{
    for (uint32_t i = tables->count; i-- > 0;) {
        if (tables->table[i].used + IDLE_QUERIES < tables->queries)
            drop_table(tables, i);
    }
}

cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes)
{
    uint32_t i = 0;
    if (++tables->queries % IDLE_REVIEW == 0)
        drop_idle(tables);
    while (i < tables->count && tables->bytes[i] != bytes)
        i++;
    return i < tables->count ? &tables->table[i] : NULL;
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

/** Room for a table of a size between the others; no chunk of its column is due. */
static cebus_table *insert_table(cebus_tables *tables, uint64_t bytes)
{
    uint32_t at = 0;
    while (at < tables->count && tables->table[at].bytes < bytes)
        at++;
    move_columns(tables, at, at + 1);
    memmove(&tables->table[at + 1], &tables->table[at],
            (tables->count - at) * sizeof *tables->table);
    for (uint32_t id = 0; id < tables->capacity; id++)
        tables->due[(size_t)id * CEBUS_TABLES + at] = CEBUS_DUE_NEVER;
    tables->count++;
    return &tables->table[at];
}

cebus_table *cebus_tables_add(cebus_tables *tables, uint64_t bytes)
{
    if (tables->chunks > tables->capacity)
        return NULL;
    if (tables->count == CEBUS_TABLES)
        drop_table(tables, oldest_of(tables));
    void *memory = cebus_pool_alloc(tables->pool, bytes_of(tables->capacity));
    if (memory == NULL)
        return NULL;
    cebus_table *table = insert_table(tables, bytes);
    *table = (cebus_table){.bytes = bytes, .used = tables->queries};
    use_memory(table, memory, tables->capacity);
    place_columns(tables);
    return table;
}

void cebus_tables_move(cebus_tables *tables, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_table *table = &tables->table[i];
        cebus_table_set_due(
            table, to, table->hot->in[from] > 0 ? CEBUS_DUE_NOW : *cebus_table_due(table, from));
    }
}

void cebus_tables_empty(cebus_tables *tables, uint32_t dead)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        *cebus_table_due(&tables->table[i], dead) = CEBUS_DUE_NEVER;
        cebus_table_forget(&tables->table[i], dead);
    }
}

/* What is hot. */

void cebus_table_remove_hot(cebus_table *table, uint32_t i)
{
    cebus_hot *hot = table->hot;
    uint32_t last = --hot->count;
    hot->in[hot->chunk[i]]--;
    hot->rise[i] = hot->rise[last];
    hot->zero[i] = hot->zero[last];
    hot->chunk[i] = hot->chunk[last];
    hot->first[i] = hot->first[last];
    hot->place[i] = hot->place[last];
}

void cebus_table_forget(cebus_table *table, uint32_t chunk)
{
    for (uint32_t i = table->hot->count; i-- > 0 && table->hot->in[chunk] > 0;) {
        if (table->hot->chunk[i] == chunk)
            cebus_table_remove_hot(table, i);
    }
}
