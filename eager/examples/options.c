#include "options.h"

#include <cebus/cebus.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_BUDGET = 0x100,
    KEY_POLICY,
    KEY_SPILL,
    KEY_ESTIMATE,
    KEY_ALONE,
    KEY_STEPS,
    KEY_SEED,
    KEY_THREADS,
    KEY_JSON,
};

static const struct argp_option described[] = {
    {NULL, 0, NULL, 0, "Memory:", 1},
    {"budget", KEY_BUDGET, "SIZE", 0,
     "memory to train in: 300MiB, 2GB, 40% of the peak without a budget (default), or unlimited",
     0},
    {"policy", KEY_POLICY, "NAME", 0,
     "how to choose what is given up: cebus (default), coop, dtr, dte, lru or another policy", 0},
    {"spill", KEY_SPILL, "SIZE", 0,
     "let values, parameters too, wait in a file of so many bytes (in $TMPDIR or /var/tmp)", 0},
    {"estimate", KEY_ESTIMATE, NULL, 0,
     "choose by estimated, not measured, costs: the same evictions in every run", 0},
    {"no-reference", KEY_ALONE, NULL, 0, "skip the run without a budget, compare nothing", 0},
    {NULL, 0, NULL, 0, "Training:", 2},
    {"steps", KEY_STEPS, "N", 0, "training steps", 0},
    {"seed", KEY_SEED, "N", 0, "of parameters, data and dropout (default 0)", 0},
    {"threads", KEY_THREADS, "N", 0, "of the kernels (default: all cores); decides bits", 0},
    {NULL, 0, NULL, 0, "Output:", 3},
    {"json", KEY_JSON, NULL, 0, "print one JSON object, not a table", 0},
    {NULL, 0, NULL, 0, "Help:", -1},
    {0},
};

int64_t option_number(struct argp_state *state, const char *name, const char *text, int64_t low,
                      int64_t high)
{
    char *end;
    errno = 0;
    intmax_t value = strtoimax(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < low || value > high)
        argp_error(state, "--%s is a whole number from %" PRId64 " to %" PRId64 ", not \"%s\"",
                   name, low, high, text);
    return value;
}

/* Whether --budget names a size. What a percentage is of will only be measured: any whole serves.
 */
static const char *checked_budget(struct argp_state *state, const char *text)
{
    uint64_t bytes;
    if (strcmp(text, "unlimited") == 0 || strcmp(text, "none") == 0)
        return NULL;
    if (cebus_size_parse(text, UINT64_C(1) << 30, &bytes))
        argp_error(state, "--budget: %s", cebus_last_error()->message);
    else if (bytes == 0)
        argp_error(state, "--budget: nothing trains in %s", text);
    return text;
}

static uint64_t checked_spill(struct argp_state *state, const char *text)
{
    uint64_t bytes = 0;
    if (strchr(text, '%') != NULL)
        argp_error(state, "--spill: %s is a share of nothing; give bytes, as in 2GiB", text);
    else if (cebus_size_parse(text, 0, &bytes))
        argp_error(state, "--spill: %s", cebus_last_error()->message);
    return bytes;
}

static void check_policy(struct argp_state *state, const char *name)
{
    const char *known;
    for (size_t i = 0; (known = cebus_policy_name(i)) != NULL; i++) {
        if (strcmp(known, name) == 0)
            return;
    }
    argp_error(state, "--policy: no policy \"%s\"; --help lists them", name);
}

/* What only shows once all options are read. */
static void check_together(struct argp_state *state, const struct options *options)
{
    if (options->no_reference && options->budget != NULL && strchr(options->budget, '%') != NULL)
        argp_error(state,
                   "--budget %s is a share of what the reference run needs: "
                   "give it in bytes or leave out --no-reference",
                   options->budget);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_BUDGET:
        options->budget = checked_budget(state, argument);
        return 0;
    case KEY_POLICY:
        check_policy(state, argument);
        options->policy = argument;
        return 0;
    case KEY_SPILL:
        options->spill = checked_spill(state, argument);
        return 0;
    case KEY_ESTIMATE:
        options->estimate = true;
        return 0;
    case KEY_STEPS:
        options->steps = (int)option_number(state, "steps", argument, 1, 1000000);
        return 0;
    case KEY_SEED:
        options->seed = (uint64_t)option_number(state, "seed", argument, 0, INT64_MAX);
        return 0;
    case KEY_THREADS:
        options->threads = (int)option_number(state, "threads", argument, 1, 4096);
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_ALONE:
        options->no_reference = true;
        return 0;
    case ARGP_KEY_END:
        check_together(state, options);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp shared_options = {.options = described, .parser = parse};
