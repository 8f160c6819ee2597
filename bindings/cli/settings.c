#include "settings.h"

#include <cebus/runtime.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"
#include "message.h"

/** What a percentage is of is known later: any whole serves to check one. */
#define ANY_WHOLE (UINT64_C(1) << 40)

enum {
    KEY_COMMODITY = 0x200,
    KEY_JSON,
    KEY_FIRST, /**< + setting_key */
    MOST_ITERATIONS = 1000,
    SETTLING_ITERATIONS = 16,
};

static _Thread_local char problem[600];

__attribute__((format(printf, 1, 2))) static const char *say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(problem, sizeof problem, format, arguments);
    va_end(arguments);
    return problem;
}

static const char *check_size(const char *text)
{
    uint64_t bytes;
    if (cebus_size_parse(text, ANY_WHOLE, &bytes) != CEBUS_OK)
        return say("%s", cebus_last_error()->message);
    return bytes > 0 ? NULL : say("nothing runs in %.80s", text);
}

static const char *check_budget(const char *text)
{
    uint64_t bytes = 0;
    const char *wrong = check_size(text);
    if (wrong == NULL && strchr(text, '%') == NULL &&
        cebus_size_parse(text, 0, &bytes) == CEBUS_OK && bytes < LEAST_BUDGET)
        return say("%.80s are fewer bytes than any program needs (4 KiB); a share of what the "
                   "trace needs at most ends in %%",
                   text);
    return wrong;
}

/** One of the names that there are, or `also`. */
static const char *check_name(const char *text, const char *what, const char *also,
                              const char *(*name_at)(size_t i))
{
    char names[300];
    const char *known;
    snprintf(names, sizeof names, "%s", also);
    if (strcmp(text, also) == 0)
        return NULL;
    for (size_t i = 0; (known = name_at(i)) != NULL; i++) {
        size_t used = strlen(names);
        if (strcmp(known, text) == 0)
            return NULL;
        snprintf(names + used, sizeof names - used, ", %s", known);
    }
    return say("no %s \"%.80s\"; there are %s", what, text, names);
}

static const char *check_one_of(const char *text, const char *a, const char *b)
{
    if (strcmp(text, a) == 0 || strcmp(text, b) == 0)
        return NULL;
    return say("\"%.80s\" is neither %s nor %s", text, a, b);
}

static const char *check_number(const char *text, double low, double high, bool whole)
{
    char *end;
    errno = 0;
    double number = strtod(text, &end);
    bool good = end != text && *end == '\0' && errno == 0 && number >= low && number <= high;
    if (good && (!whole || number == (double)(long)number))
        return NULL;
    return say("\"%.80s\" is not a %snumber from %g to %g", text, whole ? "whole " : "", low, high);
}

const char *setting_problem(enum setting_key key, const char *text)
{
    switch (key) {
    case SETTING_MACHINE:
        return machine_problem(text);
    case SETTING_HOST_BUDGET:
        if (strchr(text, '%') != NULL)
            return say("%.80s is a share of nothing; give bytes, as in 8GiB", text);
        return check_size(text);
    case SETTING_BUDGET:
        return check_budget(text);
    case SETTING_POLICY:
        return check_name(text, "policy", "all", cebus_policy_name);
    case SETTING_LAYOUT:
        return check_name(text, "layout", "auto", cebus_layout_name);
    case SETTING_SWAP:
    case SETTING_MARKS:
        return check_one_of(text, "on", "off");
    case SETTING_LEARN:
        return check_one_of(text, "budget", "ample");
    case SETTING_ITERATIONS:
        return check_number(text, 1, MOST_ITERATIONS, true);
    case SETTING_LIMIT:
        return check_number(text, 1, 1e6, false);
    case SETTING_FORMAT:
        return check_one_of(text, "cebus", "dtr");
    case SETTING_PROFILE:
    case SETTING_COUNT:
        break;
    }
    return *text != '\0' ? NULL : "the name is empty";
}

/** In the order of the keys. */
static const struct {
    const char *name, *variable, *fallback;
} known[SETTING_COUNT] = {
    {"machine", "CEBUS_MACHINE", "titanv-12g"},
    {"budget", "CEBUS_BUDGET", "100%"},
    {"policy", "CEBUS_POLICY", "coop"},
    {"layout", "CEBUS_LAYOUT", "auto"},
    {"swap", "CEBUS_SWAP", NULL},
    {"host-budget", "CEBUS_HOST_BUDGET", NULL},
    {"iterations", "CEBUS_ITERATIONS", "3"},
    {"marks", "CEBUS_MARKS", "on"},
    {"learn", "CEBUS_LEARN", "budget"},
    {"limit", "CEBUS_LIMIT", "10"},
    {"profile", "CEBUS_PROFILE", NULL},
    {"format", "CEBUS_FORMAT", NULL},
};

