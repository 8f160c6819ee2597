/**
 * Captured iterations leave the bits of the program: every model is trained by itself on unlimited
 * memory, and again with one step captured and launches for those that follow, under several
 * policies and budgets, each launch in another order that the data allow. The step is captured
 * between a beginning and an end, or had as the last one that the runtime found. After each step
 * all parameters, statistics and optimizer state are compared.
 *
 *     capture_equal [--model NAME] [--policy NAME, plan or watch] [--all]
 *
 * Prints TAP.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cebus/cebus.h>

#include "tests/property/reorder.h"
#include "tests/support/models.h"
#include "tests/support/slice.h"
#include "tests/support/test_device.h"

#define ORDERS 20  /* of launches on plenty of memory */
#define LAUNCHES 3 /* under each other setting */
#define WATCHED 5  /* steps until an iteration is known */
#define MAX_PARTS 16
#define SEED 11

static struct {
    const char *model, *policy;
    bool all;
} how;
static int tests, failed;

/** The program itself: what each step leaves. */
typedef struct reference {
    const char *name;
    uint64_t hashes[ORDERS + 2];
    uint64_t peak, floor;
} reference;

/** A captured step: one capture a part. */
typedef struct subject {
    cebus_runtime *rt;
    cebus_model *model;
    cebus_capture *parts[MAX_PARTS];
    size_t n_parts, n_calls, resumed;
    uint64_t random, budget, relief;
    char why[600];
} subject;

typedef struct setting {
    const char *policy;
    unsigned percent; /**< of the peak; where that is too little, in tenths more */
    uint32_t debug;
    const char *device;
    size_t launches;
    bool marks;
} setting;

static bool good(subject *s, cebus_status status, const char *what)
{
    if (status != CEBUS_OK && s->why[0] == '\0')
        snprintf(s->why, sizeof s->why, "%s: %s: %s", what, cebus_last_error()->op,
                 cebus_last_error()->message);
    return status == CEBUS_OK;
}

static bool create(subject *s, const char *name, const cebus_runtime_options *options)
{
    const cebus_model_config config = {.seed = SEED, .drawn = true};
    *s = (subject){.random = SEED, .budget = options->memory_budget};
    if (!good(s, cebus_runtime_create(options, &s->rt), "runtime"))
        return false;
    s->model = cebus_model_create(s->rt, name, &config);
    return good(s, s->model != NULL ? CEBUS_OK : CEBUS_INTERNAL, "model");
}

static void destroy(subject *s)
{
    for (size_t i = 0; i < s->n_parts; i++)
        cebus_capture_destroy(s->parts[i]);
    cebus_model_destroy(s->model);
    cebus_runtime_destroy(s->rt);
}

static uint64_t hash_of(subject *s)
{
    uint64_t hash = 0;
    (void)good(s, cebus_model_hash(s->model, &hash), "hash");
    return hash;
}

/** A step that is captured, part by part. */
static bool capture(subject *s)
{
    for (bool more = true; more;) {
        cebus_model_begin_part(s->model);
        if (!good(s, cebus_capture_begin(s->rt), "begin") ||
            !good(s, cebus_model_run_part(s->model, NULL, &more), "step") ||
            !good(s, cebus_capture_end(s->rt, &s->parts[s->n_parts]), "end"))
            return false;
        s->n_calls += cebus_capture_program(s->parts[s->n_parts++])->n_calls;
        cebus_model_end_part(s->model, more);
    }
    return true;
}

static bool same(subject *s, const reference *ref, size_t step)
{
    if (s->why[0] == '\0' && hash_of(s) != ref->hashes[step])
        snprintf(s->why, sizeof s->why, "other bits than the program after step %zu", step);
    return s->why[0] == '\0';
}

/** Steps by itself, watched, until the runtime knows one when it sees it. */
static bool find(subject *s, const reference *ref, size_t *step)
{
    if (!good(s, cebus_capture_watch(s->rt, true), "watch"))
        return false;
    for (; *step < WATCHED; (*step)++) {
        if (!good(s, cebus_model_step(s->model, NULL), "step") || !same(s, ref, *step))
            return false;
    }
    bool found = good(s, cebus_capture_last(s->rt, &s->parts[0]), "last");
    s->n_parts = found;
    return found;
}

