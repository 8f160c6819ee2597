/**
 * candidate.h: a value as a policy sees it: where its bytes are, when they were last used (the
 * block's tick), what it would cost to rebuild them (lineage/cost.h).
 *
 * This is also the struct the runtime allocates for every version: lineage sees its first part,
 * layout knows it as the opaque owner of a block.
 */
#ifndef CEBUS_EVICT_CANDIDATE_H
#define CEBUS_EVICT_CANDIDATE_H

#include "layout/block.h"
#include "lineage/value.h"

typedef struct cebus_candidate {
    cebus_value value;  /**< first: a cebus_value * of the runtime is a cebus_candidate * */
    cebus_block *block; /**< while resident; NULL for a storage of zero bytes */
    uint32_t exports;   /**< addresses handed out (maps): the bytes must not go or move */
    uint8_t zone;       /**< cebus_zone its bytes belong to */
    bool gradient;      /**< of a leaf or on its way: goes only when nothing else can */
    uint64_t writes;    /**< in-place writes that kept this version (a leaf's) */
    uint64_t hash;      /**< of the bytes when they were given up (check mode), or 0 */
    uint64_t trace_id;  /**< of the recorder (eager/trace_record.c); 0: none */
} cebus_candidate;

static inline cebus_candidate *cebus_candidate_of(cebus_value *value)
{
    return (cebus_candidate *)value;
}

/**
 * May its bytes go? They must exist, be rebuildable, be in no one's hands, and the running replay
 * must not read them any more.
 */
static inline bool cebus_candidate_is_evictable(const cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    return value->resident && candidate->block != NULL && value->pins == 0 &&
           value->plan_uses == 0 && candidate->exports == 0 && cebus_value_is_replayable(value);
}

/** Why it may not go, for reports: "pinned by the running call", "a leaf: ...", ... */
const char *cebus_candidate_reason(const cebus_candidate *candidate);

#endif
