#include "layout/window/table.h"

#include <string.h>

/** A table that so many queries did not ask for goes: events would be written to it in vain. */
#define IDLE_QUERIES 2048

void cebus_tables_init(cebus_tables *tables, cebus_pool *pool)
{
    *tables = (cebus_tables){.pool = pool};
}

/** What is hot, then the times of chunks and of groups. */
static size_t bytes_of(uint32_t capacity)
{
    return sizeof(cebus_hot) + capacity * (sizeof(float) + sizeof(uint8_t)) +
           capacity / CEBUS_GROUP * sizeof(float);
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
    table->due = (float *)(table->hot + 1);
    table->soonest = table->due + capacity;
    table->hot->in = (uint8_t *)(table->soonest + capacity / CEBUS_GROUP);
    table->hot->count = 0;
    table->hot->room = room_of(capacity);
    memset(table->hot->in, 0, capacity);
    for (uint32_t i = 0; i < capacity + capacity / CEBUS_GROUP; i++)
        table->due[i] = CEBUS_DUE_NEVER;
}

static void free_table(const cebus_tables *tables, const cebus_table *table)
{
    cebus_pool_free_object(tables->pool, table->hot, bytes_of(tables->capacity));
}

void cebus_tables_clear(cebus_tables *tables)
{
    while (tables->count > 0)
        free_table(tables, &tables->table[--tables->count]);
}

/** The table for more chunks, the new ones empty. False without host memory: it is gone. */
static bool widen(const cebus_tables *tables, cebus_table *table, uint32_t capacity)
{
    cebus_table old = *table;
    void *wide = cebus_pool_alloc(tables->pool, bytes_of(capacity));
    if (wide != NULL) {
        use_memory(table, wide, capacity);
        uint8_t *in = table->hot->in;
        uint32_t room = table->hot->room;
        *table->hot = *old.hot;
        table->hot->in = in;
        table->hot->room = room;
        memcpy(table->due, old.due, tables->capacity * sizeof *table->due);
        memcpy(table->soonest, old.soonest,
               tables->capacity / CEBUS_GROUP * sizeof *table->soonest);
        memcpy(in, old.hot->in, tables->capacity);
    }
    free_table(tables, &old);
    return wide != NULL;
}

void cebus_tables_reserve(cebus_tables *tables, uint32_t chunks)
{
    uint32_t capacity = CEBUS_GROUP * CEBUS_GROUP, kept = 0;
    tables->chunks = chunks;
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
    tables->capacity = capacity;
}

static void drop_table(cebus_tables *tables, uint32_t i)
{
    free_table(tables, &tables->table[i]);
    tables->count--;
    memmove(&tables->table[i], &tables->table[i + 1], (tables->count - i) * sizeof *tables->table);
}

void cebus_table_set_level(const cebus_tables *tables, cebus_table *table, double level)
{
    bool any = level < CEBUS_LEVEL_MIN;
    table->level = table->strict = any ? CEBUS_LEVEL_ANY : fmin(level, CEBUS_LEVEL_MAX);
    table->known = (cebus_window_key){cebus_level_price(table->level), UINT64_MAX, UINT64_MAX};
    table->hot->count = 0;
    memset(table->hot->in, 0, tables->chunks);
    for (uint32_t i = 0; i < tables->chunks; i++)
        table->due[i] = table->soonest[i / CEBUS_GROUP] = CEBUS_DUE_NOW;
}

void cebus_tables_set_time(cebus_tables *tables, uint64_t now)
{
    if (now - tables->epoch < CEBUS_BOUND_EPOCH)
        return;
    tables->epoch = now;
    for (uint32_t i = 0; i < tables->count; i++)
        cebus_table_set_level(tables, &tables->table[i], tables->table[i].level);
}

cebus_table *cebus_tables_find(cebus_tables *tables, uint64_t bytes)
{
    cebus_table *found = NULL;
    tables->queries++;
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
    if (tables->count == CEBUS_TABLES)
        drop_table(tables, oldest_of(tables));
    void *memory = cebus_pool_alloc(tables->pool, bytes_of(tables->capacity));
    if (memory == NULL)
        return NULL;
    cebus_table *table = insert_table(tables, bytes);
    *table = (cebus_table){.bytes = bytes, .used = tables->queries};
    use_memory(table, memory, tables->capacity);
    return table;
}

void cebus_tables_move(cebus_tables *tables, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_table *table = &tables->table[i];
        cebus_table_set_due(table, to, table->hot->in[from] > 0 ? CEBUS_DUE_NOW : table->due[from]);
    }
}

void cebus_tables_empty(cebus_tables *tables, uint32_t dead)
{
    for (uint32_t i = 0; i < tables->count; i++) {
        tables->table[i].due[dead] = CEBUS_DUE_NEVER;
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
