/**
 * names.h: what the names of a DTR log refer to. Names stay when they are released, so that
 * a second use is noticed: 24 bytes a slot, whatever their length. Up to 15 bytes a name is its
 * own key; longer ones are known by 120 bits of a seeded hash.
 */
#ifndef CEBUS_LINEAGE_TRACE_NAMES_H
#define CEBUS_LINEAGE_TRACE_NAMES_H

#include "lineage/trace/table.h"

/** A slot. */
typedef struct cebus_trace_name {
    uint64_t key[2];
    uint64_t value : 63;
    uint64_t released : 1;
} cebus_trace_name;

/** Ended by cebus_trace_table_deinit. */
void cebus_trace_names_init(cebus_trace_table *names, const cebus_host_allocator *host);

/** NULL when the name is unknown. Valid until the next add. O(length). */
cebus_trace_name *cebus_trace_names_find(const cebus_trace_table *names, const char *name,
                                         size_t length);
/** A name that is unknown until now and not empty; NULL without host memory. */
cebus_trace_name *cebus_trace_names_add(cebus_trace_table *names, const char *name, size_t length,
                                        uint64_t value);

#endif
