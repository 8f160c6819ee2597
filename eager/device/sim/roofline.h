/**
 * roofline.h: the time of a launch on a machine (Williams, Waterman and Patterson, "Roofline",
 * 2009):
 *
 *     launch + max(flops / (rate x share), bytes / (bandwidth x share))
 *
 * The shares of the advertised rates that kernels reach are one table, a line a family; README.md
 * says where each comes from.
 */
#ifndef CEBUS_EAGER_DEVICE_SIM_ROOFLINE_H
#define CEBUS_EAGER_DEVICE_SIM_ROOFLINE_H

#include "eager/device/sim/machine.h"
#include "eager/device/sim/work.h"

/** What the arithmetic of a launch is done by. */
typedef enum cebus_unit_kind {
    CEBUS_UNIT_F32,
    CEBUS_UNIT_F64,
    CEBUS_UNIT_TF32,
    CEBUS_UNIT_HALF,
    CEBUS_UNIT_KINDS,
} cebus_unit_kind;

/** Thousandths of the advertised rates. */
typedef struct cebus_share {
    uint16_t flops, tensor_flops, bandwidth;
} cebus_share;

extern const cebus_share cebus_roofline_shares[CEBUS_WORK_FAMILIES];

/** The rates of a machine by family, shares taken. */
typedef struct cebus_roofline {
    uint64_t flops[CEBUS_WORK_FAMILIES][CEBUS_UNIT_KINDS]; /**< operations/s */
    uint64_t bandwidth[CEBUS_WORK_FAMILIES];               /**< bytes/s */
    uint64_t launch_ns;
    bool tf32; /**< products of f32 run in tf32 */
} cebus_roofline;

void cebus_roofline_init(cebus_roofline *roofline, const cebus_machine *machine);

/** ns of work on elements of `dtype`. */
uint64_t cebus_roofline_time(const cebus_roofline *roofline, const cebus_work *work,
                             cebus_dtype dtype);
/** ns of a copy of `bytes` from device memory to device memory. */
uint64_t cebus_roofline_copy_time(const cebus_roofline *roofline, uint64_t bytes);

#endif
