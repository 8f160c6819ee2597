/**
 * report_values.h: the values that were evicted at least once: how they came back, and what that
 * took. A file may name as many as it likes; those after the first REPORT_MOST_VALUES are only
 * counted.
 */
#ifndef REPORT_VALUES_H
#define REPORT_VALUES_H

#include <cebus/log.h>

#include "report_blocks.h"
#include "report_names.h"

enum {
    REPORT_MOST_VALUES = 1 << 21
};

struct report_value {
    uint64_t value, bytes;
    uint64_t block_bytes; /**< as it lay in the arena */
    uint64_t recompute_ns, out_ns, in_ns;
    uint32_t op; /**< that made it */
    uint32_t evictions;
    uint32_t recomputes; /**< for its own sake */
    uint32_t along;      /**< on the way to another value, which the time is counted at */
    uint32_t swap_ins;
    uint8_t memory_class;
    bool away;
    bool came_along; /**< since it was evicted last */
};

/** Zero is an empty one. */
struct report_values {
    struct report_value *list;
    size_t count, room;
    struct id_map by_value;
    uint64_t lost; /**< evictions of values that have no record */
};

/** What a value's evictions cost in all. */
static inline uint64_t report_value_cost(const struct report_value *value)
{
    return value->recompute_ns + value->out_ns + value->in_ns;
}

/** The record of a value, or NULL. */
struct report_value *report_values_find(const struct report_values *values, uint64_t value);
/**
 * Takes note of a PLACED, EVICTED, RETURNED, SWAPPED_OUT or SWAPPED_IN event; others are ignored.
 * `block` is the one the event is about, NULL when there is none; `op` the event's.
 */
void report_values_event(struct report_values *values, const cebus_event *event, uint32_t op,
                         const struct report_block *block);
/** Those that were evicted first, the costliest of them before the others; answers how many. */
size_t report_values_sort(struct report_values *values);
void report_values_free(struct report_values *values);

#endif
