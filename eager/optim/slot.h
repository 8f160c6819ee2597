/**
 * slot.h: the inside of an optimizer, for the two files that know it: its parameters, a slot each,
 * and how they are updated.
 */
#ifndef CEBUS_EAGER_OPTIM_SLOT_H
#define CEBUS_EAGER_OPTIM_SLOT_H

#include "eager/ops/optim.h"
#include "eager/runtime.h"

/** State of a parameter, beside the counter, at most. */
#define CEBUS_SLOT_BUFFERS 2

/** Which contents of a gradient: none is { 0, 0 }. */
typedef struct cebus_contents {
    uint64_t serial, writes;
} cebus_contents;

/** A parameter and its state. */
typedef struct cebus_slot {
    cebus_tensor *param;
    cebus_tensor *buffer[CEBUS_SLOT_BUFFERS];
    cebus_tensor *grad; /**< only while a step runs */
    int64_t steps;
    cebus_tensor *counter;  /**< counts steps on the device instead, once one was scaled */
    cebus_contents applied; /**< by a step that failed later on: not to be applied again */
} cebus_slot;

/** What a step touches of one slot at most: parameter, gradient, buffers, counter. */
#define CEBUS_SLOT_TENSORS (3 + CEBUS_SLOT_BUFFERS)
/** What a scaled step reads beside: scale, found_inf. */
#define CEBUS_SHARED_TENSORS 2

struct cebus_optimizer {
    cebus_runtime *rt;
    uint64_t birth;            /**< tells optimizers apart, those that are gone, too */
    atomic_uint refs;          /**< the user's, and captures' */
    cebus_host_allocator host; /**< a copy: the runtime may go first */
    cebus_status (*update)(const cebus_optimizer *optimizer, const cebus_slot *slot, int64_t step);
    const cebus_optimizer_buffer *buffer_kinds;
    size_t n_buffers;
    union {
        cebus_sgd_options sgd;
        cebus_adam_options adam;
    } how;
    cebus_slot *slots;
    cebus_tensor *
        *held; /**< scratch of a step: for all slots there is room for, and what they share */
    const cebus_step_scaling *scaling; /**< only while a scaled step runs */
    size_t count, capacity;
    uint64_t crowded; /**< a budget in which not all of it could be held at once; 0: none yet */
};

#endif