/** One step, part by part, where the program says where each ends. */
static bool take_marked(subject *s, const reference *ref, size_t *step)
{
    if (!good(s, cebus_model_step(s->model, NULL), "step") ||
        !good(s, cebus_capture_watch(s->rt, true), "watch") ||
        !good(s, cebus_iteration_mark(s->rt), "mark"))
        return false;
    for (bool more = true; more;) {
        cebus_model_begin_part(s->model);
        if (!good(s, cebus_model_run_part(s->model, NULL, &more), "step") ||
            !good(s, cebus_iteration_mark(s->rt), "mark") ||
            !good(s, cebus_capture_last(s->rt, &s->parts[s->n_parts]), "last"))
            return false;
        s->n_parts++;
        cebus_model_end_part(s->model, more);
    }
    *step = 2;
    return same(s, ref, 1);
}

/** Another order may need more than the program's: the launch stands, and goes on with more. */
static bool launch_part(subject *s, cebus_capture *part, bool reordered)
{
    cebus_status status = cebus_capture_launch(part);
    if (status != CEBUS_OUT_OF_MEMORY || !reordered)
        return good(s, status, "launch");
    s->resumed++;
    bool done = good(s, cebus_runtime_set_budget(s->rt, s->relief), "relief") &&
                good(s, cebus_capture_launch(part), "launch, resumed");
    if (done && cebus_runtime_set_budget(s->rt, s->budget) != CEBUS_OK)
        return cebus_last_error()->status == CEBUS_OUT_OF_MEMORY; /* it goes on with more */
    return done;
}

static bool launch(subject *s, bool reorder)
{
    for (size_t i = 0; i < s->n_parts; i++) {
        if (reorder && !good(s, cebus_reorder_shuffle(s->parts[i], &s->random), "order"))
            return false;
        cebus_model_begin_part(s->model);
        if (!launch_part(s, s->parts[i], reorder))
            return false;
        cebus_model_end_part(s->model, i + 1 < s->n_parts);
    }
    return true;
}

/** A step by itself, one captured, the others launched: the first in program order. */
static bool run(subject *s, const reference *ref, const setting *under)
{
    if (!good(s, cebus_model_step(s->model, NULL), "step") || !same(s, ref, 0) || !capture(s) ||
        !same(s, ref, 1))
        return false;
    for (size_t i = 0; i < under->launches; i++) {
        if (!launch(s, i > 0) || !same(s, ref, i + 2))
            return false;
    }
    return good(s, cebus_runtime_check(s->rt), "check");
}

static void report(bool passed, const char *name, const char *what, const char *why)
{
    tests++;
    failed += !passed;
    if (!passed)
        printf("# %s\n", why);
    printf("%s %d - %s %s\n", passed ? "ok" : "not ok", tests, name, what);
    fflush(stdout);
}

static cebus_runtime_options options_of(const char *policy, uint64_t budget)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.policy = policy;
    options.memory_budget = budget;
    options.cost_model = CEBUS_COST_ESTIMATED;
    return options;
}

static bool run_reference(reference *ref, const char *name)
{
    subject s;
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    cebus_runtime_options options = options_of("none", 0);
    bool fine = create(&s, name, &options);
    ref->name = name;
    const size_t steps = how.policy == NULL ? ORDERS + 2 : WATCHED + LAUNCHES;
    for (size_t i = 0; i < steps && fine; i++) {
        fine = good(&s, cebus_model_step(s.model, NULL), "step");
        ref->hashes[i] = hash_of(&s);
    }
    if (fine)
        fine = good(&s, cebus_runtime_memory_stats(s.rt, &stats), "stats");
    ref->peak = stats.allocated_bytes_peak;
    destroy(&s);
    if (!fine)
        report(false, name, "by itself", s.why);
    return fine;
}

/** In the memory of the setting; where that is too little for the program, in more, to `most`
 * percent of the peak. The percentage it ran in is left in the setting. */
static bool run_in(subject *s, const reference *ref, setting *under, unsigned most,
                   bool (*program)(subject *, const reference *, const setting *))
{
    for (;; under->percent += 10) {
        cebus_runtime_options options = options_of(under->policy, ref->peak / 100 * under->percent);
        options.debug = under->debug;
        options.device = under->device;
        bool passed = create(s, ref->name, &options);
        s->relief = 2 * ref->peak;
        passed = passed && program(s, ref, under);
        if (passed || under->percent >= most || cebus_last_error()->status != CEBUS_OUT_OF_MEMORY)
            return passed;
        destroy(s);
    }
}

