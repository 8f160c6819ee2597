/**
 * plan_program.h: a trace as cebus_advise() wants it, and the machine that plans are for.
 */
#ifndef PLAN_PROGRAM_H
#define PLAN_PROGRAM_H

#include <cebus/advise.h>

#include "program.h"

struct plan_program {
    cebus_advise_program program;
    cebus_advise_value *values; /**< storages of the trace */
    cebus_advise_call *calls;   /**< its ops */
};

/** `trace` is borrowed. */
void plan_program_make(const struct program *trace, struct plan_program *out);
void plan_program_free(struct plan_program *program);

/** The link of a machine, and bytes from a text ("50%" of its memory; NULL: all of it). What is
 * wrong is printed, and false returned. */
bool plan_machine(const char *machine, const char *memory, cebus_advise_link *out_link,
                  uint64_t *out_memory);

#endif
