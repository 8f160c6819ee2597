#include "lineage/trace_names.h"

#include <string.h>

#include "lineage/trace_values.h"

#define FIRST_CAPACITY 256
#define INLINE_MAX 15
/** The low byte of key[1]: the name's length when the key is the name, this when it is a hash. */
#define HASHED UINT64_C(0xFF)

void cebus_trace_names_init(cebus_trace_names *names, const cebus_host_allocator *host)
{
    *names = (cebus_trace_names){.host = *host, .seed = cebus_trace_seed()};
}

void cebus_trace_names_deinit(cebus_trace_names *names)
{
    if (names->slots != NULL)
        names->host.free(names->host.context, names->slots);
    names->slots = NULL;
    names->capacity = names->count = 0;
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

static void make_key(const cebus_trace_names *names, const char *name, size_t length, uint64_t *key)
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

static cebus_trace_name *probe(const cebus_trace_names *names, const uint64_t *key)
{
    size_t at = (size_t)cebus_trace_mix(cebus_trace_mix(key[0] ^ names->seed) ^ key[1]);
    for (;; at++) {
        cebus_trace_name *slot = &names->slots[at & (names->capacity - 1)];
        if ((slot->key[0] == key[0] && slot->key[1] == key[1]) || slot->key[1] == 0)
            return slot;
    }
}

cebus_trace_name *cebus_trace_names_find(const cebus_trace_names *names, const char *name,
                                         size_t length)
{
    uint64_t key[2];
    if (names->capacity == 0 || length == 0)
        return NULL;
    make_key(names, name, length, key);
    cebus_trace_name *slot = probe(names, key);
    return slot->key[1] != 0 ? slot : NULL;
}

static bool grow(cebus_trace_names *names)
{
    cebus_trace_names larger = *names;
    larger.capacity = names->capacity > 0 ? 2 * names->capacity : FIRST_CAPACITY;
    if (larger.capacity > SIZE_MAX / sizeof *larger.slots)
        return false;
    size_t bytes = larger.capacity * sizeof *larger.slots;
    larger.slots = larger.host.alloc(larger.host.context, bytes);
    if (larger.slots == NULL)
        return false;
    memset(larger.slots, 0, bytes);
    for (size_t i = 0; i < names->capacity; i++) {
        if (names->slots[i].key[1] != 0)
            *probe(&larger, names->slots[i].key) = names->slots[i];
    }
    if (names->slots != NULL)
        names->host.free(names->host.context, names->slots);
    *names = larger;
    return true;
}

cebus_trace_name *cebus_trace_names_add(cebus_trace_names *names, const char *name, size_t length,
                                        uint64_t value)
{
    if (names->count >= names->capacity / 4 * 3 && !grow(names))
        return NULL;
    uint64_t key[2];
    make_key(names, name, length, key);
    cebus_trace_name *slot = probe(names, key);
    *slot = (cebus_trace_name){.key = {key[0], key[1]}, .value = value};
    names->count++;
    return slot;
}
