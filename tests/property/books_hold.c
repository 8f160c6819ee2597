/*
 * Property: the books hold where there are no bits to compare, and as long as a program goes on.
 * Prints TAP.
 *
 * Random programs and training loops run on simulated machines, whose bytes nobody sees, under
 * every policy and budgets from the peak down: nothing may lie beyond the budget, the invariants
 * hold, and everything is gone in the end. Then programs that are another one in each pass go on
 * for tens of thousands of steps (with --all, hundreds of thousands) in half of the memory that
 * they would like: looked at again and again, the invariants hold, and what the runtime keeps on
 * the host for them does not grow.
 *
 * usage: books_hold [--all] [--model NAME] [--policy NAME] [--seed N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/trial.h"
#include "tests/support/host.h"

enum {
    PROGRAM_STEPS = 300,
    LOOP_STEPS = 8,
    PASSES = 8,
    BUDGETS = 4,
    SEEDS = 1,
    SEEDS_ALL = 40,
    LONG = 16000, /* steps */
    LONG_ALL = 400000,
    LOOK = 400, /* steps between two looks */
    ATTEMPTS = 8
};

static struct {
    bool all;
    const char *model, *policy;
    uint64_t seed;
} how;
static int tests, failed;

static void report(bool passed, const char *what, const char *policy, const char *device)
{
    printf("%s %d - %s under %s on %s\n", passed ? "ok" : "not ok", ++tests, what, policy, device);
    fflush(stdout);
    failed += !passed;
}

static bool is_wanted(const char *model, const char *policy)
{
    return (how.model == NULL || strcmp(how.model, model) == 0) &&
           (how.policy == NULL || strcmp(how.policy, policy) == 0);
}

/* --- on simulated machines ------------------------------------------------------------------- */

typedef struct subject {
    const char *name;
    const cebus_subject *subject;
    size_t steps;
} subject;

static const subject subjects[] = {
    {"program", &cebus_subject_program, PROGRAM_STEPS},
    {"rounds", &cebus_subject_rounds, PASSES *CEBUS_ROUND_STEPS},
    {"rounds+turns", &cebus_subject_rounds, PASSES *CEBUS_ROUND_STEPS},
    {"steady", &cebus_subject_loop, LOOP_STEPS},
    {"lengths", &cebus_subject_loop, LOOP_STEPS},
};

static const char *const machines[] = {"sim:a100-80g", "sim:p100-16g", "sim:v100-16g"};

static bool run(cebus_trial *trial, cebus_outcome *out)
{
    cebus_trial_run(trial, out);
    if (out->failure[0] != '\0')
        printf("# %.*s\n# %s, seed %" PRIu64 ", %s, budget %" PRIu64 "\n",
               (int)strcspn(out->failure, "\n"), out->failure, trial->name, trial->seed,
               trial->policy, trial->budget);
    cebus_record_deinit(&out->record);
    return out->failure[0] == '\0';
}

static void test_policy(cebus_trial trial, uint64_t peak, uint64_t least)
{
    static const char *const layouts[] = {NULL, "planned", NULL, "best-fit"};
    static const cebus_swap swaps[] = {CEBUS_SWAP_DEFAULT, CEBUS_SWAP_ON, CEBUS_SWAP_OFF};
    bool passed = true;
    for (uint64_t b = 0; b < BUDGETS; b++) {
        cebus_outcome out;
        trial.budget = peak - (peak - least) * b / (BUDGETS - 1);
        trial.layout = layouts[(b + trial.seed) % 4];
        trial.swap = swaps[(b + trial.seed) % 3];
        trial.host_budget = b % 2 == 1 ? peak / 4 : 0;
        trial.debug = b % 2 == 0 ? CEBUS_DEBUG_WALK : CEBUS_DEBUG_CHAOS;
        trial.wiggle = b == 2;
        trial.relapse = b == 1;
        passed = run(&trial, &out) && passed;
    }
    report(passed, trial.name, trial.policy, trial.device);
}

static void test_simulated(const subject *s, uint64_t seed)
{
    cebus_outcome unlimited;
    cebus_trial trial = {.subject = s->subject,
                         .name = s->name,
                         .seed = seed,
                         .steps = s->steps,
                         .policy = "none",
                         .device = machines[seed % 3]};
    if (!run(&trial, &unlimited))
        report(false, trial.name, trial.policy, trial.device);
    for (size_t i = 0; cebus_policy_name(i) != NULL; i++) {
        trial.policy = cebus_policy_name(i);
        if (is_wanted(s->name, trial.policy) && strcmp(trial.policy, "none") != 0)
            test_policy(trial, unlimited.peak, unlimited.least);
    }
}

/* --- for long -------------------------------------------------------------------------------- */

/** The most there was of it while it was looked at. */
typedef struct look {
    uint64_t records, host_bytes;
    int64_t allocations;
} look;

typedef struct long_run {
    cebus_runtime *rt;
    cebus_test_host host;
    void *self;
    size_t steps;
    look early, late; /**< in the second quarter; in the last half */
    cebus_failure failure;
} long_run;

