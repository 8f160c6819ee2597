/**
 * departures.h: until when copies to the host go on, as far as can be reckoned. The host asks for
 * work long before the device gets to it, so that of hardly any copy is it known that it is done;
 * but by when compute gets to the call at hand many will be:
 *
 *     compute   | conv | relu | conv2 |   now   |        the calls asked for so far
 *     out       [== x ==][=== y ===][==== z ====]        x and y are done by now, z is not
 *
 * By a clock of calls, with what compute has waited for; reckoned wrong it costs a wait.
 */
#ifndef CEBUS_EAGER_SWAP_DEPARTURES_H
#define CEBUS_EAGER_SWAP_DEPARTURES_H

#include <cebus/runtime.h>

typedef struct cebus_departure {
    uint64_t mark; /**< of the stream out */
    uint64_t ns;   /**< by when it is reached */
} cebus_departure;

typedef struct cebus_departures {
    cebus_departure *items; /**< under way, in order: from `first` on */
    size_t first, count, capacity;
    uint64_t until_ns; /**< when the link is through with all of them */
    uint64_t done;     /**< the mark of the last one that was */
} cebus_departures;

/** A copy of so many bytes was asked for. Without host memory those before it seem to go on as
 * long. */
void cebus_departures_add(cebus_runtime *rt, uint64_t mark, uint64_t bytes);
/** Whether compute finds the stream past a mark. */
bool cebus_departures_past(cebus_runtime *rt, uint64_t mark);
void cebus_departures_clear(cebus_runtime *rt);

#endif
