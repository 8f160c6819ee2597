/**
 * sweep.c: a trace at many budgets under several policies: a table, lines of JSON, a plot.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "budgets.h"
#include "command.h"
#include "message.h"
#include "numbers.h"
#include "result.h"
#include "svg.h"
#include "text.h"

enum {
    KEY_BUDGETS = 0x100,
    KEY_POLICIES,
    KEY_SVG,
    KEY_BOUNDS,
    MOST_POLICIES = 64,
    MOST_JOBS = 256,
};

struct sweep {
    struct settings settings;
    const char *trace, *svg, *bounds_path;
    struct budgets budgets;
    const char *policies[MOST_POLICIES];
    char *policies_text; /**< they point in here */
    size_t n_policies;
    int jobs;
    struct program program;
    struct bounds bounds;
    uint64_t base_ns;
    struct run_result *results; /**< [budget][policy] */
    size_t next;                /**< of the runs not begun */
    bool failed;
    pthread_mutex_t lock; /**< of next and failed */
};

static const struct argp_option options[] = {
    {"budgets", KEY_BUDGETS, "LIST", 0,
     "sizes and ranges, after commas: 90%..5%:5% (default 90%..10%:10%)", 3},
    {"policies", KEY_POLICIES, "LIST", 0, "names after commas, or all (default coop)", 3},
    {"svg", KEY_SVG, "FILE", 0, "draw overhead against budget", 3},
    {"bounds", KEY_BOUNDS, "FILE", 0, "lower bounds to show beside (tests/bench/lower_bound.py)",
     3},
    {"jobs", 'j', "N", 0, "runs at the same time (default 1)", 3},
    {0},
};

static void add_policy(struct sweep *sweep, const char *name)
{
    for (size_t i = 0; i < sweep->n_policies; i++) {
        if (strcmp(sweep->policies[i], name) == 0)
            return;
    }
    if (sweep->n_policies < MOST_POLICIES)
        sweep->policies[sweep->n_policies++] = name;
}

