/**
 * plan_file.h: plans for iterations as files: what `cebus advise` writes and `cebus replay --plan`
 * reads.
 *
 *     {"cebus_plan": 1, "machine": "v100-16g", "program": "9f3c...", "memory": 17179869184,
 *      "time_ns": 1, "ideal_ns": 1, "height": 1, "steps": [[CALL, AGAIN], ...],
 *      "copies": [[VALUE, IN, AFTER, BEFORE], ...],
 *      "blocks": [[VALUE, OFFSET, BYTES, BORN, BORN_AT, DIES, DIES_AT], ...]}
 *
 * Numbers as in <cebus/advise.h>; calls and values count from 0 in the order of the trace; -1 is
 * the scratch of a step. `program` tells which trace the plan is for.
 */
#ifndef PLAN_FILE_H
#define PLAN_FILE_H

#include "plan_program.h"

struct plan_file {
    cebus_advice plan; /**< arrays are this file's */
    char machine[256];
};

/** What goes wrong is printed, and false returned. "-" is standard output. */
bool plan_file_write(const char *path, const char *machine, const struct plan_program *program,
                     const cebus_advice *plan);

/** Reads a plan for a program. What is wrong with it, a plan for another program included, is
 * printed, and false returned. Free it in any case. */
bool plan_file_read(const char *path, const struct plan_program *program, struct plan_file *out);
void plan_file_free(struct plan_file *file);

#endif