static void check(const reference *ref, setting under)
{
    subject s;
    char what[160];
    bool passed = run_in(&s, ref, &under, 100, run);
    snprintf(what, sizeof what,
             "under %s in %u%% of its peak: %zu launches of %zu calls, %zu in two goes",
             under.policy, under.percent, under.launches, s.n_calls, s.resumed);
    report(passed, ref->name, what, s.why);
    destroy(&s);
}

/** A plan for the part: order, swaps and replays in `memory`. */
static bool advise(subject *s, cebus_capture *part, uint64_t memory)
{
    cebus_advise_result result;
    bool found;
    cebus_status status = cebus_reorder_advise(part, memory, SEED, &result, &found);
    if (status == CEBUS_OK && !found)
        snprintf(s->why, sizeof s->why, "no plan: verdict %d, call %u: %s", (int)result.verdict,
                 result.call, result.why != NULL ? result.why : "");
    return good(s, status, "plan") && found;
}

/** Launches by plans, in the least memory of a few that there is a plan for. */
static bool run_planned(subject *s, const reference *ref, uint64_t memory)
{
    if (!good(s, cebus_model_step(s->model, NULL), "step") || !capture(s) || !same(s, ref, 1))
        return false;
    for (size_t i = 0; i < s->n_parts; i++) {
        if (!advise(s, s->parts[i], memory))
            return false;
    }
    if (!good(s, cebus_runtime_set_budget(s->rt, memory), "budget"))
        return false;
    for (size_t i = 0; i < LAUNCHES; i++) {
        if (!launch(s, false) || !same(s, ref, i + 2))
            return false;
    }
    return good(s, cebus_runtime_check(s->rt), "check");
}

static bool run_watched(subject *s, const reference *ref, const setting *under)
{
    size_t step = 0;
    if (under->marks ? !take_marked(s, ref, &step) : !find(s, ref, &step))
        return false;
    for (size_t i = 0; i < s->n_parts; i++)
        s->n_calls += cebus_capture_program(s->parts[i])->n_calls;
    for (size_t i = 0; i < under->launches; i++) { /* while the watch goes on */
        if (!launch(s, i > 0) || !same(s, ref, step + i))
            return false;
    }
    return good(s, cebus_runtime_check(s->rt), "check");
}

static void check_watch(const reference *ref, setting under)
{
    subject s;
    char what[160];
    bool passed = run_in(&s, ref, &under, 120, run_watched);
    snprintf(what, sizeof what, "as it was found under %s in %u%% of its peak%s: %zu calls",
             under.policy, under.percent, under.marks ? ", with marks" : "", s.n_calls);
    report(passed, ref->name, what, s.why);
    destroy(&s);
}

static void check_plan(const reference *ref, const char *policy, const char *device)
{
    subject s;
    char what[200];
    bool passed = false;
    unsigned percent = 50;
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    for (; !passed && percent <= 110; percent += 20) {
        cebus_runtime_options options = options_of(policy, 2 * ref->peak);
        options.swap = CEBUS_SWAP_ON;
        options.device = device;
        options.debug = device != NULL ? 0 : CEBUS_DEBUG_HASH;
        passed = create(&s, ref->name, &options) &&
                 run_planned(&s, ref, ref->peak / 100 * percent) &&
                 good(&s, cebus_runtime_memory_stats(s.rt, &stats), "stats");
        bool again = !passed && strncmp(s.why, "no plan", 7) == 0 && percent < 110;
        if (!again)
            break;
        destroy(&s);
    }
    snprintf(what, sizeof what,
             "by a plan over %s on %s in %u%% of its peak: %" PRIu64 " replays and %" PRIu64
             " copies back ahead, %" PRIu64 " in place, %" PRIu64 " not",
             policy, device != NULL ? device : "cpu", percent, stats.planned_replays,
             stats.prefetches, stats.planned_placements, stats.missed_placements);
    report(passed, ref->name, what, s.why);
    destroy(&s);
}

