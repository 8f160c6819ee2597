#include "lineage/trace/names.h"

#include <string.h>

#define INLINE_MAX 15
/** The low byte of key[1]: the name's length when the key is the name, this when it is a hash. */
#define HASHED UINT64_C(0xFF)

enum {
    KEY_WORDS = sizeof((cebus_trace_name){0}.key) / sizeof(uint64_t),
    SLOT_WORDS = sizeof(cebus_trace_name) / sizeof(uint64_t)
};

void cebus_trace_names_init(cebus_trace_table *names, const cebus_host_allocator *host)
{
    cebus_trace_table_init(names, host, KEY_WORDS, SLOT_WORDS);
}

static uint64_t hash_text(uint64_t hash, const char *text, size_t length)
{
    for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, text + at, length - at < sizeof word ? length - at : sizeof word);
        hash = cebus_trace_mix(hash ^ word);
    }
    return cebus_trace_mix(hash ^ length);
}

static void make_key(const cebus_trace_table *names, const char *name, size_t length, uint64_t *key)
{
    key[0] = key[1] = 0;
    if (length > INLINE_MAX) {
        key[0] = hash_text(names->seed, name, length);
        key[1] = hash_text(~names->seed, name, length) << 8 | HASHED;
        return;
    }
    for (size_t i = 0; i < length; i++)
        key[i / 8] = key[i / 8] << 8 | (unsigned char)name[i];
    key[1] = key[1] << 8 | length;
}

cebus_trace_name *cebus_trace_names_find(const cebus_trace_table *names, const char *name,
                                         size_t length)
{
    uint64_t key[KEY_WORDS];
    make_key(names, name, length, key);
    return length > 0 ? cebus_trace_table_find(names, key) : NULL;
}

cebus_trace_name *cebus_trace_names_add(cebus_trace_table *names, const char *name, size_t length,
                                        uint64_t value)
{
    uint64_t key[KEY_WORDS];
    make_key(names, name, length, key);
    cebus_trace_name *slot = cebus_trace_table_add(names, key);
    if (slot != NULL)
        slot->value = value;
    return slot;
}
