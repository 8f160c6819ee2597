/**
 * settings.h: how runs are done, and where each setting comes from: the default, the environment
 * (CEBUS_POLICY, ...), or an option, which wins.
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

/** Bytes that no runtime does without. */
#define LEAST_BUDGET 4096

enum setting_key {
    SETTING_MACHINE,
    SETTING_BUDGET,
    SETTING_POLICY,
    SETTING_LAYOUT,
    SETTING_SWAP,
    SETTING_HOST_BUDGET,
    SETTING_ITERATIONS,
    SETTING_MARKS,
    SETTING_LEARN,
    SETTING_LIMIT,
    SETTING_PROFILE,
    SETTING_FORMAT,
    SETTING_COUNT
};

enum setting_origin {
    FROM_DEFAULT,
    FROM_ENVIRONMENT,
    FROM_OPTION,
};

struct setting {
    const char *text; /**< NULL: unset, where the default is none */
    enum setting_origin origin;
};

struct settings {
    struct setting of[SETTING_COUNT];
    bool json;
};

/** Defaults, then the environment. A wrong variable is printed, and false returned. */
bool settings_begin(struct settings *settings);

/** What is to be set for any run: as a child of a command's argp; its input is a struct settings.
 */
extern const struct argp machine_settings;
/** The budget and the policy of one run. */
extern const struct argp run_settings;
/** The one trace that a command takes; its input is a `const char *`, NULL so far. */
extern const struct argp trace_argument;
/** All three: the children of a command that runs a trace in one budget. */
extern const struct argp_child run_children[];
/** Their inputs, for the command's ARGP_KEY_INIT. `trace`: NULL so far. */
void run_children_begin(struct argp_state *state, struct settings *settings, const char **trace);

/** Name of a setting as an option is called, "host-budget". */
const char *setting_name(enum setting_key key);
/** Its environment variable, "CEBUS_HOST_BUDGET". */
const char *setting_variable(enum setting_key key);
/** "default", "environment" or "option". */
const char *setting_origin_name(enum setting_origin origin);

/** Values of checked settings. */
/** Passes, at most; `plan_swaps`: a plan that swaps is followed. Where nobody asked for a number it
 * is given time to settle. */
int settings_iterations(const struct settings *settings, bool plan_swaps);
double settings_limit(const struct settings *settings);

/** A checked budget in bytes: a size, or a percentage of `whole`. */
uint64_t settings_bytes(const char *text, uint64_t whole);

/** The argument of an option that names a file. "-" is refused: standard output has the results. */
const char *settings_file(const char *option, const char *argument, struct argp_state *state);

/** What is wrong with a value, in a sentence; NULL: nothing. Valid until the next call. */
const char *setting_problem(enum setting_key key, const char *text);

#endif
