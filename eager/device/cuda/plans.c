#include "eager/device/cuda/plans.h"

#include <string.h>

#include "eager/op.h"
#include "layout/number.h"

#define BUCKETS 256

/* The key's bytes follow, then the plan's, each aligned for anything. */
typedef struct entry {
    struct entry *next;
    uint64_t hash, tick;
    max_align_t bytes[];
} entry;

struct cebus_cuda_plans {
    cebus_cuda_plans_options options;
    cebus_host_allocator host;
    entry *bucket[BUCKETS];
    size_t count;
    uint64_t tick;
};

static size_t key_room(const cebus_cuda_plans *plans)
{
    const size_t unit = sizeof(max_align_t);
    return cebus_round_up_u64(plans->options.key_bytes, unit);
}

static void *plan_of(const cebus_cuda_plans *plans, entry *e)
{
    return (char *)e->bytes + key_room(plans);
}

/* Word by word, as keys are mostly int64: xor, multiply by the golden ratio, and fold the high half
 * down, which a multiplication alone does not. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

static uint64_t hash_bytes(const void *bytes, size_t n)
{
    uint64_t hash = n, word = 0;
    size_t at = 0;
    for (; at + sizeof word <= n; at += sizeof word) {
        memcpy(&word, (const char *)bytes + at, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    memcpy(&word, (const char *)bytes + at, n - at);
    return mix(hash, word);
}

cebus_cuda_plans *cebus_cuda_plans_create(const cebus_cuda_plans_options *options)
{
    const cebus_host_allocator *host = options->host;
    cebus_cuda_plans *plans = host->alloc(host->context, sizeof *plans);
    if (!plans)
        return NULL;
    memset(plans, 0, sizeof *plans);
    plans->options = *options;
    plans->host = *host;
    plans->options.host = &plans->host;
    return plans;
}

/* Takes the entry out of the table and frees it. */
static void drop(cebus_cuda_plans *plans, entry **at)
{
    entry *e = *at;
    *at = e->next;
    plans->options.clear(plan_of(plans, e));
    plans->host.free(plans->host.context, e);
    plans->count--;
}

void cebus_cuda_plans_destroy(cebus_cuda_plans *plans)
{
    if (!plans)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        while (plans->bucket[i])
            drop(plans, &plans->bucket[i]);
    }
    cebus_host_allocator host = plans->host;
    host.free(host.context, plans);
}

static void drop_oldest(cebus_cuda_plans *plans)
{
    entry **oldest = NULL;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (entry **at = &plans->bucket[i]; *at; at = &(*at)->next) {
            if (!oldest || (*at)->tick < (*oldest)->tick)
                oldest = at;
        }
    }
    if (oldest)
        drop(plans, oldest);
}

static entry *lookup(const cebus_cuda_plans *plans, uint64_t hash, const void *key)
{
    entry *e = plans->bucket[hash % BUCKETS];
    while (e && !(e->hash == hash && memcmp(e->bytes, key, plans->options.key_bytes) == 0))
        e = e->next;
    return e;
}

static cebus_status insert(cebus_cuda_plans *plans, const char *op, void *context, uint64_t hash,
                           const void *key, entry **out)
{
    const size_t bytes = sizeof(entry) + key_room(plans) + plans->options.plan_bytes;
    entry *e = plans->host.alloc(plans->host.context, bytes);
    if (!e)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op,
                          "no host memory to keep how it runs: free some, then try again");
    memset(e, 0, bytes);
    e->hash = hash;
    memcpy(e->bytes, key, plans->options.key_bytes);
    cebus_status status = plans->options.make(context, e->bytes, plan_of(plans, e));
    if (status != CEBUS_OK) {
        plans->host.free(plans->host.context, e);
        return status;
    }
    if (plans->count >= plans->options.capacity)
        drop_oldest(plans);
    e->next = plans->bucket[hash % BUCKETS];
    plans->bucket[hash % BUCKETS] = e;
    plans->count++;
    *out = e;
    return CEBUS_OK;
}

cebus_status cebus_cuda_plans_find(cebus_cuda_plans *plans, const char *op, void *context,
                                   const void *key, const void **out)
{
    const uint64_t hash = hash_bytes(key, plans->options.key_bytes);
    entry *e = lookup(plans, hash, key);
    *out = NULL;
    if (!e) {
        cebus_status status = insert(plans, op, context, hash, key, &e);
        if (status != CEBUS_OK)
            return status;
    }
    e->tick = ++plans->tick;
    *out = plan_of(plans, e);
    return CEBUS_OK;
}

cebus_status cebus_cuda_plans_find_in(cebus_cuda_plans **table,
                                      const cebus_cuda_plans_options *options, const char *op,
                                      void *context, const void *key, const void **out)
{
    *out = NULL;
    if (*table == NULL)
        *table = cebus_cuda_plans_create(options);
    if (*table == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op,
                          "no host memory for a table of plans: free some, then try again");
    return cebus_cuda_plans_find(*table, op, context, key, out);
}

size_t cebus_cuda_plans_count(const cebus_cuda_plans *plans)
{
    return plans->count;
}
