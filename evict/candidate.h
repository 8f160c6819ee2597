/**
 * candidate.h: a value as a policy sees it: where its bytes are, when they were last used (the
 * block's tick), what it would cost to rebuild them (lineage/cost.h).
 *
 * This is also the struct the runtime allocates for every version: lineage sees its first part,
 * layout knows it as the opaque owner of a block.
 */
#ifndef CEBUS_EVICT_CANDIDATE_H
#define CEBUS_EVICT_CANDIDATE_H

#include "layout/arena.h"
#include "lineage/value.h"

/** How its bytes would go. */
typedef enum cebus_go {
    CEBUS_GO_DROP, /**< to be rebuilt by a replay */
    CEBUS_GO_SWAP, /**< to the host, or to the spill file */
} cebus_go;

/** Where the copy of a value that may leave the device is. */
typedef enum cebus_tier {
    CEBUS_TIER_HOST,     /**< host memory, page-locked where the device does that */
    CEBUS_TIER_PAGEABLE, /**< host memory that is not, where others are */
    CEBUS_TIER_SPILL,    /**< the spill file */
} cebus_tier;

typedef struct cebus_candidate {
    cebus_value value;  /**< first: a cebus_value * of the runtime is a cebus_candidate * */
    cebus_block *block; /**< while resident; NULL for a storage of zero bytes */
    void *host;         /**< a copy of the bytes off the device: an address in host memory, or, of
                             the other tiers, a record; NULL: none. Valid while the version lasts,
                             also when the bytes are on the device again */
    struct cebus_candidate *colder, *warmer; /**< those off the device alone, in the order in
                              which they left it (eager/swap/away.h); NULL: none, or not there */
    uint64_t host_mark; /**< when that copy is complete, on the stream that makes it */
    uint64_t serial;    /**< number in events, never reused */
    uint32_t exports;   /**< addresses handed out (maps): the bytes must not go or move */
    uint8_t zone;       /**< cebus_zone its bytes belong to */
    uint8_t method;     /**< cebus_go: what the last pricing took for it */
    uint8_t tier;       /**< cebus_tier, where there is a copy */
    bool uploaded;      /**< from the host: no call made it */
    bool abandoned;     /**< off the device alone, and nobody holds it (eager/swap/away.h) */
    bool arriving;      /**< the copy back may still run: block->fence says until when */
    uint8_t hint;       /**< cebus_hint: what the program wishes (wish.h) */
    bool gradient;      /**< of a leaf or on its way: goes only when nothing else can */
    uint64_t left_tick; /**< its block's tick when its bytes last went */
    uint64_t writes;    /**< in-place writes that kept this version (a leaf's) */
    uint64_t hash;      /**< of the bytes when they were given up (check mode), or 0 */
    uint64_t trace_id;  /**< of the recorder (eager/trace/record.c); 0: none */
    uint32_t
        foreseen; /**< its number, from 1, in what may follow (eager/rebuild/mirror.h); 0: none */
    uint64_t capture_id; /**< of the capture (eager/capture/capture.h); 0: none */
} cebus_candidate;

static inline cebus_candidate *cebus_candidate_of(cebus_value *value)
{
    return (cebus_candidate *)value;
}

/** Its bytes exist, are in no one's hands, and the running replay will not read them any more. */
static inline bool cebus_candidate_is_idle(const cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    return value->resident && candidate->block != NULL && value->pins == 0 &&
           value->plan_uses == 0 && candidate->exports == 0;
}

/** May its bytes be dropped? They must be idle and rebuildable. */
static inline bool cebus_candidate_is_evictable(const cebus_candidate *candidate)
{
    return cebus_candidate_is_idle(candidate) && cebus_value_is_replayable(&candidate->value);
}

/** The block, of this arena, is the candidate's from now on; once more when its hint has changed.
 */
void cebus_candidate_lodge(cebus_arena *arena, cebus_candidate *candidate, cebus_block *block);

/** Why it may not go, for reports: "pinned by the running call", "a leaf: ...", ... */
const char *cebus_candidate_reason(const cebus_candidate *candidate);

#endif
