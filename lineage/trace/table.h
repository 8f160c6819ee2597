/**
 * table.h: a hash table of what a trace names: slots of a fixed size, each of which begins
 * with its key. Open addressing; nothing is ever taken out.
 */
#ifndef CEBUS_LINEAGE_TRACE_TABLE_H
#define CEBUS_LINEAGE_TRACE_TABLE_H

#include <cebus/base.h>

typedef struct cebus_trace_table {
    cebus_host_allocator host;
    uint64_t seed; /**< so that a file cannot know which keys collide */
    size_t key_words, slot_words;
    uint64_t *slots; /**< empty: the last word of the key is 0 */
    size_t capacity; /**< slots: 0 or a power of two */
    size_t count;
} cebus_trace_table;

/** Slots of `slot_words` words, the first `key_words` of which are the key. */
void cebus_trace_table_init(cebus_trace_table *table, const cebus_host_allocator *host,
                            size_t key_words, size_t slot_words);
void cebus_trace_table_deinit(cebus_trace_table *table);

/** The slot of a key, whose last word is not 0; NULL when it is unknown. Valid until the next add.
 * O(1). */
void *cebus_trace_table_find(const cebus_trace_table *table, const uint64_t *key);
/** A slot for a key that is unknown: the key is written, the rest is 0. NULL without host memory.
 * O(1) amortized. */
void *cebus_trace_table_add(cebus_trace_table *table, const uint64_t *key);

/** splitmix64's finalizer (Steele, Lea, Flood, OOPSLA'14). */
static inline uint64_t cebus_trace_mix(uint64_t word)
{
    uint64_t z = word + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

#endif
