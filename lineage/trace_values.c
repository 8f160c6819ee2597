#include "lineage/trace_values.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_CAPACITY 256

uint64_t cebus_trace_seed(void)
{
    uint64_t seed;
    struct timespec now = {0};
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) == (ssize_t)sizeof seed)
        return seed;
    clock_gettime(CLOCK_REALTIME, &now);
    return cebus_trace_mix((uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec);
}

void cebus_trace_values_init(cebus_trace_values *values, const cebus_host_allocator *host)
{
    *values = (cebus_trace_values){.host = *host, .seed = cebus_trace_seed()};
}

void cebus_trace_values_deinit(cebus_trace_values *values)
{
    if (values->slots != NULL)
        values->host.free(values->host.context, values->slots);
    values->slots = NULL;
    values->capacity = values->count = 0;
}

/** Where the id is, or would be. There is an empty slot. */
static cebus_trace_slot *probe(const cebus_trace_values *values, uint64_t id)
{
    size_t at = (size_t)cebus_trace_mix(id ^ values->seed);
    for (;; at++) {
        cebus_trace_slot *slot = &values->slots[at & (values->capacity - 1)];
        if (slot->id == id || slot->id == 0)
            return slot;
    }
}

cebus_trace_slot *cebus_trace_values_find(const cebus_trace_values *values, uint64_t id)
{
    if (values->capacity == 0 || id == 0)
        return NULL;
    cebus_trace_slot *slot = probe(values, id);
    return slot->id == id ? slot : NULL;
}

static bool grow(cebus_trace_values *values)
{
    cebus_trace_values larger = *values;
    larger.capacity = values->capacity > 0 ? 2 * values->capacity : FIRST_CAPACITY;
    if (larger.capacity > SIZE_MAX / sizeof *larger.slots)
        return false;
    size_t bytes = larger.capacity * sizeof *larger.slots;
    larger.slots = larger.host.alloc(larger.host.context, bytes);
    if (larger.slots == NULL)
        return false;
    memset(larger.slots, 0, bytes);
    for (size_t i = 0; i < values->capacity; i++) {
        if (values->slots[i].id != 0)
            *probe(&larger, values->slots[i].id) = values->slots[i];
    }
    if (values->slots != NULL)
        values->host.free(values->host.context, values->slots);
    *values = larger;
    return true;
}

cebus_trace_slot *cebus_trace_values_add(cebus_trace_values *values, uint64_t id, uint64_t bytes,
                                         cebus_trace_state state)
{
    if (values->count >= values->capacity / 4 * 3 && !grow(values))
        return NULL;
    cebus_trace_slot *slot = probe(values, id);
    *slot = (cebus_trace_slot){.id = id, .info = bytes << 4 | (uint64_t)state};
    values->count++;
    return slot;
}
