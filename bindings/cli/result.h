/**
 * result.h: the result of a run, as JSON and as a table.
 */
#ifndef RESULT_H
#define RESULT_H

#include "json.h"
#include "run.h"

/** Time of the last pass / time of one without a budget; NAN when infeasible. */
double result_overhead(const struct run_result *result);

/** All of it. A new reference; never NULL. */
json_t *result_json(const struct program *program, const struct run_result *result);

/** One run, a figure a line. */
void result_print(const struct program *program, const struct run_result *result);
/** The head of a table with a run a line, and a line of it. */
void result_print_head(const struct program *program, const struct run_result *result);
void result_print_line(const struct run_result *result);

#endif
