/**
 * evictions.h: every eviction of a pass, from the events of a run: what went, why, how it came
 * back.
 */
#ifndef EVICTIONS_H
#define EVICTIONS_H

#include <cebus/log.h>

#include "id_map.h"
#include "program.h"

/** How an evicted value came back. */
enum way_back {
    BACK_NEVER,
    BACK_RECOMPUTE,
    BACK_ALONG, /**< recomputed on the way to another value, which the cost is counted at */
    BACK_SWAP,
    BACK_WAYS,
};

struct eviction {
    uint64_t number;  /**< in the order of the pass, from 1 */
    uint64_t value;   /**< of the runtime */
    uint32_t storage; /**< of the program; NO_INDEX: unknown */
    uint32_t name;    /**< of the op that made it, in names; NO_INDEX: a constant */
    cebus_method method;
    uint64_t bytes, age_ns, expected_ns, price, next_price;
    size_t at; /**< the op that wanted room; n_ops: the end of the pass */
    enum way_back way;
    size_t back_at;   /**< the op that read it */
    uint64_t out_ns;  /**< the copy to the host took */
    uint64_t back_ns; /**< bringing it back took */
};

/** Sums over a pass. */
struct eviction_totals {
    uint64_t evictions, recomputes, recompute_ns, swapped_bytes;
};

struct evictions {
    const struct program *program; /**< NULL: the events come from a file */
    struct eviction *list;
    size_t count, room;
    struct eviction_totals totals;
    char **names;
    size_t n_names, names_room;
    struct id_map by_value;               /**< to the last eviction of the value */
    struct id_map makers;                 /**< values to storages */
    uint64_t out_value, out_ns;           /**< the last copy to the host */
    uint64_t placed[PROGRAM_MAX_OUTPUTS]; /**< the last values that got bytes, in a ring */
    size_t n_placed;
};

/** Zero is an empty one but for `program`. */
void evictions_event(void *evictions, const cebus_event *event, size_t op);
/** A new pass: forgets the evictions before. */
void evictions_pass(void *evictions, int pass);
void evictions_free(struct evictions *evictions);

/** What an eviction cost in all. */
static inline uint64_t eviction_cost(const struct eviction *eviction)
{
    return eviction->out_ns + eviction->back_ns;
}

/** "never", "recompute", "along", "swap". */
const char *way_back_name(enum way_back way);
/** Name of the op that made what went. */
const char *eviction_op(const struct evictions *evictions, const struct eviction *eviction);

#endif
