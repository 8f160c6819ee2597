/**
 * options.h: the command line that the examples share.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/** What every example can be told. Set the defaults, then parse. */
struct options {
    const char *budget; /**< a size for cebus_size_parse(); NULL: unlimited */
    const char *policy; /**< of evictions; NULL: the library's choice */
    uint64_t spill;     /**< bytes of the spill file; 0: none, nothing is swapped by order */
    int steps;
    int threads; /**< 0: all cores */
    uint64_t seed;
    bool estimate; /**< evict by estimated costs: the same evictions in every run */
    bool json;
    bool no_reference; /**< train under the budget only */
};

/** Parses them, as a child of the example's own argp; its input is a struct options. */
extern const struct argp shared_options;

/** Exit status of a run with a wrong option. */
enum {
    EXIT_USAGE = 2
};

/** The number in `text`, the argument of --name; outside of [low, high] it is a usage error. */
int64_t option_number(struct argp_state *state, const char *name, const char *text, int64_t low,
                      int64_t high);

#endif
