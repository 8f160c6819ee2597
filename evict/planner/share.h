/**
 * share.h: how the memory beside a plan for the activations is shared out: some of what persists
 * stays, the rest comes and goes in what is left (timeline/presence.h).
 *
 *     room   | activations | stays        | ahead: on its way   | used at this call | spared |
 */
#ifndef CEBUS_EVICT_PLANNER_SHARE_H
#define CEBUS_EVICT_PLANNER_SHARE_H

#include "evict/timeline/runs.h"

/** Values used more often than this cost the link alike: it is not known which uses are far apart.
 */
#define CEBUS_SHARE_OFTEN 4

/** What the memory is shared out for. All is borrowed. */
typedef struct cebus_sharing {
    const cebus_iteration *iteration;
    const cebus_plan_terms *terms;
    const cebus_plan *others; /**< for the activations, ready */
    const cebus_runs *runs;   /**< by that */
    cebus_pool *pool;
} cebus_sharing;

typedef struct cebus_share {
    bool *streams;   /**< of values: it persists, and does not stay */
    uint64_t ahead;  /**< bytes kept free for what is on its way */
    uint64_t spared; /**< bytes that nobody has who need not */
    uint32_t turn;   /**< the run before which nothing that streams is there; 0: that is the end */
} cebus_share;

/** Whether a value may come and go: it persists, is not small, and the host does not read it
 * meanwhile. O(uses). */
bool cebus_share_may_stream(const cebus_sharing *sharing, uint32_t value);

/** Sets `streams` so that up to so many bytes stay: what is used most often first, as it would come
 * most often; evenly over the iteration. O(values + uses). */
void cebus_share_choose(const cebus_sharing *sharing, uint64_t stay, bool *streams);

/** How long an iteration takes by a plan if any place will do; its wait_ns. False without host
 * memory. */
bool cebus_share_time(const cebus_sharing *sharing, cebus_plan *plan, uint64_t *out_ns);

/** The plan by a share, linked, and how long an iteration takes by it: UINT64_MAX if there is no
 * room for it, and no plan. False without host memory. `out` is empty before. */
bool cebus_share_plan(const cebus_sharing *sharing, const cebus_share *share, cebus_plan *out,
                      uint64_t *out_ns);

#endif
