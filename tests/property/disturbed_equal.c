/*
 * Property: whatever goes on around a program, and whatever fails in it, it sees the same bits as
 * alone and with plenty of memory, and the books hold (disturbed.h). Prints TAP.
 *
 * usage: disturbed_equal [--all] [--model program|rounds[+unmarked|+turns|+drift]|LOOP] [--seed N]
 * [--draw N] [--steps N] [--trace]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/disturbed.h"
#include "tests/property/program.h"
#include "tests/support/test_device.h"

enum {
    STEPS = 250,
    PASSES = 8,
    DRAWS = 6 /* disturbances of each program */
};

/** Subjects of a name, from seed 1 on. */
typedef struct family {
    const char *name;
    const cebus_subject *subject;
    size_t steps;
    uint64_t programs, programs_all;
} family;

static const family families[] = {
    {"program", &cebus_subject_program, STEPS, 12, 500},
    {"rounds", &cebus_subject_rounds, PASSES *CEBUS_ROUND_STEPS, 4, 200},
    {"rounds+unmarked", &cebus_subject_rounds, PASSES *CEBUS_ROUND_STEPS, 2, 100},
    {"rounds+turns", &cebus_subject_rounds, PASSES *CEBUS_ROUND_STEPS, 2, 100},
    {"rounds+drift", &cebus_subject_rounds, PASSES *CEBUS_ROUND_STEPS, 2, 100},
};
enum {
    FAMILIES = sizeof families / sizeof *families
};

static struct {
    bool all;
    const char *model;
    uint64_t seed, draw, steps; /**< 0: all of them */
} how;
static int tests, failed;
/** Of all runs together: what never happened was not tested. */
static cebus_disturbed_outcome sum;

static void report(const cebus_disturbed *what, const cebus_disturbed_outcome *out, int64_t other)
{
    bool good = out->failure[0] == '\0' && other < 0;
    printf("%s %d - %s, seed %" PRIu64 ", draw %" PRIu64 "\n", good ? "ok" : "not ok", ++tests,
           what->name, what->seed, what->draw);
    fflush(stdout);
    if (good)
        return;
    failed++;
    if (out->failure[0] != '\0')
        printf("# %s\n", out->failure);
    else
        printf("# record %" PRId64 " has other bits\n", other);
    printf("# reproduce: --model %s --seed %" PRIu64 " --draw %" PRIu64 " --steps %zu\n",
           what->name, what->seed, what->draw, what->steps);
}

static void add(const cebus_disturbed_outcome *out)
{
    sum.faults += out->faults;
    sum.ooms += out->ooms;
    sum.captures += out->captures;
    sum.launches += out->launches;
    sum.reordered += out->reordered;
    sum.advised += out->advised;
    sum.guided += out->guided;
    sum.loaded += out->loaded;
    sum.evictions += out->evictions;
}

static void test_program(cebus_disturbed what)
{
    cebus_disturbed_outcome alone, out;
    what.draw = 0;
    cebus_disturbed_run(&what, &alone);
    if (alone.failure[0] != '\0')
        report(&what, &alone, -1);
    what.peak = alone.peak;
    cebus_disturbed_forget(); /* plans are of one disturbance for the next */
    const uint64_t last = how.draw != 0 ? how.draw : DRAWS;
    for (what.draw = 1; what.draw <= last && alone.failure[0] == '\0'; what.draw++) {
        cebus_disturbed_run(&what, &out);
        if (how.draw == 0 || what.draw == how.draw)
            report(&what, &out, cebus_record_compare(&alone.record, &out.record));
        add(&out);
        cebus_record_deinit(&out.record);
    }
    cebus_record_deinit(&alone.record);
}

static const family *family_of(const char *name)
{
    static family other = {.subject = &cebus_subject_loop, .steps = STEPS};
    other.name = name;
    for (size_t i = 0; i < FAMILIES; i++) {
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    }
    return &other;
}

static void test_family(const family *f)
{
    const uint64_t last = how.seed != 0 ? how.seed : how.all ? f->programs_all : f->programs;
    cebus_disturbed what = {.subject = f->subject, .name = f->name};
    what.steps = how.steps != 0 ? how.steps : f->steps;
    for (what.seed = how.seed != 0 ? how.seed : 1; what.seed <= last; what.seed++)
        test_program(what);
}

/** What never happened was not tested. */
static bool met_all(void)
{
    return sum.faults > sum.ooms && sum.ooms > 0 && sum.launches > 0 && sum.evictions > 0 &&
           sum.reordered > 0 && sum.advised > 0 && sum.guided > 0 && sum.loaded > 0;
}

static void test_all(void)
{
    if (how.model != NULL)
        test_family(family_of(how.model));
    for (size_t i = 0; i < FAMILIES && how.model == NULL; i++)
        test_family(&families[i]);
    cebus_disturbed_forget();
    printf("# %" PRIu64 " faults told, %" PRIu64 " of them for want of memory; %" PRIu64
           " captures, %" PRIu64 " launches, %" PRIu64 " other orders, %" PRIu64
           " plans of the advisor; %" PRIu64 " iterations by a plan, %" PRIu64
           " plans from a file; %" PRIu64 " evictions\n",
           sum.faults, sum.ooms, sum.captures, sum.launches, sum.reordered, sum.advised, sum.guided,
           sum.loaded, sum.evictions);
    if (how.seed != 0 || how.model != NULL)
        return;
    printf("%s %d - all that was to disturb did\n", met_all() ? "ok" : "not ok", ++tests);
    failed += !met_all();
}

static bool read_number(int argc, char **argv, int *i, const char *flag, uint64_t *out)
{
    if (strcmp(argv[*i], flag) != 0 || *i + 1 >= argc)
        return false;
    *out = strtoull(argv[++*i], NULL, 10);
    return true;
}

int main(int argc, char **argv)
{
    how.all = getenv("CEBUS_TEST_ALL") != NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0) {
            how.all = true;
        } else if (strcmp(argv[i], "--trace") == 0) {
            cebus_program_trace = true;
        } else if (strcmp(argv[i], "--model") == 0 && i + 1 < argc) {
            how.model = argv[++i];
        } else if (!read_number(argc, argv, &i, "--seed", &how.seed) &&
                   !read_number(argc, argv, &i, "--draw", &how.draw) &&
                   !read_number(argc, argv, &i, "--steps", &how.steps)) {
            fprintf(stderr, "unknown option %s\n", argv[i]);
            return 2;
        }
    }
    if (!cebus_test_device_register())
        return 1;
    printf("TAP version 13\n# seeds from 1 on\n");
    test_all();
    printf("1..%d\n", tests);
    return failed > 0;
}
