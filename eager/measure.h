/**
 * measure.h: costs that come late. A device that runs behind answers a launch with an estimate and
 * measures it meanwhile (device.h: collect). Each public call collects what is known by then and
 * puts it where the estimate stands: in the record and in the sums of statistics. The clock that
 * ages values only moves forward: it takes what a run cost more than estimated, and nothing back.
 *
 * Records that wait for their cost are kept alive in a ring of fixed length; what falls out of it
 * keeps its estimate. Nothing here allocates, waits or fails.
 */
#ifndef CEBUS_EAGER_MEASURE_H
#define CEBUS_EAGER_MEASURE_H

#include "eager/device/device.h"
#include "lineage/call.h"

#define CEBUS_MEASURE_RING 256

/** A launch whose cost is not known yet. */
typedef struct cebus_estimate {
    cebus_call *call; /**< held */
    uint64_t mark;    /**< of the compute stream, right after the launch */
    uint64_t ns;      /**< what was answered */
    bool again;       /**< a replay */
} cebus_estimate;

typedef struct cebus_measure {
    cebus_estimate ring[CEBUS_MEASURE_RING];
    uint64_t given, taken; /**< entries [taken, given) wait, oldest first */
} cebus_measure;

/** `call` was launched, its cost estimated as `ns`; where the device will not say more, nothing
 * happens. */
void cebus_measure_expect(cebus_runtime *rt, cebus_call *call, uint64_t mark, uint64_t ns);
/** Takes what is known by now. */
void cebus_measure_collect(cebus_runtime *rt);
/** Lets go of all records that wait. */
void cebus_measure_deinit(cebus_runtime *rt);

#endif
