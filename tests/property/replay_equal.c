/*
 * Property: a program sees the same bits under every budget and every policy as without a limit.
 * Prints TAP.
 *
 * Subjects are models that train (six under all budgets, the others under a third of them, in
 * turn), random programs of hundreds of operations, and thousands of small tensors. Each runs
 * unlimited first, then under budgets from its peak down to below what it can do with, under every
 * policy, with and without swapping, in every layout, some on a device that runs late and lets its
 * streams overtake each other where they may, some with hints drawn for every value. In each run
 *   - all host reads, losses, parameters, states and statuses must be the unlimited run's,
 *   - nothing may ever lie beyond the budget,
 *   - all ways that policy coop knows to meet a request (evict/choice/contest.h) must have been
 * taken, and prices of former choices must have stood (evict/choice/lowest.h),
 *   - policy coop must get by with 1.5 times the floor (meter.h), and below what even a perfect
 *     runtime needs there must be an out-of-memory error with a right report, after which
 *     the program goes on with more memory to the same bits.
 *
 * usage: replay_equal [--all] [--floors] [--seed N] [--model NAME|program|crowd] [--policy NAME]
 *                     [--budget BYTES] [--variant N] [--steps N] [--device NAME] [--trace]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/program.h"
#include "tests/property/trial.h"
#include "tests/support/cuda_host.h"
#include "tests/support/models.h"
#include "tests/support/test_device.h"

/* Weak: absent without a C++ compiler. */
#pragma weak cebus_cuda_host_register

/** Of a GPU's memory, which takes time to map and others may use, too. */
#define PLENTY (UINT64_C(2) << 30)

enum {
    BUDGETS = 22,
    MODEL_STEPS = 3,
    PROGRAM_STEPS = 300,
    PROGRAMS = 10,
    PROGRAMS_ALL = 200,
    CROWD_STEPS = 125,
    THIN = 4, /* one of so many budgets, for most models */
    VARIANTS = 12
};

/** A policy, whether values may go to the host (as it was published, or by order), where they lie,
 * and whether they may go to a file, too. */
typedef struct setting {
    const char *name, *policy;
    cebus_swap swap;
    const char *layout;
    bool spill; /**< to a file, on the CPU to nothing else */
} setting;

