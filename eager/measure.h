/**
 * measure.h: replaces estimated costs of launches by measured ones, once the device has them. A
 * device that runs behind the host answers a launch with an estimate and measures it meanwhile
 * (device.h: collect). Each public call collects what was measured by then and corrects the record
 * and the sums of statistics. The clock by which values age only moves forward: it is advanced by
 * what a run cost more than estimated, and never set back.
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

/** `call` was launched, its cost estimated as `ns`. Nothing happens on devices whose first answer
 * is final. */
void cebus_measure_expect(cebus_runtime *rt, cebus_call *call, uint64_t mark, uint64_t ns);
/** Takes what is known by now. */
void cebus_measure_collect(cebus_runtime *rt);
/** Lets go of all records that wait. */
void cebus_measure_deinit(cebus_runtime *rt);

#endif
