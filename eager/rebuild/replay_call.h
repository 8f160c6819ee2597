/**
 * replay_call.h: runs one recorded call again. Nothing is recorded twice, outputs that are still
 * there are not overwritten, no random number is drawn anew.
 */
#ifndef CEBUS_EAGER_REBUILD_REPLAY_CALL_H
#define CEBUS_EAGER_REBUILD_REPLAY_CALL_H

#include "eager/storage.h"

/** Which outputs are made. */
typedef enum cebus_replay_extent {
    CEBUS_REPLAY_PINNED, /**< what is pinned */
    CEBUS_REPLAY_WANTED, /**< what the running list or a pin says is wanted */
    CEBUS_REPLAY_HELD,   /**< and what somebody holds, where it fits without evicting */
} cebus_replay_extent;

/**
 * The inputs are resident, or on the host and come back.
 * CEBUS_OUT_OF_MEMORY, CEBUS_OUT_OF_HOST_MEMORY, CEBUS_DEVICE_ERROR: no output was made.
 */
cebus_status cebus_replay_call(cebus_runtime *rt, cebus_call *call, cebus_replay_extent extent);

/** Bytes that a further run takes for output `j`, which nobody wants: of a kernel that writes all
 * its outputs (<cebus/custom.h>) those of this one, until it has run. */
uint64_t cebus_replay_call_waste(cebus_runtime *rt, const cebus_call *call, uint32_t j);

/** After a call: versions it read, that nobody wants and nothing later in the list reads, go at
 * once. What another absent value will be made of stays while there is room. */
void cebus_replay_call_settle(cebus_runtime *rt, const cebus_call *call);

#endif