static const setting settings[] = {
    {"coop", "coop", CEBUS_SWAP_OFF},
    {"coop+swap", "coop", CEBUS_SWAP_ON},
    {"lru", "lru", CEBUS_SWAP_DEFAULT},
    {"lru+swap", "lru", CEBUS_SWAP_ON},
    {"dtr", "dtr", CEBUS_SWAP_DEFAULT},
    {"dtr+swap", "dtr", CEBUS_SWAP_ON},
    {"dtr-local", "dtr-local", CEBUS_SWAP_DEFAULT},
    {"dte", "dte", CEBUS_SWAP_DEFAULT},
    {"sublinear", "sublinear", CEBUS_SWAP_DEFAULT},
    {"vdnn", "vdnn", CEBUS_SWAP_DEFAULT},
    {"vdnn-all", "vdnn-all", CEBUS_SWAP_DEFAULT},
    {"superneurons", "superneurons", CEBUS_SWAP_DEFAULT},
    {"superneurons-swap", "superneurons", CEBUS_SWAP_OFF},
    {"tflms", "tflms", CEBUS_SWAP_DEFAULT},
    {"odswap", "odswap", CEBUS_SWAP_DEFAULT},
    {"capuchin", "capuchin", CEBUS_SWAP_DEFAULT},
    {"cebus", "cebus", CEBUS_SWAP_OFF},
    {"cebus+swap", "cebus", CEBUS_SWAP_ON},
    {"coop/coop", "coop", CEBUS_SWAP_OFF, "coop"},
    {"coop/best-fit", "coop", CEBUS_SWAP_OFF, "best-fit"},
    {"coop/caching", "coop", CEBUS_SWAP_OFF, "caching"},
    {"coop/expandable", "coop", CEBUS_SWAP_OFF, "caching-expandable"},
    {"dtr/best-fit", "dtr", CEBUS_SWAP_DEFAULT, "best-fit"},
    {"dtr/caching+swap", "dtr", CEBUS_SWAP_ON, "caching"},
    {"dte/expandable", "dte", CEBUS_SWAP_DEFAULT, "caching-expandable"},
    {"odswap/caching", "odswap", CEBUS_SWAP_DEFAULT, "caching"},
    {"coop+spill", "coop", CEBUS_SWAP_ON, NULL, true},
    {"lru+spill", "lru", CEBUS_SWAP_ON, NULL, true},
    {"dte/caching+spill", "dte", CEBUS_SWAP_ON, "caching", true},
    {"odswap+spill", "odswap", CEBUS_SWAP_DEFAULT, NULL, true},
    {"vdnn-all+spill", "vdnn-all", CEBUS_SWAP_ON, NULL, true},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

typedef struct options {
    bool all, floors;
    bool has_seed, has_variant;
    uint64_t seed, budget, variant, steps;
    const char *model, *policy, *device;
} options;

static options how;
static int tests, failed;
/** Of all runs together. */
static uint64_t ways[CEBUS_WAY_COUNT], stood;

/** A subject and its unlimited run, which all others are held against. */
typedef struct reference {
    cebus_trial trial;
    cebus_outcome outcome;
    uint64_t thin, turn; /**< one of `thin` budgets, and which */
    uint64_t lowest;     /**< of the budgets */
} reference;

/** Maps pages wherever it likes, as not every device can. */
static bool is_caching(const char *layout)
{
    return layout != NULL && strncmp(layout, "caching", 7) == 0;
}

/** What is different from run to run besides budget and policy. */
static void apply_variant(cebus_trial *trial, uint64_t variant)
{
    static const uint32_t debug[] = {CEBUS_DEBUG_HASH | CEBUS_DEBUG_WALK, 0, CEBUS_DEBUG_CHAOS,
                                     CEBUS_DEBUG_HASH | CEBUS_DEBUG_CHAOS};
    trial->debug = debug[variant % 4];
    /* A late kernel's own refusals would be seen late: programs provoke some, models do not. */
    if (variant % 4 == 1 && trial->subject == &cebus_subject_model && how.device == NULL &&
        !is_caching(trial->layout))
        trial->device = "test";
    if (variant % 6 == 4)
        trial->debug |= CEBUS_DEBUG_HINTS;
    trial->late = variant / 4 % 2 == 1;
    trial->relapse = variant % 3 == 2;
    trial->wiggle = variant == 5 || variant == 11;
    trial->reload = variant == 3 || variant == 10;
    trial->cost_model = variant == 9 ? CEBUS_COST_MEASURED : CEBUS_COST_ESTIMATED;
}

static void describe(const cebus_trial *trial, const setting *chosen, uint64_t variant)
{
    bool program = trial->subject == &cebus_subject_program;
    printf("# reproduce: --model %s --seed %" PRIu64 " --steps %zu --policy %s --budget %" PRIu64
           " --variant %" PRIu64 "\n",
           program ? "program" : trial->name, trial->seed, trial->steps, chosen->name,
           trial->budget, variant);
}

/** What was wrong with the run, or NULL. */
static const char *judge(const reference *ref, const cebus_trial *trial, const cebus_outcome *got,
                         char *text, size_t text_bytes)
{
    int64_t at = cebus_record_compare(&ref->outcome.record, &got->record);
    bool disturbed = trial->wiggle || (trial->debug & CEBUS_DEBUG_CHAOS) != 0;
    if (got->failure[0] != '\0')
        return got->failure;
    if (at >= 0) {
        snprintf(text, text_bytes, "other bits than the unlimited run: read %" PRId64 " of %zu", at,
                 ref->outcome.record.count);
        return text;
    }
    if (!disturbed && got->ooms > 0 && strcmp(trial->policy, "coop") == 0 &&
        trial->swap == CEBUS_SWAP_OFF && trial->layout == NULL &&
        2 * trial->budget >= 3 * ref->outcome.floor) {
        snprintf(text, text_bytes, "out of memory at %.2f of the floor, %" PRIu64 " (%s)",
                 (double)trial->budget / (double)ref->outcome.floor, ref->outcome.floor,
                 ref->outcome.floor_op);
        return text;
    }
    /* Hints change which records are cut, and with them what must stay. */
    if (got->ooms == 0 && got->swap_ins == 0 && trial->budget < ref->outcome.least &&
        !(trial->debug & CEBUS_DEBUG_HINTS)) {
        snprintf(text, text_bytes, "it did with less than any runtime needs, %" PRIu64,
                 ref->outcome.least);
        return text;
    }
    return NULL;
}

/** Runs one setting; prints what was wrong. */
static bool check_one(const reference *ref, const setting *chosen, uint64_t budget,
                      uint64_t variant, cebus_outcome *out)
{
    char text[256];
    cebus_trial trial = ref->trial;
    trial.policy = chosen->policy;
    trial.swap = chosen->swap;
    trial.layout = chosen->layout;
    trial.host_budget = variant % 5 == 3 ? ref->outcome.peak / 8 : 0;
    trial.pinned_budget = variant % 2 == 1 ? ref->outcome.peak / 16 : 0;
    trial.spill_budget = chosen->spill ? 4 * ref->outcome.peak + (1 << 20) : 0;
    trial.budget = budget;
    trial.relief = 2 * ref->outcome.peak;
    apply_variant(&trial, variant);
    cebus_trial_run(&trial, out);
    for (size_t i = 0; i < CEBUS_WAY_COUNT; i++)
        ways[i] += out->ways[i];
    stood += out->stood;
    const char *wrong = judge(ref, &trial, out, text, sizeof text);
    if (wrong != NULL) {
        for (const char *line = wrong; *line != '\0';
             line += strcspn(line, "\n"), line += *line == '\n')
            printf("# %.*s\n", (int)strcspn(line, "\n"), line);
        describe(&trial, chosen, variant);
    }
    cebus_record_deinit(&out->record);
    return wrong == NULL;
}

static void report(bool passed, const reference *ref, const char *what)
{
    bool program = ref->trial.subject == &cebus_subject_program;
    tests++;
    failed += !passed;
    printf("%s %d - %s", passed ? "ok" : "not ok", tests, ref->trial.name);
    if (program)
        printf(" %" PRIu64, ref->trial.seed);
    printf(" %s\n", what);
    fflush(stdout);
}

/** Budget number i: even steps from the peak down to what is too little, then 1.5 times the floor
 * and the floor itself. */
static uint64_t budget_at(const reference *ref, uint64_t i)
{
    uint64_t peak = ref->outcome.peak, floor = ref->outcome.floor;
    if (i == BUDGETS - 1)
        return floor;
    if (i == BUDGETS - 2)
        return floor + floor / 2;
    return peak - (peak - ref->lowest) * i / (BUDGETS - 3);
}

/** Whether a sample holds budget `i` under setting `number`. The first has all that are not thinned
 * out and, of small models, the two last; the others share them, from model to model in turn. */
static bool is_drawn(const reference *ref, size_t number, uint64_t i)
{
    if (i >= BUDGETS - 2 && ref->thin > 1)
        return false;
    if (number == 0 && i >= BUDGETS - 2)
        return true;
    if (ref->thin > 1 && (i + ref->turn) % ref->thin != 0)
        return false;
    return number == 0 || (i + ref->turn * BUDGETS) % (SETTINGS - 1) + 1 == number;
}

/** All budgets under one policy. */
static void sweep(const reference *ref, size_t number, bool all)
{
    char what[128];
    int runs = 0, feasible = 0;
    bool passed = true;
    if (cebus_program_far && is_caching(settings[number].layout))
        return; /* they map pages here and there */
    for (uint64_t i = 0; i < BUDGETS; i++) {
        cebus_outcome out;
        if (!all && !is_drawn(ref, number, i))
            continue;
        uint64_t variant =
            how.has_variant ? how.variant : (i * 5 + ref->trial.seed + number) % VARIANTS;
        passed = check_one(ref, &settings[number], budget_at(ref, i), variant, &out) && passed;
        runs++;
        feasible += out.ooms == 0;
    }
    snprintf(what, sizeof what, "under %s: %d of %d budgets feasible", settings[number].name,
             feasible, runs);
    if (runs > 0)
        report(passed, ref, what);
}

/** Estimated costs: the same run twice takes the same decisions. */
static void repeat(const reference *ref)
{
    cebus_outcome a, b;
    uint64_t budget = (ref->outcome.peak + ref->outcome.floor) / 2;
    bool passed = check_one(ref, &settings[0], budget, 1, &a);
    passed = check_one(ref, &settings[0], budget, 1, &b) && passed;
    report(passed && a.recomputes == b.recomputes && a.peak == b.peak, ref, "repeats itself");
}

static bool run_reference(reference *ref, const cebus_subject *subject, const char *name,
                          uint64_t seed, size_t steps)
{
    *ref = (reference){.trial = {.subject = subject,
                                 .name = name,
                                 .seed = seed,
                                 .steps = how.steps > 0 ? how.steps : steps,
                                 .policy = "none",
                                 .device = how.device,
                                 .memory = cebus_program_far ? PLENTY : 0,
                                 .cost_model = CEBUS_COST_ESTIMATED}};
    cebus_trial_run(&ref->trial, &ref->outcome);
    if (ref->outcome.failure[0] == '\0' && ref->outcome.ooms == 0)
        return true;
    printf("# %s\n", ref->outcome.failure);
    report(false, ref, "unlimited");
    return false;
}

/** The smallest budget, in percent of the floor, from which on all are feasible. */
static uint64_t smallest_feasible(const reference *ref, const setting *chosen)
{
    uint64_t smallest = ref->outcome.peak * 100 / ref->outcome.floor;
    for (uint64_t percent = smallest < 400 ? smallest : 400; percent > 90; percent -= 5) {
        cebus_outcome out;
        check_one(ref, chosen, ref->outcome.floor * percent / 100, 1, &out);
        if (out.ooms > 0)
            break;
        smallest = percent;
    }
    return smallest;
}

static bool is_wanted(const setting *chosen)
{
    return how.policy == NULL || strcmp(how.policy, chosen->name) == 0;
}

static void print_floors(const reference *ref)
{
    printf("# %-8s %3" PRIu64 "  peak %8" PRIu64 "  floor %8" PRIu64 " (%s)  least %8" PRIu64 " ",
           ref->trial.name, ref->trial.seed, ref->outcome.peak, ref->outcome.floor,
           ref->outcome.floor_op, ref->outcome.least);
    for (size_t i = 0; i < SETTINGS; i++) {
        if (is_wanted(&settings[i]))
            printf("  %s %" PRIu64 "%%", settings[i].name, smallest_feasible(ref, &settings[i]));
        fflush(stdout);
    }
    printf("\n");
}

static void run_all(const reference *ref)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        if (is_wanted(&settings[i]))
            sweep(ref, i, how.all || how.policy != NULL);
    }
    if (how.policy == NULL)
        repeat(ref);
}

