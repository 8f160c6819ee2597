/**
 * trial.h: a plan held against none, by the clock. Where the host runs ahead of its device nobody
 * counts what it waits for itself, which is most of what a program loses that copies at the moment
 * of need: there a plan that takes longer than foretold is set aside for a few iterations, once,
 * and comes back if they take longer still.
 */
#ifndef CEBUS_EAGER_GUIDANCE_TRIAL_H
#define CEBUS_EAGER_GUIDANCE_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cebus_trial {
    uint64_t planned_ns;   /**< the least that an iteration took while it was suspect */
    uint64_t unplanned_ns; /**< and since it was set aside */
    uint32_t suspect;      /**< iterations in a row */
    uint32_t unplanned;    /**< iterations since it was set aside */
    bool over;             /**< it was tried */
} cebus_trial;

typedef enum cebus_trial_outcome {
    CEBUS_TRIAL_GOES_ON,
    CEBUS_TRIAL_PLAN_WINS,
    CEBUS_TRIAL_NONE_WINS,
} cebus_trial_outcome;

/** An iteration by the plan took so long. True: it is to be set aside. */
bool cebus_trial_suspects(cebus_trial *trial, uint64_t took_ns, uint64_t foretold_ns);

/** The plan was set aside, and is not yet back, or given up. */
bool cebus_trial_runs(const cebus_trial *trial);
/** An iteration without it took so long. */
cebus_trial_outcome cebus_trial_compare(cebus_trial *trial, uint64_t took_ns);

#endif
