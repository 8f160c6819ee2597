/**
 * test_device.h: the CPU device behind a deferred queue, with faults to order.
 *
 * Launches, copies and discards are queued and run late: each stream in order, the streams against
 * each other as chance will have it within what they were told to wait for. What touches bytes
 * after they were given up finds poison, what forgets to wait finds old bytes. The n-th
 * launch, copy or slab reservation can be made to fail, and memory to be short. Registered as
 * "test" by cebus_test_device_register(); its state is process-wide, for one runtime at a time.
 */
#ifndef CEBUS_TESTS_SUPPORT_TEST_DEVICE_H
#define CEBUS_TESTS_SUPPORT_TEST_DEVICE_H

#include "eager/device/device.h"

typedef struct cebus_test_device_faults {
    uint64_t launch_at; /**< 1: the next launch fails; 0: none does */
    uint64_t copy_at;
    uint64_t reserve_at;
    uint64_t slab_most; /**< bytes of the slab that others leave; 0: all */
    bool fired;         /**< a fault was delivered */
} cebus_test_device_faults;

extern cebus_test_device_faults cebus_test_faults;

/** True (the default): run launches late. False: at once, so that a kernel's own error is seen. */
void cebus_test_device_defer(bool deferred);

/** Adds device "test" to the registry; false when that is full. */
bool cebus_test_device_register(void);

#endif
