/**
 * plan.c: what a policy plans for a trace, on a simulated machine in a budget, as a file that the
 * runtime can load (<cebus/plan.h>).
 */
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "message.h"
#include "output.h"
#include "result.h"

struct plan {
    struct settings settings;
    const char *trace;
    const char *output;
};

enum {
    KEY_PLANNER = 0x100,
};

static const struct argp_option options[] = {
    {"planner", KEY_PLANNER, "NAME", 0,
     "who plans: cebus (default), capuchin, or another policy that does; the same as --policy", 3},
    {"output", 'o', "FILE", 0, "where the plan goes", 3},
    {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct plan *plan = state->input;
    struct setting *policy = &plan->settings.of[SETTING_POLICY];
    const char *wrong;
    switch (key) {
    case ARGP_KEY_INIT:
        run_children_begin(state, &plan->settings, &plan->trace);
        return 0;
    case KEY_PLANNER:
        wrong = setting_problem(SETTING_POLICY, argument);
        if (wrong != NULL)
            argp_error(state, "--planner: %s", wrong);
        *policy = (struct setting){argument, FROM_OPTION};
        return 0;
    case 'o':
        plan->output = settings_file("output", argument, state);
        return 0;
    case ARGP_KEY_END:
        if (plan->output == NULL)
            argp_error(state, "where to? Name a file with -o");
        if (strcmp(policy->text, "all") == 0)
            argp_error(state, "--planner: one at a time; name it");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "TRACE",
    .children = run_children,
    .doc = "Has a policy plan a trace on a simulated machine, in a memory budget, and keeps the "
           "plan: for `cebus replay --plan', `cebus explain --plan' and cebus_plan_load(). The "
           "trace is learned in ample memory (--learn), so that there are plans also for budgets "
           "in which no program could learn. A run that does not fit writes none, and "
           "leaves and names the file of an earlier one.\vExit status: 0 "
           "when there is a plan; 2 when there is none, since the run does not fit its budget; 1 "
           "after an error; 64 when the command line makes no sense.",
};

static int plan_program(const struct plan *plan, const struct program *program)
{
    struct run_result result;
    struct run_options run_options;
    if (!run_options_begin(&run_options, program, &plan->settings))
        return EXIT_WRONG;
    run_options.save_plan = plan->output;
    bool good = run_program(program, &run_options, &result);
    if (good && plan->settings.json)
        good = json_print_line(result_json(program, &result));
    else if (good)
        result_print(program, &result);
    int status = good ? 0 : EXIT_WRONG;
    if (good && !result.feasible) {
        complain_file(plan->output, "no plan was written: the run does not fit%s",
                      output_remains(plan->output));
        status = EXIT_INFEASIBLE;
    }
    run_result_free(&result);
    return status;
}

int command_plan(int argc, char **argv)
{
    struct plan plan = {0};
    struct program program = {0};
    if (!settings_begin(&plan.settings))
        return EXIT_USAGE;
    if (plan.settings.of[SETTING_POLICY].origin == FROM_DEFAULT)
        plan.settings.of[SETTING_POLICY].text = "cebus";
    if (plan.settings.of[SETTING_LEARN].origin == FROM_DEFAULT)
        plan.settings.of[SETTING_LEARN].text = "ample";
    argp_parse(&argp, argc, argv, 0, NULL, &plan);
    int status = EXIT_WRONG;
    if (spares(plan.output, plan.trace, "the trace") &&
        run_load(&program, plan.trace, &plan.settings))
        status = plan_program(&plan, &program);
    program_free(&program);
    return status;
}
