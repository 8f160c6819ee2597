#include "lineage/trace/values.h"

void cebus_trace_values_init(cebus_trace_table *values, const cebus_host_allocator *host)
{
    cebus_trace_table_init(values, host, 1, sizeof(cebus_trace_slot) / sizeof(uint64_t));
}

cebus_trace_slot *cebus_trace_values_find(const cebus_trace_table *values, uint64_t id)
{
    return id != 0 ? cebus_trace_table_find(values, &id) : NULL;
}

cebus_trace_slot *cebus_trace_values_add(cebus_trace_table *values, uint64_t id, uint64_t bytes,
                                         cebus_trace_state state)
{
    cebus_trace_slot *slot = cebus_trace_table_add(values, &id);
    if (slot != NULL)
        slot->info = bytes << 4 | (uint64_t)state;
    return slot;
}
