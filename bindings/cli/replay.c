/**
 * replay.c: a trace on a simulated machine, in a budget, by a policy or by all of them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "message.h"
#include "plan_head.h"
#include "plan_run.h"
#include "result.h"
#include "run_file.h"

struct replay {
    struct settings settings;
    const char *trace;
    const char *record; /**< NULL: nothing is recorded */
    const char *plan;   /**< NULL: by a policy */
    bool on_paper;      /**< a plan of `cebus advise' is only held to the trace */
};

enum {
    KEY_RECORD = 0x100,
    KEY_PLAN,
    KEY_CHECK
};

static const struct argp_option options[] = {
    {"record", KEY_RECORD, "FILE", 0,
     "write every event of the run, for `cebus report' and `cebus explain'", 3},
    {"plan", KEY_PLAN, "PLAN.json", 0,
     "by a plan of `cebus plan', in the settings it was made for where no option says otherwise; "
     "or "
     "of `cebus advise', on its machine and in its memory: all it says is held to what the trace "
     "needs, then a pass is captured and launched by it",
     3},
    {"check", KEY_CHECK, NULL, 0, "of a plan of `cebus advise': only hold it to the trace", 3},
    {0},
};

/** An option that a plan of `cebus advise' leaves nothing to say to; NULL: there is none. */
static const char *needless_option(const struct replay *replay)
{
    if (replay->plan == NULL || access(replay->plan, R_OK) != 0 || plan_head_is(replay->plan))
        return NULL;
    for (enum setting_key key = SETTING_MACHINE; key < SETTING_PROFILE; key++) {
        if (replay->settings.of[key].origin == FROM_OPTION)
            return setting_name(key);
    }
    return NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct replay *replay = state->input;
    const char *needless;
    switch (key) {
    case ARGP_KEY_INIT:
        run_children_begin(state, &replay->settings, &replay->trace);
        return 0;
    case KEY_RECORD:
        replay->record = settings_file("record", argument, state);
        return 0;
    case KEY_PLAN:
        replay->plan = argument;
        return 0;
    case KEY_CHECK:
        replay->on_paper = true;
        return 0;
    case ARGP_KEY_END:
        if (replay->record != NULL && replay->plan != NULL && !plan_head_is(replay->plan))
            argp_error(state, "--record: a plan of `cebus advise' is run without events");
        if (replay->on_paper && (replay->plan == NULL || plan_head_is(replay->plan)))
            argp_error(state, "--check needs a --plan of `cebus advise'");
        if ((needless = needless_option(replay)) != NULL)
            argp_error(
                state,
                "--%s: a plan of `cebus advise' is run on its own machine, in its own memory",
                needless);
        if (replay->record != NULL && strcmp(replay->settings.of[SETTING_POLICY].text, "all") == 0)
            argp_error(state, "--record: one run at a time; name a --policy");
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
    .doc = "Runs a trace (a cebus trace, or a log of the DTR simulator; - is standard input) on a "
           "simulated machine, in a memory budget." COMMAND_EXIT_STATUS,
};

/** One run, printed. `many`: as a line of a table that begins with the first. */
static bool replay_with(const struct replay *replay, const struct program *program,
                        const struct run_options *run_options, bool many, bool first)
{
    struct run_result result;
    bool good = run_program(program, run_options, &result);
    if (good && replay->settings.json) {
        good = json_print_line(result_json(program, &result));
    } else if (good && many) {
        if (first)
            result_print_head(program, &result);
        result_print_line(&result);
    } else if (good) {
        result_print(program, &result);
    }
    run_result_free(&result);
    return good;
}

static bool replay_policies(const struct replay *replay, const struct program *program,
                            struct run_options *run_options)
{
    const char *name;
    if (strcmp(run_options->policy, "all") != 0)
        return replay_with(replay, program, run_options, false, true);
    for (size_t i = 0; (name = cebus_policy_name(i)) != NULL; i++) {
        run_options->policy = name;
        if (!replay_with(replay, program, run_options, true, i == 0))
            return false;
    }
    return true;
}

static bool replay_all(const struct replay *replay, const struct program *program)
{
    struct run_file file;
    struct observer observer = run_file_observer(&file);
    struct run_options run_options;
    if (!run_options_begin(&run_options, program, &replay->settings))
        return false;
    run_options.observer = replay->record != NULL ? &observer : NULL;
    run_options.load_plan = replay->plan;
    if (replay->record != NULL &&
        !run_file_begin(&file, replay->record, program, &replay->settings, run_options.base_ns))
        return false;
    bool good = replay_policies(replay, program, &run_options);
    if (replay->record != NULL)
        good = run_file_end(&file, good);
    return good;
}

int command_replay(int argc, char **argv)
{
    struct replay replay = {0};
    struct program program = {0};
    struct plan_head head = {0};
    if (!settings_begin(&replay.settings))
        return EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &replay);
    bool advised = replay.plan != NULL && !plan_head_is(replay.plan);
    if (replay.plan != NULL && !advised && !plan_head_apply(&head, replay.plan, &replay.settings))
        return EXIT_WRONG;
    bool good = spares(replay.record, replay.trace, "the trace") &&
                run_load(&program, replay.trace, &replay.settings) &&
                (advised ? plan_run(replay.plan, &program, replay.on_paper, replay.settings.json)
                         : replay_all(&replay, &program));
    program_free(&program);
    plan_head_free(&head);
    return good ? 0 : EXIT_WRONG;
}
