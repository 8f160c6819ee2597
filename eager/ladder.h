/**
 * ladder.h: how a request for bytes is met when memory is short. The only loop in the library that
 * evicts. Rungs, each counted in the statistics:
 *
 *   free block -> the policy's victims, or blocks moved together where that costs less
 *     -> cut lineage that only keeps leaves alive
 *     -> evict the cheapest and compact -> the same with leaf gradients
 *     -> CEBUS_OUT_OF_MEMORY with a report
 *
 * Above it stands residency.h, which evicts everything and rebuilds in another order before it
 * lets a call fail.
 */
#ifndef CEBUS_EAGER_LADDER_H
#define CEBUS_EAGER_LADDER_H

#include "eager/runtime.h"
#include "evict/placement.h"

typedef struct cebus_request {
    uint64_t bytes;
    uint64_t spot;       /**< the offset a plan has for it; CEBUS_ANYWHERE: none */
    cebus_stream stream; /**< that will write the bytes */
    cebus_zone zone;
    const char *op; /**< for messages */
} cebus_request;

/** *out is a used block without an owner. On failure nothing is lost: only more values are absent.
 */
cebus_status cebus_ladder_reserve(cebus_runtime *rt, const cebus_request *request,
                                  cebus_block **out);

/** `stream` waits for what other streams still do with the bytes of a block it takes. The block
 * keeps their marks: if nothing comes of it (a copy or a launch fails), who takes it next waits. */
void cebus_ladder_claim(cebus_runtime *rt, cebus_block *block, cebus_stream stream);
/** The same for a block that was just placed: where the trail is kept each stretch of its bytes is
 * waited for by itself (trail.h), so that it has no marks of neighbours whose holes it shares. */
void cebus_ladder_claim_placed(cebus_runtime *rt, cebus_block *block, cebus_stream stream);

/** Returns a block to the arena; answers the free block it became part of. */
cebus_block *cebus_ladder_release(cebus_runtime *rt, cebus_block *block);

/** Drops every evictable block of the victims' range; returns the block at its end, free if it was
 * evicted. */
cebus_block *cebus_ladder_evict(cebus_runtime *rt, const cebus_victims *victims);

/** Gives one value up as candidate->method says: ahead of need, or not at all where that cannot be.
 * It is idle. */
void cebus_ladder_give_up(cebus_runtime *rt, cebus_candidate *candidate);

/** Drops everything that can go now; `late`: also what foresight keeps (rebuild/foresight.h). */
void cebus_ladder_evict_all(cebus_runtime *rt, bool late);

/** Writes the out-of-memory report and fails with CEBUS_OUT_OF_MEMORY (oom.c). */
cebus_status cebus_oom_fail(cebus_runtime *rt, uint64_t bytes, const char *op);
/** Fails with what was reported last, where that was held back (cebus_runtime.retries). */
cebus_status cebus_oom_tell(cebus_runtime *rt);
/** The same for a budget that what has to stay does not fit. */
cebus_status cebus_oom_budget(cebus_runtime *rt, uint64_t bytes);

/** The values that would go next, the first of them first, until they have `bytes`; none goes. How
 * they would go is in their `method`. Returns how many. */
size_t cebus_ladder_foresee(cebus_runtime *rt, uint64_t bytes, cebus_candidate **out, size_t limit);

/** Bytes that are free or may be given up now, wherever they lie. What is too dear for the rebuild
 * that runs may not. */
uint64_t cebus_ladder_room(cebus_runtime *rt);
/** Whether there are so many such bytes; costs less than to count all. */
bool cebus_ladder_has_room(cebus_runtime *rt, uint64_t bytes);
/** Whether a value may be given up now, by a drop or a copy; and by a drop. */
bool cebus_ladder_may_go(cebus_runtime *rt, const cebus_candidate *candidate);
bool cebus_ladder_may_drop(cebus_runtime *rt, const cebus_candidate *candidate);

#endif
