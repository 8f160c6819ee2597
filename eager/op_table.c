#include <inttypes.h>
#include <string.h>

#include "eager/runtime.h"

static size_t slot_of(const cebus_op_map *map, const cebus_op *op)
{
    uint64_t hash = (uint64_t)(uintptr_t)op * UINT64_C(0x9E3779B97F4A7C15);
    size_t slot = (size_t)(hash >> 32) & (map->capacity - 1);
    while (map->entries[slot].op != NULL && map->entries[slot].op != op)
        slot = (slot + 1) & (map->capacity - 1);
    return slot;
}

static bool grow(cebus_runtime *rt)
{
    cebus_op_map old = rt->ops, wide = {.capacity = old.capacity > 0 ? 2 * old.capacity : 256};
    wide.count = old.count;
    wide.entries = cebus_pool_alloc(&rt->pool, wide.capacity * sizeof *wide.entries);
    if (wide.entries == NULL)
        return false;
    memset(wide.entries, 0, wide.capacity * sizeof *wide.entries);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.entries[i].op != NULL)
            wide.entries[slot_of(&wide, old.entries[i].op)] = old.entries[i];
    }
    cebus_pool_free_object(&rt->pool, old.entries, old.capacity * sizeof *old.entries);
    rt->ops = wide;
    return true;
}

/** As Coop's published classes: outputs of convolutions, matrix products and sums of many. */
static cebus_zone zone_by_name(const char *name)
{
    static const char *const dear[] = {"conv", "matmul", "add_n", "mm", "linear"};
    for (size_t i = 0; i < sizeof dear / sizeof *dear; i++) {
        if (strstr(name, dear[i]) != NULL)
            return CEBUS_ZONE_EXPENSIVE;
    }
    return CEBUS_ZONE_CHEAP;
}

void cebus_op_entry_learn(cebus_runtime *rt, cebus_op_entry *entry, uint64_t cost_ns,
                          uint64_t bytes)
{
    if (bytes == 0 || !rt->arena.layout->by_density)
        return;
    cebus_zone zone = cebus_density_classify(&rt->density, cost_ns, bytes,
                                             entry->ran ? entry->zone : CEBUS_ZONE_COUNT);
    entry->zone = (uint8_t)zone;
    entry->ran = true;
}

cebus_status cebus_op_entry_find(cebus_runtime *rt, const cebus_op *op, cebus_op_entry **out)
{
    if (rt->ops.capacity > 0) {
        cebus_op_entry *entry = &rt->ops.entries[slot_of(&rt->ops, op)];
        if (entry->op == op) {
            *out = entry;
            return CEBUS_OK;
        }
    }
    const cebus_kernel *kernel = (op->flags & CEBUS_OP_CUSTOM)
                                     ? cebus_custom_kernel(op)
                                     : rt->device_ops->kernel_find(rt->device, op->name);
    if (kernel == NULL)
        return cebus_fail(CEBUS_UNSUPPORTED, op->name, "device %s has no kernel for it",
                          rt->device_ops->name);
    if (2 * (rt->ops.count + 1) > rt->ops.capacity && !grow(rt))
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op->name, "no host memory for the op's entry");
    cebus_op_entry *entry = &rt->ops.entries[slot_of(&rt->ops, op)];
    *entry = (cebus_op_entry){.op = op, .kernel = kernel, .zone = CEBUS_ZONE_CHEAP};
    if (!rt->arena.layout->by_density)
        entry->zone = (uint8_t)zone_by_name(op->name);
    rt->ops.count++;
    *out = entry;
    return CEBUS_OK;
}
