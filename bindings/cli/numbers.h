/**
 * numbers.h: options whose argument is a number. One that makes no sense ends the program, with a
 * sentence that names the option.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <argp.h>
#include <stdint.h>

/** A whole number from `least` to `most`. */
uint64_t number_count(const char *option, const char *text, uint64_t least, uint64_t most,
                      struct argp_state *state);
/** More than 0 seconds, as in 1.5. */
double number_seconds(const char *option, const char *text, struct argp_state *state);

#endif
