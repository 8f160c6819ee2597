/**
 * run.h: one run: a program, a machine, a policy, a budget, several passes, and what came of it.
 */
#ifndef RUN_H
#define RUN_H

#include <cebus/log.h>
#include <cebus/memory.h>

#include "replayer.h"
#include "settings.h"

/** Whoever wants to see what happens. Called in order, on the thread of the run. */
struct observer {
    /** `op` of the program is running; n_ops: between passes or at the end of one. */
    void (*event)(void *context, const cebus_event *event, size_t op);
    /** Pass number `pass`, from 0, begins now. NULL: nobody asks. */
    void (*pass)(void *context, int pass);
    void *context;
};

struct run_options {
    const struct settings *settings;
    const char *policy;
    const char *budget;              /**< as asked */
    uint64_t base_ns;                /**< of one pass without a budget: run_base() */
    const struct observer *observer; /**< NULL: nobody */
    const char *load_plan;           /**< a file of plans to be guided by; NULL: none */
    const char *save_plan;           /**< where the plans go in the end; NULL: nowhere */
};

struct run_result {
    struct run_options options;
    bool feasible;
    const char *reason; /**< why not: "out of memory", "thrashed"; else NULL */
    char oom[520];      /**< what did not fit; "" where all did */
    const char *layout; /**< in force; NULL: there was no runtime */
    uint64_t asked_bytes, budget_bytes;
    uint64_t peak_bytes;     /**< of all passes */
    int iterations;          /**< passes that there were to be */
    int passes;              /**< complete ones */
    uint64_t *pass_ns;       /**< device time of each */
    uint64_t host_ns;        /**< wall time of the last pass */
    char summary[512];       /**< of what planning brought; "" where nothing was */
    cebus_memory_stats last; /**< counters: of the last pass alone, complete or not */
};

/** The program of a trace, read in the format and with the costs of the profile that are set. What
 * is wrong is printed, and false returned. */
bool run_load(struct program *program, const char *trace, const struct settings *settings);

/** Device time of one pass when memory is no matter. Prints what fails. */
bool run_base(const struct program *program, const struct settings *settings, uint64_t *out_ns);

/** A run in the policy and the budget that are set, with its base_ns; nobody observes, and no plans
 * are read or written. Prints what fails. */
bool run_options_begin(struct run_options *options, const struct program *program,
                       const struct settings *settings);

/** A run. What does not fit, or takes too long, is a result. Anything else that fails is printed,
 * and false returned. Free the result in any case. */
bool run_program(const struct program *program, const struct run_options *options,
                 struct run_result *out);
void run_result_free(struct run_result *result);

#endif
