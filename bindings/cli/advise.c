/**
 * advise.c: a plan for an iteration that repeats, searched.
 */
#include <cebus/advise.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "message.h"
#include "numbers.h"
#include "output.h"
#include "plan_file.h"
#include "plan_program.h"
#include "result.h"
#include "settings.h"
#include "svg.h"
#include "text.h"

enum {
    KEY_SEED = 0x100,
    KEY_STEPS,
    KEY_THREADS,
    KEY_FIX,
    KEY_PUBLISHED,
    KEY_JSON,
    KEY_FORMAT,
    KEY_SVG,
};

#define DEFAULT_SECONDS 60.0
/** Points of the plot at most; then every second one goes. */
#define MAX_POINTS 4096

struct advise {
    const char *input, *output, *machine, *format, *svg, *memory;
    cebus_advise_options how;
    double seconds, start, shown;
    bool json, quiet;
    uint64_t ideal_ns;
    struct svg_point *points;
    size_t n_points, points_room;
};

static const struct argp_option options[] = {
    {"machine", 'm', "NAME", 0, "a simulated machine, as in v100-16g or v100-16g,link=25GB", 0},
    {"memory", 'b', "BYTES", 0, "of the device, as in 12GiB (default: the machine's)", 0},
    {"output", 'o', "PLAN.json", 0, "the plan (-: standard output)", 0},
    {"time-limit", 't', "S", 0, "search for so many seconds (default: 60)", 1},
    {"steps", KEY_STEPS, "N", 0,
     "search for so many generations of 144 plans: the same result on any machine; no other limit "
     "unless one is given",
     1},
    {"seed", KEY_SEED, "N", 0,
     "of the random numbers: another seed finds another plan (default: 0)", 1},
    {"threads", 'j', "N", 0,
     "threads that search (default: one a core); their number does not change the result", 1},
    {"fix-schedule", KEY_FIX, NULL, 0, "calls run in the order of the trace", 2},
    {"published", KEY_PUBLISHED, NULL, 0,
     "as SwapAdvisor was published: pools of equal objects, nothing is made again", 2},
    {"format", KEY_FORMAT, "FORMAT", 0,
     "the format of the trace: cebus or dtr (default: told from its first line; cebus for a pipe)",
     2},
    {"svg", KEY_SVG, "FILE", 0, "a plot: the best plan's time against seconds", 3},
    {"json", KEY_JSON, NULL, 0, "print the result as an object", 3},
    {0},
};

/* --- the command line ------------------------------------------------------------------------ */