static void run_single(const reference *ref)
{
    cebus_outcome out;
    size_t at = 0;
    while (how.policy != NULL && at + 1 < SETTINGS && !is_wanted(&settings[at]))
        at++;
    bool passed = check_one(ref, &settings[at], how.budget, how.variant, &out);
    printf("# floor %" PRIu64 " (%s), least %" PRIu64 ", unlimited peak %" PRIu64 "; %" PRIu64
           " out of memory, %" PRIu64 " recomputes, %" PRIu64 " swap-ins, peak %" PRIu64 "\n",
           ref->outcome.floor, ref->outcome.floor_op, ref->outcome.least, ref->outcome.peak,
           out.ooms, out.recomputes, out.swap_ins, out.peak);
    report(passed, ref, "under one budget");
}

static void run_subject(const cebus_subject *subject, const char *name, uint64_t seed, size_t steps,
                        uint64_t thin)
{
    static uint64_t turn;
    reference ref;
    if (run_reference(&ref, subject, name, seed, steps)) {
        ref.thin = thin;
        ref.turn = turn++;
        ref.lowest = ref.outcome.least / 20 * 19;
        if (subject == &cebus_subject_crowd && thin > 1) /* where blocks are many */
            ref.lowest = ref.outcome.peak / 2;
        if (how.floors)
            print_floors(&ref);
        else if (how.budget > 0)
            run_single(&ref);
        else
            run_all(&ref);
    }
    cebus_record_deinit(&ref.outcome.record);
}

