/**
 * cache.h: device memory as a cache over a recorded iteration: what leaves for the host and when,
 * under the least-recently-used rule, and when each copy back must start to be there in time.
 */
#ifndef CEBUS_EVICT_POLICIES_CACHE_H
#define CEBUS_EVICT_POLICIES_CACHE_H

#include "evict/plan.h"
#include "evict/survey.h"

/**
 * Walks the iteration's calls under `budget`: before a call that does not fit, idle values go, the
 * least recently used first, until it does or none is left. leave[s] (all NONE before) becomes
 * the call before which span s goes, where `may_leave` of it is not 0 (NULL: all may). The survey's
 * curve follows. Bytes are one number here: addresses are the arena's business. O(calls + spans).
 */
void cebus_cache_evict(cebus_survey *survey, const uint32_t *may_leave, uint64_t budget,
                       uint32_t *leave);

/**
 * Adds to the plan, for each span that leaves, when its copy back starts: so early that it ends
 * when the value is used and the copies after it (the link carries one at a time) still end when
 * theirs are, but not before the curve leaves room under the target. The curve follows. False
 * without host memory. O(spans + calls they are ahead).
 */
bool cebus_cache_fetch(cebus_survey *survey, const uint32_t *leave, const cebus_plan_terms *terms,
                       cebus_plan *plan);

#endif