static void check_model(const char *name, size_t turn)
{
    static const setting settings[] = {
        {"coop", 60, CEBUS_DEBUG_HASH | CEBUS_DEBUG_WALK, NULL, LAUNCHES, false},
        {"dtr", 50, CEBUS_DEBUG_CHAOS, NULL, LAUNCHES, false},
        {"cebus", 60, 0, NULL, LAUNCHES, false},
        {"lru", 50, 0, "test", LAUNCHES, false},
        {"capuchin", 70, CEBUS_DEBUG_HASH, NULL, LAUNCHES, false},
        {"odswap", 60, CEBUS_DEBUG_WALK, "test", LAUNCHES, false},
    };
    static const setting watches[] = {
        {"coop", 60, CEBUS_DEBUG_HASH, NULL, LAUNCHES, false},
        {"cebus", 70, CEBUS_DEBUG_HASH, NULL, LAUNCHES, true},
        {"lru", 60, CEBUS_DEBUG_HASH, NULL, LAUNCHES, false},
        {"cebus", 60, CEBUS_DEBUG_HASH, NULL, LAUNCHES, false},
    };
    static const char *const below[] = {"lru", "coop", "cebus", "capuchin"};
    enum {
        SETTINGS = sizeof settings / sizeof *settings
    };
    reference ref;
    if (!run_reference(&ref, name))
        return;
    if (how.policy == NULL)
        check(&ref, (setting){"coop", 120, 0, NULL, ORDERS, false});
    if (how.policy == NULL || strcmp(how.policy, "plan") == 0)
        check_plan(&ref, below[turn % 4], turn % 2 == 0 || how.policy != NULL ? "test" : NULL);
    for (size_t i = 0; i < 4; i++) {
        bool wanted =
            how.policy != NULL ? strcmp(how.policy, "watch") == 0 : how.all || i == turn % 4;
        setting chosen = watches[i];
        chosen.marks |= strcmp(name, "gan") == 0;
        if (wanted)
            check_watch(&ref, chosen);
    }
    for (size_t i = 0; i < SETTINGS; i++) {
        bool drawn = how.all || how.model != NULL || i % 3 == turn % 3;
        if (how.policy != NULL ? strcmp(how.policy, settings[i].policy) == 0 : drawn)
            check(&ref, settings[i]);
    }
}

/** Its graph follows a random tree, and it reads a value back: it cannot be captured, and says so.
 */
static void check_tree(void)
{
    subject s;
    cebus_runtime_options options = options_of("coop", 0);
    cebus_capture *out = NULL;
    bool more,
        passed = create(&s, "tree", &options) && good(&s, cebus_model_step(s.model, NULL), "step");
    cebus_model_begin_part(s.model);
    passed = passed && good(&s, cebus_capture_begin(s.rt), "begin") &&
             cebus_model_run_part(s.model, NULL, &more) == CEBUS_CAPTURE_ERROR &&
             strcmp(cebus_last_error()->op, "item") == 0 &&
             good(&s, cebus_capture_end(s.rt, NULL), "end") &&
             good(&s, cebus_model_step(s.model, NULL), "step");
    cebus_capture_destroy(out);
    report(passed, "tree", "is refused for what it reads back", cebus_last_error()->message);
    destroy(&s);
}

static bool parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            how.all = true;
        else if (strcmp(argv[i], "--model") == 0 && i + 1 < argc)
            how.model = argv[++i];
        else if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
            how.policy = argv[++i];
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    how.all = getenv("CEBUS_TEST_ALL") != NULL;
    if (!parse(argc, argv))
        return fprintf(stderr, "usage: capture_equal [--all] [--model NAME] [--policy NAME]\n"), 2;
    cebus_test_device_register();
    for (size_t i = 0; cebus_model_name(i) != NULL; i++) {
        const char *name = cebus_model_name(i);
        if (how.model != NULL ? strcmp(how.model, name) != 0 : strcmp(name, "resnet18") == 0)
            continue; /* resnet18 is as large as published, and runs when asked for */
        if (!cebus_test_slice_has(i))
            continue;
        if (strcmp(name, "tree") == 0)
            check_tree();
        else
            check_model(name, i);
    }
    printf("1..%d\n", tests);
    return failed > 0;
}