static const struct argp_option machine_options[] = {
    {NULL, 0, NULL, 0, "The machine:", 1},
    {"machine", KEY_FIRST + SETTING_MACHINE, "NAME", 0,
     "the machine to simulate: titanv-12g (default) or another that `cebus info' lists; changes "
     "follow after commas, as in titanv-12g,link=25GB",
     0},
    {"layout", KEY_FIRST + SETTING_LAYOUT, "NAME", 0,
     "how places in memory are chosen: a layout that `cebus info' lists, or auto (default), the "
     "one that suits the policy; commodity counts bytes and has no places",
     0},
    {"commodity", KEY_COMMODITY, NULL, 0, "the same as --layout commodity", 0},
    {"swap", KEY_FIRST + SETTING_SWAP, "on|off", 0,
     "whether values may wait in host memory instead of being made again (default: as the policy "
     "was published)",
     0},
    {"host-budget", KEY_FIRST + SETTING_HOST_BUDGET, "SIZE", 0,
     "host memory for values that are swapped (default: half of what the machine has)", 0},
    {"profile", KEY_FIRST + SETTING_PROFILE, "FILE", 0,
     "measured costs, written by `cebus profile', that replace those of the trace", 0},
    {NULL, 0, NULL, 0, "The runs:", 2},
    {"iterations", KEY_FIRST + SETTING_ITERATIONS, "N", 0,
     "passes over the trace; the last one is reported (default 3: policies that plan have seen a "
     "whole pass by the second; 16 where their plans swap: some are tried against others first)",
     0},
    {"marks", KEY_FIRST + SETTING_MARKS, "on|off", 0,
     "on (default): the program marks the end of each iteration; off: the runtime finds the ends "
     "by itself, which takes four passes",
     0},
    {"learn", KEY_FIRST + SETTING_LEARN, "budget|ample", 0,
     "how policies that plan see the program first: in the budget (default), as in a program that "
     "starts there, or in extra passes before, with as much memory as it wants",
     0},
    {"limit", KEY_FIRST + SETTING_LIMIT, "X", 0,
     "a pass that takes more than X times its time without a budget is given up, the first of "
     "several, and one in which a first plan comes into force, at twice that; and any in which one "
     "call takes half of X by itself (default 10)",
     0},
    {"format", KEY_FIRST + SETTING_FORMAT, "NAME", 0,
     "the format of the trace: cebus or dtr (default: told from its first line; cebus for a pipe)",
     0},
    {NULL, 0, NULL, 0, "Output:", 3},
    {"json", KEY_JSON, NULL, 0, "one JSON object a line, not a table", 0},
    {NULL, 0, NULL, 0, "Help:", -1},
    {0},
};

static const struct argp_option run_options[] = {
    {"budget", KEY_FIRST + SETTING_BUDGET, "SIZE", 0,
     "memory to run in: 6GiB, 300MB, 1048576, or 40% of what the trace needs at most (default "
     "100%)",
     0},
    {"policy", KEY_FIRST + SETTING_POLICY, "NAME", 0,
     "how to choose what is given up; all: one run with each (default: coop; of `cebus plan', "
     "cebus)",
     0},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct settings *settings = state->input;
    if (key == KEY_COMMODITY) {
        settings->of[SETTING_LAYOUT] = (struct setting){"commodity", FROM_OPTION};
        return 0;
    }
    if (key == KEY_JSON) {
        settings->json = true;
        return 0;
    }
    if (key < KEY_FIRST || key >= KEY_FIRST + SETTING_COUNT)
        return ARGP_ERR_UNKNOWN;
    enum setting_key which = (enum setting_key)(key - KEY_FIRST);
    const char *wrong = setting_problem(which, argument);
    if (wrong != NULL)
        argp_error(state, "--%s: %s", known[which].name, wrong);
    settings->of[which] = (struct setting){argument, FROM_OPTION};
    return 0;
}

const struct argp machine_settings = {.options = machine_options, .parser = parse};
const struct argp run_settings = {.options = run_options, .parser = parse};

static error_t parse_trace(int key, char *argument, struct argp_state *state)
{
    const char **trace = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*trace != NULL)
            argp_error(state, "one trace at a time: \"%s\" is too much", argument);
        *trace = argument;
        return 0;
    case ARGP_KEY_END:
        if (*trace == NULL)
            argp_error(state, "which trace? Name a file (-: standard input)");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp trace_argument = {.parser = parse_trace};

const struct argp_child run_children[] = {
    {.argp = &run_settings}, {.argp = &machine_settings}, {.argp = &trace_argument}, {0}};

void run_children_begin(struct argp_state *state, struct settings *settings, const char **trace)
{
    state->child_inputs[0] = state->child_inputs[1] = settings;
    state->child_inputs[2] = trace;
}

bool settings_begin(struct settings *settings)
{
    *settings = (struct settings){0};
    for (int k = 0; k < SETTING_COUNT; k++) {
        const char *given = getenv(known[k].variable);
        settings->of[k].text = known[k].fallback;
        if (given == NULL)
            continue;
        const char *wrong = setting_problem((enum setting_key)k, given);
        if (wrong != NULL) {
            complain("the environment's %s: %s", known[k].variable, wrong);
            return false;
        }
        settings->of[k] = (struct setting){given, FROM_ENVIRONMENT};
    }
    return true;
}

const char *setting_name(enum setting_key key)
{
    return known[key].name;
}

const char *setting_variable(enum setting_key key)
{
    return known[key].variable;
}

const char *setting_origin_name(enum setting_origin origin)
{
    static const char *const names[] = {"default", "environment", "option"};
    return names[origin];
}

int settings_iterations(const struct settings *settings, bool plan_swaps)
{
    const struct setting *setting = &settings->of[SETTING_ITERATIONS];
    if (plan_swaps && setting->origin == FROM_DEFAULT)
        return SETTLING_ITERATIONS;
    return (int)strtol(setting->text, NULL, 10);
}

double settings_limit(const struct settings *settings)
{
    return strtod(settings->of[SETTING_LIMIT].text, NULL);
}

uint64_t settings_bytes(const char *text, uint64_t whole)
{
    uint64_t bytes = 0;
    if (cebus_size_parse(text, whole, &bytes) != CEBUS_OK)
        complain_cebus(text);
    return bytes;
}

const char *settings_file(const char *option, const char *argument, struct argp_state *state)
{
    if (strcmp(argument, "-") == 0)
        argp_error(state, "--%s: \"-\" is no file, and standard output has the results", option);
    if (*argument == '\0')
        argp_error(state, "--%s: name a file", option);
    return argument;
}
