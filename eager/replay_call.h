/**
 * replay_call.h: runs one recorded call again. Nothing is recorded twice, outputs that are still
 * there are not overwritten, no random number is drawn anew.
 */
#ifndef CEBUS_EAGER_REPLAY_CALL_H
#define CEBUS_EAGER_REPLAY_CALL_H

#include "eager/storage.h"

/**
 * The inputs are resident, or on the host and come back. Makes the outputs that the running list
 * or somebody else wants, and siblings that somebody holds where they fit without evicting.
 * CEBUS_OUT_OF_MEMORY, CEBUS_OUT_OF_HOST_MEMORY, CEBUS_DEVICE_ERROR: no output was made.
 */
cebus_status cebus_replay_call(cebus_runtime *rt, cebus_call *call);

#endif
