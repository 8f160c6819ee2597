/**
 * rebuild.h: makes a version resident that is not: by running recorded calls again, without
 * recursion, or by a copy from the host.
 *
 * First by one list (lineage/replay.h), every call once, all that it still reads protected from
 * eviction. Where that leaves too little room, by a plan for the list (rebuild_plan.h). Where there
 * is none, depth first with an explicit stack: a call waits with only what was made for it pinned,
 * what the stack reads soon is the last to go, and calls may run more than once.
 *
 * What goes for a rebuild must be made again, too: so at first nothing may go that takes longer
 * than the list itself (a part of it, where rebuilding takes longer than the program), and few
 * calls may run twice; then more and more. In short memory the one
 * value that much hangs on (a gradient on its way through a backward) is the last to go.
 */
#ifndef CEBUS_EAGER_REBUILD_H
#define CEBUS_EAGER_REBUILD_H

#include "eager/storage.h"

/**
 * `target` is pinned and not resident; `op` names the caller in messages. CEBUS_OUT_OF_MEMORY (with
 * a report unless rt->trial), CEBUS_OUT_OF_HOST_MEMORY, CEBUS_DEVICE_ERROR: it is still absent.
 */
cebus_status cebus_rebuild(cebus_runtime *rt, cebus_candidate *target, const char *op);

#endif
