/**
 * plan_run.h: a plan of `cebus advise` run on paper, and printed.
 */
#ifndef PLAN_RUN_H
#define PLAN_RUN_H

#include "program.h"

/** On paper first; unless that is all that is asked for, by the runtime, too. What is wrong with
 * the plan is printed, and false returned. */
bool plan_run(const char *path, const struct program *trace, bool on_paper, bool json);

#endif
