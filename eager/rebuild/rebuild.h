/**
 * rebuild.h: makes a version resident that is not: by running recorded calls again, without
 * recursion, or by a copy from the host.
 *
 * Three methods, each for less room than the one before:
 *
 *     one pass      the absent calls behind the target, each once, in the program's order
 *                   (lineage/replay.h); what the rest of the list reads may not be evicted
 *     by plan       the list as a small program, planned to drop and make again some of what it
 *                   makes (plan.h)
 *     depth first   an explicit stack of waiting calls; only what was made for them is pinned, so
 *                   it needs the least room, but calls may run many times
 *
 * What is evicted for a rebuild has to be rebuilt, too. So all of that is tried several times: at
 * first only values may go that take no longer to rebuild than the list itself (a part of it, once
 * rebuilding took longer than the program), and few calls may run twice; each further try allows
 * more. In short memory the one value that much depends on, such as a gradient in the middle of a
 * backward, is the last to go.
 *
 * Several targets are one list, in the first two ways: what is behind more than one of them runs
 * once, where one after the other would find what the one before was made of given up again.
 *
 * Where all that has failed, since rebuilding took four times the program's own time, a rebuild is
 * first planned with what may follow (foresight.h).
 */
#ifndef CEBUS_EAGER_REBUILD_REBUILD_H
#define CEBUS_EAGER_REBUILD_REBUILD_H

#include "eager/storage.h"

/**
 * `target` is pinned and not resident; `op` names the caller in messages. CEBUS_OUT_OF_MEMORY (with
 * a report unless rt->trial), CEBUS_OUT_OF_HOST_MEMORY, CEBUS_DEVICE_ERROR: it is still absent.
 */
cebus_status cebus_rebuild(cebus_runtime *rt, cebus_candidate *target, const char *op);

/** The same, but whatever has to go for it may take any time to make again: dearer and dearer
 * values go until no more room is to be had by that. */
cebus_status cebus_rebuild_at_any_cost(cebus_runtime *rt, cebus_candidate *target, const char *op);

/** The same for all of `values` (NULL allowed) that are not resident. What is absent is made in one
 * go where that fits, so that calls behind several of them run once, else one after the other. On
 * failure some may be there. */
cebus_status cebus_rebuild_all(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                               const char *op);

#endif
