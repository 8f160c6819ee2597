/*
 * Property: whatever goes on around a program, and whatever fails in it, it sees the same bits as
 * alone and with plenty of memory, and the books hold (disturbed.h). Prints TAP.
 *
 * usage: disturbed_equal [--all] [--model program|LOOP] [--seed N] [--draw N] [--steps N] [--trace]
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
    PROGRAMS = 12,
    PROGRAMS_ALL = 500,
    DRAWS = 6 /* disturbances of each program */
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
    for (uint64_t draw = 1; draw <= DRAWS && alone.failure[0] == '\0'; draw++) {
        if (how.draw != 0 && draw > 1)
            break;
        what.draw = how.draw != 0 ? how.draw : draw;
        cebus_disturbed_run(&what, &out);
        report(&what, &out, cebus_record_compare(&alone.record, &out.record));
        add(&out);
        cebus_record_deinit(&out.record);
    }
    cebus_record_deinit(&alone.record);
}

static void test_all(void)
{
    cebus_disturbed what = {.subject = &cebus_subject_program, .name = "program"};
    if (how.model != NULL && strcmp(how.model, "program") != 0) {
        what.subject = &cebus_subject_loop;
        what.name = how.model;
    }
    what.steps = how.steps != 0 ? how.steps : STEPS;
    const uint64_t last = how.seed != 0 ? how.seed : how.all ? PROGRAMS_ALL : PROGRAMS;
    for (what.seed = how.seed != 0 ? how.seed : 1; what.seed <= last; what.seed++)
        test_program(what);
    printf("# %" PRIu64 " faults told, %" PRIu64 " of them for want of memory; %" PRIu64
           " captures, %" PRIu64 " launches; %" PRIu64 " evictions\n",
           sum.faults, sum.ooms, sum.captures, sum.launches, sum.evictions);
    if (how.seed != 0)
        return;
    bool met = sum.faults > sum.ooms && sum.ooms > 0 && sum.launches > 0 && sum.evictions > 0;
    printf("%s %d - all that was to disturb did\n", met ? "ok" : "not ok", ++tests);
    failed += !met;
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
