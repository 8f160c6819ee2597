/**
 * plan_run.h: a plan of `cebus advise` run on paper, and printed.
 */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

#include "program.h"

/** What is wrong with the plan is printed, and false returned. */
bool plan_run(const char *path, const struct program *trace, bool json);

#endif
