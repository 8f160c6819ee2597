/*
 * Property: whatever plan is loaded, the bits are the same. Prints TAP.
 *
 * Training loops (subject_loop.c) run unlimited, then in short memory under policies that plan, and
 * save their plans. Each plan is loaded by a second run: as it is, which must use it; in another
 * budget; and changed by chance, so that it can still be read but says something else: other
 * values, other times, other actions, some left out. Losses, states and parameters must be those of
 * the unlimited run, with poison, overtaking streams and hashes of what was given up, and nothing
 * may lie beyond the budget.
 *
 * usage: plan_loaded [--all] [--loop NAME] [--policy NAME] [--seed N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/property/trial.h"
#include "tests/support/test_device.h"

enum {
    STEPS = 10,
    LINES = 4096,
    LINE = 512
};

static const char *const loops[] = {"steady",  "evaluate", "accumulate", "buckets",
                                    "written", "mapped",   "carried",    "turns+unmarked"};
static const char *const policies[] = {"sublinear", "odswap", "capuchin", "cebus"};
enum {
    LOOPS = sizeof loops / sizeof *loops,
    POLICIES = sizeof policies / sizeof *policies
};

static struct {
    const char *loop, *policy;
    uint64_t seed, random;
    int changes; /**< plans changed by chance, of each */
} how = {.seed = 1, .changes = 6};

static char saved[64], changed[64];
static char lines[LINES][LINE];
static size_t n_lines;

static uint64_t draw(uint64_t bound)
{
    how.random = how.random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (how.random >> 33) % bound;
}

/* --- changing a plan --------------------------------------------------------------------------
 */

static void read_lines(void)
{
    FILE *from = fopen(saved, "r");
    n_lines = 0;
    while (from != NULL && n_lines < LINES && fgets(lines[n_lines], LINE, from) != NULL)
        n_lines++;
    if (from != NULL)
        fclose(from);
}

static uint64_t number_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/** One action of n_values and up to n_calls, in order behind `least`; or as it was. */
static uint64_t change_action(char *line, uint64_t least, uint64_t n_values, uint64_t n_calls)
{
    static const char *const kinds[] = {"drop", "copy_out", "swap_out", "swap_in", "replay"};
    uint64_t at = number_of(line, "\"at\": "), value = strtoull(strchr(line, ':') + 1, NULL, 10);
    char kind[16];
    if (sscanf(line, "{\"%15[a-z_]", kind) != 1)
        return least;
    at = at < least ? least : at;
    if (draw(16) == 0)
        value = draw(n_values);
    if (draw(10) == 0)
        snprintf(kind, sizeof kind, "%s", kinds[draw(5)]);
    if (draw(10) == 0)
        at = at + draw(n_calls - at + 1) / 4;
    snprintf(line, LINE, "{\"%s\": %" PRIu64 ", \"at\": %" PRIu64 "}\n", kind, value, at);
    return at;
}

/** A copy of the file that can be read and says something else. */
static void write_changed(void)
{
    uint64_t least = 0, n_values = 1, n_calls = 1;
    FILE *to = fopen(changed, "w");
    read_lines();
    for (size_t i = 0; to != NULL && i < n_lines; i++) {
        if (strncmp(lines[i], "{\"plan\"", 7) == 0) {
            least = 0;
            n_values = number_of(lines[i], "\"values\": ");
            n_calls = number_of(lines[i], "\"calls\": ");
        } else if (i > 0) {
            least = change_action(lines[i], least, n_values, n_calls);
        }
        fputs(lines[i], to);
    }
    if (to != NULL)
        fclose(to);
}

/* --- runs ------------------------------------------------------------------------------------ */

static cebus_trial trial_of(const char *loop, const char *policy, uint64_t budget)
{
    return (cebus_trial){.subject = &cebus_subject_loop,
                         .name = loop,
                         .seed = how.seed,
                         .steps = STEPS,
                         .policy = policy,
                         .budget = budget,
                         .cost_model = CEBUS_COST_ESTIMATED};
}