static error_t parse_end(struct advise *advise, struct argp_state *state)
{
    if (advise->machine == NULL)
        argp_error(state, "--machine is needed: it says how fast copies are");
    if (advise->output != NULL && strcmp(advise->output, "-") == 0 && advise->json)
        argp_error(state, "--json and `-o -' both want standard output; leave one out");
    return 0;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct advise *advise = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &advise->input;
        return 0;
    case 'm':
        advise->machine = argument;
        return 0;
    case 'b':
        advise->memory = argument;
        return 0;
    case 'o':
        advise->output = argument;
        return 0;
    case 't':
        advise->seconds = number_seconds("time-limit", argument, state);
        return 0;
    case 'j':
        advise->how.threads = (unsigned)number_count("threads", argument, 1, UINT_MAX, state);
        return 0;
    case KEY_STEPS:
        advise->how.generations = number_count("steps", argument, 0, UINT64_MAX, state);
        return 0;
    case KEY_SEED:
        advise->how.seed = number_count("seed", argument, 0, UINT64_MAX, state);
        return 0;
    case KEY_FIX:
        advise->how.fix_order = true;
        return 0;
    case KEY_PUBLISHED:
        advise->how.published = true;
        return 0;
    case KEY_FORMAT:
        advise->format = argument;
        return 0;
    case KEY_SVG:
        advise->svg = settings_file("svg", argument, state);
        return 0;
    case KEY_JSON:
        advise->json = true;
        return 0;
    case ARGP_KEY_END:
        return parse_end(advise, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{.argp = &trace_argument}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "TRACE",
    .children = children,
    .doc =
        "Searches a plan by which the iteration in TRACE fits a memory and takes little time: the "
        "order of its calls, what is copied to the host and back when, what is made again, and "
        "where everything lies. `cebus replay --plan' runs it."
        "\vExit status: 0 when there is a plan; 2 when none was found that fits; 1 after an "
        "error; 64 when the command line makes no sense.",
};

/* --- while it searches -------------------------------------------------------------------------
 */

static void show(struct advise *advise, uint64_t generation, uint64_t best_ns, double passed)
{
    char text[TEXT_BYTES];
    if (advise->quiet || clock_seconds() - advise->shown < 0.2)
        return;
    advise->shown = clock_seconds();
    fprintf(stderr, "\r%5.0f s of %.0f  generation %-6" PRIu64 " best %s        ", passed,
            advise->seconds, generation,
            best_ns == UINT64_MAX ? "none yet" : text_ns(best_ns, text));
}

static bool go_on(void *context, uint64_t generation, uint64_t best_ns)
{
    struct advise *advise = context;
    const double passed = clock_seconds() - advise->start;
    show(advise, generation, best_ns, passed);
    if (advise->svg != NULL && best_ns != UINT64_MAX && advise->n_points < MAX_POINTS) {
        advise->points = take_more(advise->points, &advise->points_room, advise->n_points,
                                   sizeof *advise->points);
        advise->points[advise->n_points++] =
            (struct svg_point){passed, (double)best_ns / (double)advise->ideal_ns};
    }
    return passed < advise->seconds;
}

/* --- what was found ------------------------------------------------------------------------------
 */

static bool print_json(const struct advise *advise, const cebus_advice *plan)
{
    json_t *json = json_object();
    json_put_text(json, "trace", advise->input);
    json_put(json, "memory", json_integer((json_int_t)advise->how.memory));
    json_put(json, "time_ns", json_integer((json_int_t)plan->time_ns));
    json_put(json, "ideal_ns", json_integer((json_int_t)plan->ideal_ns));
    json_put(json, "throughput", json_real((double)plan->ideal_ns / (double)plan->time_ns));
    json_put(json, "height", json_integer((json_int_t)plan->height));
    json_put(json, "steps", json_integer((json_int_t)plan->n_steps));
    json_put(json, "copies", json_integer((json_int_t)plan->n_copies));
    json_put(json, "generations", json_integer((json_int_t)plan->generations));
    json_put(json, "plans", json_integer((json_int_t)plan->plans));
    json_put(json, "seconds", json_real(clock_seconds() - advise->start));
    return json_print_line(json);
}

static void print_text(const struct advise *advise, const cebus_advice *plan)
{
    char text[TEXT_BYTES];
    size_t again = 0;
    for (size_t i = 0; i < plan->n_steps; i++)
        again += plan->steps[i].again;
    printf("%-12s %s\n", "time", text_ns(plan->time_ns, text));
    printf("%-12s %s\n", "ideal", text_ns(plan->ideal_ns, text));
    printf("%-12s %.3f of ideal\n", "throughput", (double)plan->ideal_ns / (double)plan->time_ns);
    printf("%-12s %s", "height", text_bytes(plan->height, text));
    printf(" of %s\n", text_bytes(plan->memory, text));
    printf("%-12s %zu, %zu of them again\n", "steps", plan->n_steps, again);
    printf("%-12s %zu\n", "copies", plan->n_copies);
    printf("%-12s %" PRIu64 " in %" PRIu64 " generations, %.1f s\n", "plans", plan->plans,
           plan->generations, clock_seconds() - advise->start);
}

static bool plot(const struct advise *advise)
{
    const struct svg_line line = {
        .name = "best plan", .points = advise->points, .count = advise->n_points};
    const struct svg_plot svg = {.title = "Time of the best plan",
                                 .subtitle = "seconds of search; an iteration with all memory is 1",
                                 .lines = &line,
                                 .count = 1};
    return advise->svg == NULL || svg_write(advise->svg, &svg);
}

static int explain(const struct advise *advise, const struct program *program,
                   const cebus_advise_result *result)
{
    char need[TEXT_BYTES], memory[TEXT_BYTES];
    const struct program_op *op = &program->ops[result->call];
    switch (result->verdict) {
    case CEBUS_ADVISE_NO_ROOM:
        complain_file(program->path,
                      "line %" PRIu64 ": %s alone needs %s, more than --memory (%s): give more%s",
                      op->line, program_op_name(program, op), text_bytes(result->need, need),
                      text_bytes(advise->how.memory, memory), output_remains(advise->output));
        return EXIT_INFEASIBLE;
    case CEBUS_ADVISE_NO_PLAN:
        complain_file(program->path,
                      "no plan was found that fits %s: search longer (--time-limit) "
                      "or give more (--memory)%s",
                      text_bytes(advise->how.memory, memory), output_remains(advise->output));
        return EXIT_INFEASIBLE;
    case CEBUS_ADVISE_NO_LINK:
        return complain("machine %s has no link to the host: nothing can be swapped",
                        advise->machine);
    default:
        return complain_file(program->path, "line %" PRIu64 ": %s: %s", op->line,
                             program_op_name(program, op), result->why);
    }
}

static int finish(const struct advise *advise, const struct plan_program *program,
                  const cebus_advice *plan)
{
    const bool to_stdout = advise->output != NULL && strcmp(advise->output, "-") == 0;
    char why[256];
    uint64_t ns;
    if (cebus_advice_check(&program->program, &advise->how.link, plan, why, sizeof why, &ns) !=
        CEBUS_OK)
        return complain_file(advise->input,
                             "a plan was found that does not hold (%s): please "
                             "report it",
                             why);
    if (!plot(advise))
        return EXIT_WRONG;
    if (advise->output != NULL && !plan_file_write(advise->output, advise->machine, program, plan))
        return EXIT_WRONG;
    if (advise->json)
        return print_json(advise, plan) ? 0 : EXIT_WRONG;
    if (!to_stdout)
        print_text(advise, plan);
    return 0;
}

static int search(struct advise *advise, const struct program *trace)
{
    struct plan_program program;
    cebus_advise_result result;
    cebus_advice *plan;
    plan_program_make(trace, &program);
    advise->ideal_ns = trace->figures.compute_ns;
    advise->how.go_on = go_on;
    advise->how.context = advise;
    cebus_status status = cebus_advise(&program.program, &advise->how, &result, &plan);
    if (!advise->quiet)
        fputs("\r\033[K", stderr);
    int code;
    if (status == CEBUS_OUT_OF_HOST_MEMORY)
        code = complain_file(advise->input, "no host memory for a search");
    else if (plan == NULL)
        code = explain(advise, trace, &result);
    else
        code = finish(advise, &program, plan);
    cebus_advice_destroy(plan);
    plan_program_free(&program);
    return code;
}

int command_advise(int argc, char **argv)
{
    struct advise advise = {.how = CEBUS_ADVISE_OPTIONS_INIT, .start = clock_seconds()};
    struct program trace = {0};
    advise.how.generations = UINT64_MAX;
    argp_parse(&argp, argc, argv, 0, NULL, &advise);
    advise.quiet = !isatty(STDERR_FILENO);
    if (advise.seconds == 0)
        advise.seconds = advise.how.generations == UINT64_MAX ? DEFAULT_SECONDS : 1e9;
    if (advise.how.threads == 0)
        advise.how.threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    if (!plan_machine(advise.machine, advise.memory, &advise.how.link, &advise.how.memory))
        return EXIT_WRONG;
    int status = EXIT_WRONG;
    if (spares(advise.output, advise.input, "the trace") &&
        spares(advise.svg, advise.input, "the trace") &&
        program_load(&trace, advise.input, advise.format))
        status = search(&advise, &trace);
    program_free(&trace);
    free(advise.points);
    return status;
}
