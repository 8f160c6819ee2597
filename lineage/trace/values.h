/**
 * values.h: what is known of the values of a trace by their ids, which may be any positive
 * numbers: 16 bytes a slot. Freed values stay, so that reading or making one again is noticed.
 */
#ifndef CEBUS_LINEAGE_TRACE_VALUES_H
#define CEBUS_LINEAGE_TRACE_VALUES_H

#include "lineage/trace/table.h"

typedef enum cebus_trace_state {
    CEBUS_VALUE_UNKNOWN,
    CEBUS_VALUE_LIVE,
    CEBUS_VALUE_PERSISTENT,  /**< live, and never freed */
    CEBUS_VALUE_OVERWRITTEN, /**< live, but its storage holds a later value */
    CEBUS_VALUE_FREED,
} cebus_trace_state;

/** Bytes a value may have at most. */
#define CEBUS_TRACE_BYTES_MAX (UINT64_C(1) << 58)

typedef struct cebus_trace_slot {
    uint64_t id;   /**< the key */
    uint64_t info; /**< bytes x 16 + mark x 8 + state */
} cebus_trace_slot;

/** Ended by cebus_trace_table_deinit. */
void cebus_trace_values_init(cebus_trace_table *values, const cebus_host_allocator *host);

/** The slot of an id; NULL when it is unknown. Valid until the next add. O(1). */
cebus_trace_slot *cebus_trace_values_find(const cebus_trace_table *values, uint64_t id);
/** A slot for an id that is unknown and not 0; NULL without host memory. O(1) amortized. */
cebus_trace_slot *cebus_trace_values_add(cebus_trace_table *values, uint64_t id, uint64_t bytes,
                                         cebus_trace_state state);

static inline cebus_trace_state cebus_trace_slot_state(const cebus_trace_slot *slot)
{
    return slot != NULL ? (cebus_trace_state)(slot->info & 7) : CEBUS_VALUE_UNKNOWN;
}

static inline uint64_t cebus_trace_slot_bytes(const cebus_trace_slot *slot)
{
    return slot->info >> 4;
}

static inline void cebus_trace_slot_set(cebus_trace_slot *slot, cebus_trace_state state)
{
    slot->info = (slot->info & ~UINT64_C(7)) | (uint64_t)state;
}

/** A mark for the walk of one op: set, seen, taken away. */
static inline bool cebus_trace_slot_marked(const cebus_trace_slot *slot)
{
    return (slot->info & 8) != 0;
}
static inline void cebus_trace_slot_mark(cebus_trace_slot *slot, bool mark)
{
    slot->info = (slot->info & ~UINT64_C(8)) | (mark ? 8 : 0);
}

#endif
