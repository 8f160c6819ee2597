/**
 * sim.h: what a simulated device counts beside what every device does.
 */
#ifndef CEBUS_EAGER_DEVICE_SIM_SIM_H
#define CEBUS_EAGER_DEVICE_SIM_SIM_H

#include "eager/device/device.h"

/** Launches so far, by where their cost came from. */
typedef struct cebus_sim_counts {
    uint64_t profiled; /**< the measured profile */
    uint64_t said;     /**< the kernel: a custom op that says what it costs */
    uint64_t modelled; /**< the roofline */
} cebus_sim_counts;

/** `device` is one of cebus_device_sim's. */
cebus_sim_counts cebus_sim_counts_of(const cebus_device *device);

#endif