static bool run(const cebus_outcome *wanted, const cebus_trial *trial, cebus_outcome *out)
{
    cebus_trial_run(trial, out);
    const char *wrong = out->failure[0] != '\0' ? out->failure : NULL;
    if (wrong == NULL && cebus_record_compare(&wanted->record, &out->record) >= 0)
        wrong = "other bits than the unlimited run";
    if (wrong != NULL)
        printf("# %.*s\n# loop %s policy %s budget %" PRIu64 " seed %" PRIu64 " plan %s\n",
               (int)strcspn(wrong, "\n"), wrong, trial->name, trial->policy, trial->budget,
               how.seed, trial->load_plan != NULL ? trial->load_plan : "-");
    cebus_record_deinit(&out->record);
    return wrong == NULL;
}

/** Saves a plan, then runs by it in this budget and another, and by what chance makes of it. */
static bool sweep(const cebus_outcome *wanted, const char *loop, const char *policy)
{
    cebus_outcome got;
    uint64_t budget = wanted->least + (wanted->peak - wanted->least) / 2;
    cebus_trial trial = trial_of(loop, policy, budget);
    trial.save_plan = saved;
    bool passed = run(wanted, &trial, &got), made = access(saved, R_OK) == 0;
    trial.save_plan = NULL;
    trial.load_plan = saved;
    passed = run(wanted, &trial, &got) && passed;
    if (made && got.ooms == 0 && got.plans_used + got.plans_refused == 0) {
        printf("# no loaded plan was met by its iteration\n");
        passed = false;
    }
    trial.budget = budget + (wanted->peak - budget) / 8;
    passed = run(wanted, &trial, &got) && passed;
    uint64_t used = 0;
    trial.budget = budget;
    trial.load_plan = changed;
    for (int i = 0; i < how.changes && made; i++) {
        write_changed();
        trial.device = i % 2 == 0 ? "test" : NULL;
        trial.debug = i % 2 == 0 ? 0 : CEBUS_DEBUG_HASH | CEBUS_DEBUG_WALK;
        trial.layout = i % 3 == 2 ? "planned" : NULL;
        passed = run(wanted, &trial, &got) && passed;
        used += got.plans_used;
    }
    /* Those of cebus must be whole, which chance seldom leaves them. */
    if (made && used == 0 && strcmp(loop, "steady") == 0 && strcmp(policy, "cebus") != 0) {
        printf("# no changed plan was followed\n");
        passed = false;
    }
    unlink(changed);
    unlink(saved);
    return passed;
}

static bool parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(option, "--all") == 0) {
            how.changes = 40;
            continue;
        }
        if (value == NULL)
            return false;
        if (strcmp(option, "--loop") == 0)
            how.loop = value;
        else if (strcmp(option, "--policy") == 0)
            how.policy = value;
        else if (strcmp(option, "--seed") == 0)
            how.seed = strtoull(value, NULL, 10);
        else
            return false;
        i++;
    }
    return true;
}

int main(int argc, char **argv)
{
    int tests = 0, failed = 0;
    how.changes = getenv("CEBUS_TEST_ALL") != NULL ? 40 : how.changes;
    if (!parse(argc, argv))
        return fprintf(stderr,
                       "usage: plan_loaded [--all] [--loop NAME] [--policy NAME] [--seed N]\n"),
               2;
    if (!cebus_test_device_register())
        return 1;
    how.random = how.seed;
    snprintf(saved, sizeof saved, "/tmp/cebus-saved-%ld", (long)getpid());
    snprintf(changed, sizeof changed, "/tmp/cebus-changed-%ld", (long)getpid());
    for (size_t l = 0; l < LOOPS; l++) {
        cebus_outcome wanted;
        cebus_trial trial = trial_of(loops[l], "none", 0);
        if (how.loop != NULL && strcmp(how.loop, loops[l]) != 0)
            continue;
        cebus_trial_run(&trial, &wanted);
        for (size_t p = 0; p < POLICIES; p++) {
            if (how.policy != NULL && strcmp(how.policy, policies[p]) != 0)
                continue;
            bool passed = wanted.failure[0] == '\0' && sweep(&wanted, loops[l], policies[p]);
            failed += !passed;
            printf("%sok %d - %s by plans of %s\n", passed ? "" : "not ", ++tests, loops[l],
                   policies[p]);
            fflush(stdout);
        }
        cebus_record_deinit(&wanted.record);
    }
    printf("1..%d\n", tests);
    return failed > 0;
}
