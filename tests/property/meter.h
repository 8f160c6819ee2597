/**
 * meter.h: measures a runtime from the inside, at the moment before each kernel runs, when all that
 * the call needs has a place: what could not go then, and whether the budget is kept.
 */
#ifndef CEBUS_TESTS_PROPERTY_METER_H
#define CEBUS_TESTS_PROPERTY_METER_H

#include "eager/runtime.h"
#include "tests/property/subject.h"

typedef struct cebus_meter {
    /** The floor: the most, over all calls, of persistent bytes + leaf gradients + live leaves
     * that nothing can rebuild + the call's inputs, outputs and workspace. A write in place to
     * a value that can be rebuilt counts twice: its replay runs out of place. */
    uint64_t floor;
    /** The same without what some runtime might do without: leaf gradients between calls, second
     * copies, values whose records were cut. No runtime gets by with less. */
    uint64_t least;
    const char *floor_op; /**< the call that set the floor */
    uint64_t launches;    /**< kernels run, replays included */
    char violation[256];  /**< of the budget; empty: none */
    uint64_t budget;      /**< in force when the last event happened */
    uint64_t left;        /**< choices that the prices there were then stood for */
    uint64_t stood;       /**< choices by prices that stood */
    bool scattered;       /**< the layout has more addresses than bytes */
    cebus_runtime *rt;
    const cebus_subject *subject;
    void *self;           /**< the subject's state; NULL: not yet there */
    cebus_device_ops ops; /**< of the runtime, with the launch replaced */
    const cebus_device_ops *inner;
} cebus_meter;

/** Watches `rt` until it is destroyed. One meter at a time; it takes the event hook. */
void cebus_meter_attach(cebus_meter *meter, cebus_runtime *rt, const cebus_subject *subject);

#endif
