/**
 * result.h: the result of a run, as JSON and as a table.
 */
#ifndef RESULT_H
#define RESULT_H

#include <jansson.h>

#include "run.h"

/** Time of the last pass / time of one without a budget; NAN when infeasible. */
double result_overhead(const struct run_result *result);

/** All of it. A new reference; never NULL. */
json_t *result_json(const struct program *program, const struct run_result *result);

/** One line on standard output. Takes the reference. False when it cannot be written (printed). */
bool json_print_line(json_t *json);
/** As json_object_set_new(), but without memory the program ends. */
void json_put(json_t *object, const char *key, json_t *value);
/** A number; beyond what JSON can tell, the largest that it can. */
void json_put_number(json_t *object, const char *key, uint64_t number);
/** A string as its user gave it, a file's name say: "(not UTF-8)" where it is not. NULL is null. */
json_t *json_text(const char *text);
void json_put_text(json_t *object, const char *key, const char *text);

/** One run, a figure a line. */
void result_print(const struct program *program, const struct run_result *result);
/** The head of a table with a run a line, and a line of it. */
void result_print_head(const struct program *program, const struct run_result *result);
void result_print_line(const struct run_result *result);

#endif