static void look_at(long_run *r, size_t i)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    look *to = i >= r->steps / 2 ? &r->late : &r->early;
    if (cebus_runtime_check(r->rt) != CEBUS_OK ||
        cebus_runtime_memory_stats(r->rt, &stats) != CEBUS_OK) {
        cebus_failure_note_error(r->failure, "a look at the books");
        return;
    }
    if (stats.allocated_bytes_current > cebus_runtime_budget(r->rt))
        cebus_failure_note(r->failure, "%" PRIu64 " bytes are beyond the budget",
                           stats.allocated_bytes_current);
    if (i < r->steps / 4)
        return;
    to->records = stats.live_records > to->records ? stats.live_records : to->records;
    to->host_bytes = stats.host_bytes > to->host_bytes ? stats.host_bytes : to->host_bytes;
    to->allocations = r->host.live > to->allocations ? r->host.live : to->allocations;
}

/** What there is no room for is given room for good: budgets are not what is tested. */
static bool take(long_run *r, size_t i, cebus_record *record)
{
    cebus_status status = CEBUS_OUT_OF_MEMORY;
    for (int attempt = 0; attempt < ATTEMPTS && status == CEBUS_OUT_OF_MEMORY; attempt++) {
        cebus_record_truncate(record, 0);
        status = cebus_subject_rounds.step(r->self, i, record);
        if (status == CEBUS_OUT_OF_MEMORY &&
            cebus_runtime_set_budget(r->rt, cebus_runtime_budget(r->rt) * 5 / 4) != CEBUS_OK)
            break;
    }
    if (status != CEBUS_OK)
        cebus_failure_note_error(r->failure, "a step");
    return status == CEBUS_OK;
}

static void run_long(long_run *r, uint64_t peak)
{
    cebus_record record = {0};
    r->self = cebus_subject_rounds.create(r->rt, "rounds+drift", how.seed);
    if (r->self == NULL || cebus_runtime_set_budget(r->rt, peak / 2) != CEBUS_OK) {
        cebus_failure_note_error(r->failure, "the beginning");
        return;
    }
    for (size_t i = 0; i < r->steps && r->failure[0] == '\0'; i++) {
        if (!take(r, i, &record))
            break;
        if (i % LOOK == LOOK - 1)
            look_at(r, i);
    }
    cebus_record_deinit(&record);
}

/** Programs differ from pass to pass: the most of a few is not quite the most of many. */
static bool has_grown(long_run *r)
{
    const look *a = &r->early, *b = &r->late;
    printf("# records %" PRIu64 ", then %" PRIu64 "; bytes on the host %" PRIu64 ", then %" PRIu64
           "; allocations %" PRId64 ", then %" PRId64 "\n",
           a->records, b->records, a->host_bytes, b->host_bytes, a->allocations, b->allocations);
    return b->records > 2 * a->records || b->host_bytes > 2 * a->host_bytes ||
           b->allocations > 2 * a->allocations;
}

static void test_long(const char *policy, const char *device, uint64_t peak)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    long_run r = {.steps = how.all ? LONG_ALL : LONG};
    cebus_test_host_init(&r.host);
    options.threads = 1;
    options.policy = policy;
    options.device = device;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.host = &r.host.allocator;
    if (cebus_runtime_create(&options, &r.rt) != CEBUS_OK)
        cebus_failure_note_error(r.failure, "making the runtime");
    else
        run_long(&r, peak);
    if (r.failure[0] == '\0' && has_grown(&r))
        cebus_failure_note(r.failure, "it grows");
    if (r.self != NULL)
        cebus_subject_rounds.destroy(r.self);
    if (r.failure[0] == '\0' && cebus_memory_allocated(r.rt) != 0)
        cebus_failure_note(r.failure, "bytes are left when everything was released");
    cebus_runtime_destroy(r.rt);
    if (r.failure[0] == '\0' && r.host.live != 0)
        cebus_failure_note(r.failure, "%" PRId64 " allocations leaked", r.host.live);
    if (r.failure[0] != '\0')
        printf("# %s\n", r.failure);
    report(r.failure[0] == '\0', "a long program", policy, device);
}

static void test_all_long(void)
{
    static const char *const policies[] = {"coop", "cebus", "capuchin", "lru"};
    static const char *const devices[] = {"cpu", "cpu", "sim:p100-16g", "sim:a100-80g"};
    cebus_outcome unlimited;
    cebus_trial trial = {.subject = &cebus_subject_rounds,
                         .name = "rounds+drift",
                         .seed = how.seed,
                         .steps = 20 * CEBUS_ROUND_STEPS,
                         .policy = "none"};
    if (!run(&trial, &unlimited))
        report(false, trial.name, trial.policy, "cpu");
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        if (is_wanted("long", policies[i]))
            test_long(policies[i], devices[i], unlimited.peak);
    }
}

int main(int argc, char **argv)
{
    uint64_t first = 1, last;
    how.all = getenv("CEBUS_TEST_ALL") != NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            how.all = true;
        else if (strcmp(argv[i], "--model") == 0 && i + 1 < argc)
            how.model = argv[++i];
        else if (strcmp(argv[i], "--policy") == 0 && i + 1 < argc)
            how.policy = argv[++i];
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            first = how.seed = strtoull(argv[++i], NULL, 10);
        else
            return fprintf(stderr, "unknown option %s\n", argv[i]), 2;
    }
    last = how.seed != 0 ? how.seed : how.all ? SEEDS_ALL : SEEDS;
    for (uint64_t seed = first; seed <= last; seed++) {
        for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
            if (how.model == NULL || strcmp(how.model, subjects[i].name) == 0)
                test_simulated(&subjects[i], seed);
        }
    }
    how.seed = how.seed != 0 ? how.seed : 1;
    if (how.model == NULL || strcmp(how.model, "long") == 0)
        test_all_long();
    printf("1..%d\n", tests);
    return failed > 0;
}
