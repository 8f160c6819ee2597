/**
 * plan_launch.h: a plan of `cebus advise' run by the runtime: the trace is captured on the plan's
 * machine with memory in plenty, then launched in the plan's memory and by the plan.
 */
#ifndef PLAN_LAUNCH_H
#define PLAN_LAUNCH_H

#include "plan_file.h"

/** What a launch took and did, once launches repeat. */
struct plan_measure {
    uint64_t ns; /**< device time */
    uint64_t peak_bytes;
    uint64_t missed; /**< places that were taken */
    uint64_t replays, swap_ins, swap_outs;
};

/** What is wrong is printed, and false returned. */
bool plan_launch(const struct program *trace, const struct plan_program *program,
                 const struct plan_file *file, const cebus_advise_link *link,
                 struct plan_measure *out);

#endif