static void read_policies(struct sweep *sweep, const char *text, struct argp_state *state)
{
    char *rest, *name;
    free(sweep->policies_text);
    sweep->n_policies = 0;
    sweep->policies_text = take_text(text);
    for (name = strtok_r(sweep->policies_text, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        const char *known, *wrong = setting_problem(SETTING_POLICY, name);
        if (wrong != NULL)
            argp_error(state, "--policies: %s", wrong);
        for (size_t i = 0; strcmp(name, "all") == 0 && (known = cebus_policy_name(i)) != NULL; i++)
            add_policy(sweep, known);
        if (strcmp(name, "all") != 0)
            add_policy(sweep, name);
    }
    if (sweep->n_policies == 0)
        argp_error(state, "--policies: no name in \"%s\"", text);
}

static void read_budgets(struct sweep *sweep, const char *text, struct argp_state *state)
{
    budgets_free(&sweep->budgets);
    const char *wrong = budgets_parse(text, &sweep->budgets);
    if (wrong != NULL)
        argp_error(state, "--budgets: %s", wrong);
}

static void complete(struct sweep *sweep, struct argp_state *state)
{
    if (sweep->budgets.count == 0)
        read_budgets(sweep, "90%..10%:10%", state);
    if (sweep->n_policies == 0)
        read_policies(sweep, sweep->settings.of[SETTING_POLICY].text, state);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct sweep *sweep = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &sweep->settings;
        state->child_inputs[1] = &sweep->trace;
        return 0;
    case KEY_BUDGETS:
        read_budgets(sweep, argument, state);
        return 0;
    case KEY_POLICIES:
        read_policies(sweep, argument, state);
        return 0;
    case KEY_SVG:
        sweep->svg = settings_file("svg", argument, state);
        return 0;
    case KEY_BOUNDS:
        sweep->bounds_path = argument;
        return 0;
    case 'j':
        sweep->jobs = (int)number_count("jobs", argument, 1, MOST_JOBS, state);
        return 0;
    case ARGP_KEY_END:
        complete(sweep, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {
    {.argp = &machine_settings}, {.argp = &trace_argument}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "TRACE",
    .children = children,
    .doc = "Runs a trace at many budgets: overhead against budget, for each policy, as a table, as "
           "lines of JSON, or as a plot." COMMAND_EXIT_STATUS,
};

/* --- running --------------------------------------------------------------------------------- */

/** Claims the next run; false when there is none, or one failed. */
static bool claim(struct sweep *sweep, size_t *out)
{
    pthread_mutex_lock(&sweep->lock);
    bool more = !sweep->failed && sweep->next < sweep->budgets.count * sweep->n_policies;
    *out = sweep->next;
    sweep->next += more;
    pthread_mutex_unlock(&sweep->lock);
    return more;
}

static void *work(void *context)
{
    size_t i;
    struct sweep *sweep = context;
    while (claim(sweep, &i)) {
        struct run_options run_options = {
            .settings = &sweep->settings,
            .policy = sweep->policies[i % sweep->n_policies],
            .budget = sweep->budgets.texts[i / sweep->n_policies],
            .base_ns = sweep->base_ns,
        };
        if (!run_program(&sweep->program, &run_options, &sweep->results[i])) {
            pthread_mutex_lock(&sweep->lock);
            sweep->failed = true;
            pthread_mutex_unlock(&sweep->lock);
        }
    }
    return NULL;
}

/** Runtimes share nothing, and a program is only read: any number of runs at once. */
static bool run_all(struct sweep *sweep)
{
    pthread_t workers[MOST_JOBS];
    int started = 0;
    size_t count = sweep->budgets.count * sweep->n_policies;
    sweep->results = take(NULL, count, sizeof *sweep->results);
    memset(sweep->results, 0, count * sizeof *sweep->results);
    while (started + 1 < sweep->jobs && (size_t)started + 1 < count &&
           pthread_create(&workers[started], NULL, work, sweep) == 0)
        started++;
    work(sweep);
    for (int i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    return !sweep->failed;
}

/* --- what comes out -------------------------------------------------------------------------- */

static const struct run_result *result_at(const struct sweep *sweep, size_t budget, size_t policy)
{
    return &sweep->results[budget * sweep->n_policies + policy];
}

static const struct bound *bound_at(const struct sweep *sweep, size_t budget)
{
    return bounds_find(&sweep->bounds, result_at(sweep, budget, 0)->asked_bytes);
}

static bool print_json(const struct sweep *sweep)
{
    for (size_t b = 0; b < sweep->budgets.count; b++) {
        for (size_t p = 0; p < sweep->n_policies; p++) {
            json_t *json = result_json(&sweep->program, result_at(sweep, b, p));
            const struct bound *bound = bound_at(sweep, b);
            if (bound != NULL)
                json_put(json, "bound",
                         isfinite(bound->overhead) ? json_real(bound->overhead) : json_null());
            if (!json_print_line(json))
                return false;
        }
    }
    return true;
}

/** An overhead, or why there is none. */
static void print_cell(const struct run_result *result)
{
    if (result->feasible)
        printf(" %10.4f", result_overhead(result));
    else
        printf(" %10s", strcmp(result->reason, "thrashed") == 0 ? "thrashed" : "oom");
}

static void print_bound(const struct bound *bound)
{
    if (bound == NULL)
        printf(" %10s", "");
    else if (isfinite(bound->overhead))
        printf(" %10.4f", bound->overhead);
    else
        printf(" %10s", "oom");
}

static void print_table(const struct sweep *sweep)
{
    char text[TEXT_BYTES], time[TEXT_BYTES];
    const struct program_figures *figures = &sweep->program.figures;
    printf("%s: %zu calls, %s without a budget in %s; floor %.1f%%\n", sweep->trace,
           sweep->program.n_ops, text_ns(sweep->base_ns, time),
           text_bytes(figures->peak_bytes, text),
           100 * (double)figures->floor_bytes / (double)figures->peak_bytes);
    printf("machine %s, layout %s; overhead = time / time without a budget\n\n",
           sweep->settings.of[SETTING_MACHINE].text, sweep->settings.of[SETTING_LAYOUT].text);
    printf("%-10s %12s", "budget", "bytes");
    for (size_t p = 0; p < sweep->n_policies; p++)
        printf(" %10s", sweep->policies[p]);
    printf(sweep->bounds_path != NULL ? " %10s\n" : "\n", "bound");
    for (size_t b = 0; b < sweep->budgets.count; b++) {
        printf("%-10s %12s", sweep->budgets.texts[b],
               text_bytes(result_at(sweep, b, 0)->asked_bytes, text));
        for (size_t p = 0; p < sweep->n_policies; p++)
            print_cell(result_at(sweep, b, p));
        if (sweep->bounds_path != NULL)
            print_bound(bound_at(sweep, b));
        putchar('\n');
    }
}

static int by_x(const void *a, const void *b)
{
    const struct svg_point *x = a, *y = b;
    return x->x < y->x ? -1 : x->x > y->x;
}

static double percent(const struct sweep *sweep, uint64_t bytes)
{
    return 100 * (double)bytes / (double)sweep->program.figures.peak_bytes;
}

/** Bounds are drawn where the runs are, not all that the file has. */
static size_t bound_points(const struct sweep *sweep, struct svg_point *points)
{
    size_t n = 0;
    for (size_t b = 0; b < sweep->budgets.count; b++) {
        const struct bound *bound = bound_at(sweep, b);
        if (bound != NULL)
            points[n++] = (struct svg_point){percent(sweep, result_at(sweep, b, 0)->asked_bytes),
                                             bound->overhead};
    }
    return n;
}

static bool draw(const struct sweep *sweep)
{
    char subtitle[160], title[128], peak[TEXT_BYTES];
    size_t budgets = sweep->budgets.count, n = sweep->n_policies;
    struct svg_point *points = take(NULL, (n + 1) * budgets, sizeof *points);
    struct svg_line lines[MOST_POLICIES + 1];
    for (size_t p = 0; p < n; p++) {
        struct svg_point *own = points + p * budgets;
        for (size_t b = 0; b < budgets; b++) {
            const struct run_result *result = result_at(sweep, b, p);
            own[b] =
                (struct svg_point){percent(sweep, result->asked_bytes), result_overhead(result)};
        }
        qsort(own, budgets, sizeof *own, by_x);
        lines[p] = (struct svg_line){sweep->policies[p], own, budgets, false};
    }
    struct svg_point *own = points + n * budgets;
    size_t count = bound_points(sweep, own);
    qsort(own, count, sizeof *own, by_x);
    lines[n] = (struct svg_line){"lower bound", own, count, true};
    const char *name = strrchr(sweep->trace, '/');
    snprintf(title, sizeof title, "%s", name != NULL ? name + 1 : sweep->trace);
    snprintf(subtitle, sizeof subtitle, "%zu calls, %s without a budget; %.60s, layout %s",
             sweep->program.n_ops, text_bytes(sweep->program.figures.peak_bytes, peak),
             sweep->settings.of[SETTING_MACHINE].text, sweep->settings.of[SETTING_LAYOUT].text);
    bool good = svg_write(
        sweep->svg, &(struct svg_plot){title, subtitle, lines, n + (sweep->bounds_path != NULL)});
    free(points);
    return good;
}

static bool load(struct sweep *sweep)
{
    return spares(sweep->svg, sweep->trace, "the trace") &&
           run_load(&sweep->program, sweep->trace, &sweep->settings) &&
           (sweep->bounds_path == NULL || bounds_read(sweep->bounds_path, &sweep->bounds));
}

static bool sweep_all(struct sweep *sweep)
{
    if (!load(sweep) || !run_base(&sweep->program, &sweep->settings, &sweep->base_ns) ||
        !run_all(sweep))
        return false;
    if (sweep->settings.json && !print_json(sweep))
        return false;
    if (!sweep->settings.json)
        print_table(sweep);
    return sweep->svg == NULL || draw(sweep);
}

int command_sweep(int argc, char **argv)
{
    struct sweep sweep = {.jobs = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (!settings_begin(&sweep.settings))
        return EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &sweep);
    bool good = sweep_all(&sweep);
    for (size_t i = 0; sweep.results != NULL && i < sweep.budgets.count * sweep.n_policies; i++)
        run_result_free(&sweep.results[i]);
    free(sweep.results);
    free(sweep.policies_text);
    budgets_free(&sweep.budgets);
    bounds_free(&sweep.bounds);
    program_free(&sweep.program);
    return good ? 0 : EXIT_WRONG;
}