static void run_model(const char *name, uint64_t thin)
{
    if (how.model == NULL || strcmp(how.model, name) == 0)
        run_subject(&cebus_subject_model, name, how.has_seed ? how.seed : 1, MODEL_STEPS,
                    how.model == NULL ? thin : 1);
}

/** The six small ones come first; resnet18 is as large as published, and runs when asked for. */
static void run_models(void)
{
    static const char *const drawn[] = {"gpt+drawn", "tree+drawn", "unet+drawn"};
    uint64_t thin = 1;
    for (size_t i = 0; cebus_model_name(i) != NULL; i++) {
        const char *name = cebus_model_name(i);
        if (strcmp(name, "resnet18") == 0)
            thin = THIN;
        if (strcmp(name, "resnet18") != 0 || how.model != NULL)
            run_model(name, thin);
    }
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        run_model(drawn[i], THIN);
}

static void run_programs(void)
{
    uint64_t count = how.all ? PROGRAMS_ALL : PROGRAMS, first = 1;
    if (how.model != NULL && strcmp(how.model, "program") != 0)
        return;
    if (how.has_seed) {
        first = how.seed;
        count = 1;
    }
    for (uint64_t seed = first; seed < first + count; seed++)
        run_subject(&cebus_subject_program, "program", seed, PROGRAM_STEPS, 1);
}

