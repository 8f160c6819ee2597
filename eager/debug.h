/**
 * debug.h: the debugging aids of cebus_runtime_options.debug. All are no-ops when off.
 *  - HASH: every version is hashed when its bytes go and compared when a replay brought them back.
 *  - CHAOS: before every call one random evictable version goes.
 *  - HINTS: every version gets a hint that is drawn (hint.c).
 *  - WALK: after every call all invariants are verified.
 */
#ifndef CEBUS_EAGER_DEBUG_H
#define CEBUS_EAGER_DEBUG_H

#include "eager/runtime.h"

/** The bytes are about to go (they are still there). */
void cebus_debug_leave(cebus_runtime *rt, cebus_candidate *candidate);
/** A replay brought the bytes back. CEBUS_INTERNAL when they differ. */
cebus_status cebus_debug_return(cebus_runtime *rt, cebus_candidate *candidate);
/** Before a call. */
void cebus_debug_chaos(cebus_runtime *rt);
/** After a call. CEBUS_INTERNAL names the first broken invariant. */
cebus_status cebus_debug_walk(cebus_runtime *rt, const char *op);

#endif
