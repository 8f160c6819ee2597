/**
 * swap.h: bytes that wait on the host. A value that is swapped out keeps its version; only its
 * bytes are elsewhere. Copies run on their own streams: nothing waits for a copy out but whoever
 * reuses the block, nothing for a copy in but whoever reads the value.
 *
 * A host copy is made once a version: when the bytes are back on the device it is kept while
 * there is room, so that to give them up again costs nothing. An in-place write makes a new version
 * or, of a leaf, ends the copy.
 */
#ifndef CEBUS_EAGER_SWAP_H
#define CEBUS_EAGER_SWAP_H

#include "eager/runtime.h"

/** What the chooser is told: may values go to the host, at what rates, with how much room. */
cebus_swap_terms cebus_swap_terms_now(const cebus_runtime *rt);

/**
 * Starts the copy to the host of an idle value, after the last use of its bytes: from then on they
 * can be dropped (cebus_candidate_drop). False when there was no room, or the copy could not be
 * started: then nothing changed, and no more values are offered for swapping until the request at
 * hand is through.
 */
bool cebus_swap_copy_out(cebus_runtime *rt, cebus_candidate *candidate);

/** Brings the bytes of a swapped value back, climbing the ladder for their place. Returns once the
 * copy is under way. */
cebus_status cebus_swap_in(cebus_runtime *rt, cebus_candidate *candidate, const char *op);

/** The compute stream waits for the bytes if they are still on their way: before each use. */
static inline void cebus_swap_settle(cebus_runtime *rt, cebus_candidate *candidate)
{
    if (candidate == NULL || !candidate->arriving)
        return;
    candidate->arriving = false;
    if (candidate->block != NULL)
        rt->device_ops->stream_wait(rt->device, CEBUS_STREAM_COMPUTE, CEBUS_STREAM_IN,
                                    candidate->block->fence[CEBUS_STREAM_IN]);
}

/** Ends the host copy of a version that died or was written over. The value must not depend on it:
 * its bytes are on the device, or nobody wants them. */
void cebus_swap_forget(cebus_runtime *rt, cebus_candidate *candidate);

/** Frees host memory whose copies are done; at the end, all of it. */
void cebus_swap_reclaim(cebus_runtime *rt);
void cebus_swap_deinit(cebus_runtime *rt);

#endif