static void run_crowd(void)
{
    if (how.model == NULL || strcmp(how.model, "crowd") == 0)
        run_subject(&cebus_subject_crowd, "crowd", how.has_seed ? how.seed : 1, CROWD_STEPS,
                    how.all || how.policy != NULL ? 1 : 2 * THIN);
}

/** The generators are no good if they do not get there. */
static void check_ways(void)
{
    printf("# met by windows %" PRIu64 ", clearings %" PRIu64 ", vacancies %" PRIu64
           ", scattered %" PRIu64 "; prices that stood %" PRIu64 "\n",
           ways[CEBUS_WAY_WINDOW], ways[CEBUS_WAY_CLEARING], ways[CEBUS_WAY_VACANCY],
           ways[CEBUS_WAY_SCATTERED], stood);
    if (how.model != NULL || how.policy != NULL || how.budget > 0)
        return;
    bool passed = stood > 0;
    for (size_t i = 0; i < CEBUS_WAY_COUNT; i++)
        passed = passed && ways[i] > 0;
    printf("%s %d - every way to meet a request was taken\n", passed ? "ok" : "not ok", ++tests);
    failed += !passed;
}

static bool parse_number(const char *text, uint64_t *out)
{
    char *end;
    *out = strtoull(text, &end, 10);
    return *end == '\0' && end != text;
}

static bool parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(option, "--all") == 0) {
            how.all = true;
            continue;
        }
        if (strcmp(option, "--floors") == 0) {
            how.floors = true;
            continue;
        }
        if (strcmp(option, "--trace") == 0) {
            cebus_program_trace = true;
            continue;
        }
        bool good = true;
        if (strcmp(option, "--model") == 0)
            how.model = value;
        else if (strcmp(option, "--policy") == 0)
            how.policy = value;
        else if (strcmp(option, "--device") == 0)
            how.device = value;
        else if (strcmp(option, "--seed") == 0)
            good = how.has_seed = parse_number(value, &how.seed);
        else if (strcmp(option, "--budget") == 0)
            good = parse_number(value, &how.budget);
        else if (strcmp(option, "--variant") == 0)
            good = how.has_variant = parse_number(value, &how.variant);
        else if (strcmp(option, "--steps") == 0)
            good = parse_number(value, &how.steps);
        else
            good = false;
        if (!good)
            return false;
        i++;
    }
    return true;
}

int main(int argc, char **argv)
{
    how.all = getenv("CEBUS_TEST_ALL") != NULL;
    if (!parse(argc, argv))
        return fprintf(stderr, "usage: replay_equal [--all] [--floors] [--seed N] "
                               "[--model NAME|program|crowd] [--policy NAME] [--budget BYTES] "
                               "[--variant N] [--steps N] [--device NAME] [--trace]\n"),
               2;
    cebus_program_far = how.device != NULL &&
                        (strcmp(how.device, "cuda") == 0 || strncmp(how.device, "cuda:", 5) == 0);
    cebus_test_device_register();
    if (cebus_cuda_host_register)
        cebus_cuda_host_register();
    run_models();
    run_programs();
    run_crowd();
    check_ways();
    printf("1..%d\n", tests);
    return failed > 0;
}
