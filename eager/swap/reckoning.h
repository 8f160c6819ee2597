/**
 * reckoning.h: until when copies go on, as far as can be reckoned. The host asks for work long
 * before the device gets to it, so that of hardly any copy is it known that it is done; but by when
 * compute gets to the call at hand many will be:
 *
 *     compute   | conv | relu | conv2 |   now   |        the calls asked for so far
 *     out       [== x ==][=== y ===][==== z ====]        x and y are done by now, z is not
 *
 * By a clock of calls, with what compute has waited for; reckoned wrong it costs a wait.
 */
#ifndef CEBUS_EAGER_SWAP_RECKONING_H
#define CEBUS_EAGER_SWAP_RECKONING_H

#include <cebus/runtime.h>

#include "eager/device/device.h"

typedef struct cebus_reckoned {
    uint64_t mark; /**< of the stream */
    uint64_t ns;   /**< by when it is reached */
} cebus_reckoned;

typedef struct cebus_reckoning {
    cebus_reckoned *items; /**< under way, in order: from `first` on */
    size_t first, count, capacity;
    uint64_t until_ns; /**< when the stream is through with all of them */
    uint64_t done;     /**< the mark of the last one that was */
} cebus_reckoning;

/** A copy of so many bytes was asked for, on one of the streams that copy. Without host memory
 * those before it seem to go on as long. */
void cebus_reckoning_add(cebus_runtime *rt, cebus_stream stream, uint64_t mark, uint64_t bytes);
/** Whether compute finds the stream past a mark. */
bool cebus_reckoning_past(cebus_runtime *rt, cebus_stream stream, uint64_t mark);
void cebus_reckoning_clear(cebus_runtime *rt);

#endif
