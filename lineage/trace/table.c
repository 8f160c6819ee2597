#include "lineage/trace/table.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_CAPACITY 256

/** A number no file can foresee. */
static uint64_t random_seed(void)
{
    uint64_t seed;
    struct timespec now = {0};
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
    clock_gettime(CLOCK_REALTIME, &now);
    return cebus_trace_mix((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec);
}

void cebus_trace_table_init(cebus_trace_table *table, const cebus_host_allocator *host,
                            size_t key_words, size_t slot_words)
{
    *table = (cebus_trace_table){
        .host = *host, .seed = random_seed(), .key_words = key_words, .slot_words = slot_words};
}

void cebus_trace_table_deinit(cebus_trace_table *table)
{
    if (table->slots != NULL)
        table->host.free(table->host.context, table->slots);
    table->slots = NULL;
    table->capacity = table->count = 0;
}

static bool is_empty(const cebus_trace_table *table, const uint64_t *slot)
{
    return slot[table->key_words - 1] == 0;
}

static bool has_key(const cebus_trace_table *table, const uint64_t *slot, const uint64_t *key)
{
    size_t i = 0;
    while (i < table->key_words && slot[i] == key[i])
        i++;
    return i == table->key_words;
}

/** Where the key is, or would be. There is an empty slot. */
static uint64_t *probe(const cebus_trace_table *table, const uint64_t *key)
{
    uint64_t hash = table->seed;
    for (size_t i = 0; i < table->key_words; i++)
        hash = cebus_trace_mix(hash ^ key[i]);
    for (size_t at = (size_t)hash;; at++) {
        uint64_t *slot = table->slots + (at & (table->capacity - 1)) * table->slot_words;
        if (is_empty(table, slot) || has_key(table, slot, key))
            return slot;
    }
}

void *cebus_trace_table_find(const cebus_trace_table *table, const uint64_t *key)
{
    if (table->capacity == 0)
        return NULL;
    uint64_t *slot = probe(table, key);
    return is_empty(table, slot) ? NULL : slot;
}

static bool grow(cebus_trace_table *table)
{
    cebus_trace_table larger = *table;
    size_t slot_bytes = table->slot_words * sizeof *table->slots;
    larger.capacity = table->capacity > 0 ? 2 * table->capacity : FIRST_CAPACITY;
    if (larger.capacity > SIZE_MAX / slot_bytes)
        return false;
    larger.slots = larger.host.alloc(larger.host.context, larger.capacity * slot_bytes);
    if (larger.slots == NULL)
        return false;
    memset(larger.slots, 0, larger.capacity * slot_bytes);
    for (size_t i = 0; i < table->capacity; i++) {
        const uint64_t *slot = table->slots + i * table->slot_words;
        if (!is_empty(table, slot))
            memcpy(probe(&larger, slot), slot, slot_bytes);
    }
    if (table->slots != NULL)
        table->host.free(table->host.context, table->slots);
    *table = larger;
    return true;
}

void *cebus_trace_table_add(cebus_trace_table *table, const uint64_t *key)
{
    if (table->count >= table->capacity / 4 * 3 && !grow(table))
        return NULL;
    table->count++;
    return memcpy(probe(table, key), key, table->key_words * sizeof *key);
}
