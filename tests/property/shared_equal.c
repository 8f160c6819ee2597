/*
 * Property: programs on threads of their own share a runtime, while another thread changes its
 * budget and its policy, and each sees the bits that it sees alone with plenty of memory. Steps
 * that draw random numbers, of which a runtime has one row, name where they begin, under the
 * runtime's lock. Prints TAP; meant for the thread sanitizer, too.
 *
 * usage: shared_equal [--all] [--seed N] [--steps N]
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eager/runtime.h"
#include "tests/property/failure.h"
#include "tests/property/program.h"

enum {
    PROGRAMS = 3, /* at once */
    STEPS = 400,
    ROUNDS = 12,
    ROUNDS_ALL = 100,
    MOST_RETRIES = 1000000
};

typedef struct runner {
    cebus_runtime *rt;
    uint64_t seed;
    size_t steps;
    cebus_record record;
    void *program;
    uint64_t retries;
    cebus_failure failure;
} runner;

typedef struct round {
    cebus_runtime *rt;
    uint64_t random, peak, unlimited, changes;
    atomic_int running; /**< programs */
    cebus_failure failure;
} round;

static struct {
    bool all;
    uint64_t seed, steps;
} how;
static uint64_t changes; /**< from outside, of all rounds */

/* --- a program ------------------------------------------------------------------------------- */

static bool draws_numbers(const char *step)
{
    static const char *const names[] = {"attention", "create", "custom", "dropout"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(step, names[i]) == 0)
            return true;
    }
    return false;
}

static cebus_status step(runner *r, size_t i)
{
    if (i == r->steps)
        return cebus_subject_program.finish(r->program, &r->record);
    if (!draws_numbers(cebus_program_next(r->program)))
        return cebus_subject_program.step(r->program, i, &r->record);
    cebus_status status = cebus_runtime_lock(r->rt, "test");
    if (status != CEBUS_OK)
        return status;
    cebus_manual_seed(r->rt, r->seed << 32 | i);
    status = cebus_subject_program.step(r->program, i, &r->record);
    cebus_runtime_unlock(r->rt);
    return status;
}

/** The budget may be short for a moment. */
static bool may_retry(runner *r, bool failed)
{
    if (!failed)
        return false;
    if (cebus_last_error()->status != CEBUS_OUT_OF_MEMORY || r->retries++ == MOST_RETRIES) {
        cebus_failure_note_error(r->failure, "a step");
        return false;
    }
    sched_yield();
    return true;
}

static void create(runner *r)
{
    do {
        if (cebus_runtime_lock(r->rt, "test") != CEBUS_OK) {
            cebus_failure_note_error(r->failure, "the lock");
            return;
        }
        r->program = cebus_subject_program.create(r->rt, "program", r->seed);
        cebus_runtime_unlock(r->rt);
    } while (may_retry(r, r->program == NULL));
}

static void run_program(runner *r)
{
    create(r);
    for (size_t i = 0; i <= r->steps && r->failure[0] == '\0'; i++) {
        const size_t before = r->record.count;
        sched_yield(); /* a lock that is free for a moment goes to whoever runs */
        while (may_retry(r, step(r, i) != CEBUS_OK))
            cebus_record_truncate(&r->record, before);
    }
    if (r->program != NULL)
        cebus_subject_program.destroy(r->program);
}

static runner runner_of(cebus_runtime *rt, uint64_t seed)
{
    return (runner){.rt = rt, .seed = seed, .steps = how.steps != 0 ? how.steps : STEPS};
}

static cebus_runtime *open_runtime(uint32_t debug, cebus_swap swap)
{
    cebus_runtime *rt = NULL;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.debug = debug;
    options.swap = swap;
    return cebus_runtime_create(&options, &rt) == CEBUS_OK ? rt : NULL;
}

/* --- from outside ---------------------------------------------------------------------------- */

static uint64_t draw(round *r, uint64_t bound)
{
    r->random = r->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (r->random >> 33) % bound;
}

static cebus_status change(round *r)
{
    size_t n = 0;
    switch (draw(r, 8)) {
    case 0:
        while (cebus_policy_name(n) != NULL)
            n++;
        return cebus_runtime_set_policy(r->rt, cebus_policy_name(draw(r, n)));
    case 1:
        return cebus_runtime_trim(r->rt);
    case 2:
        return cebus_runtime_check(r->rt);
    case 3:
        return cebus_runtime_set_budget(r->rt, r->unlimited);
    default:
        return cebus_runtime_set_budget(r->rt, r->peak * (20 + draw(r, 80)) / 100 + 4096);
    }
}

static void *disturb(void *argument)
{
    round *r = argument;
    while (atomic_load(&r->running) > 0 && r->failure[0] == '\0') {
        cebus_status status = change(r);
        r->changes += status == CEBUS_OK;
        if (status != CEBUS_OK && status != CEBUS_OUT_OF_MEMORY)
            cebus_failure_note_error(r->failure, "a change from outside");
        for (uint64_t i = draw(r, 20); i > 0; i--)
            sched_yield();
    }
    if (cebus_runtime_set_budget(r->rt, r->unlimited) != CEBUS_OK)
        cebus_failure_note_error(r->failure, "the last budget");
    return NULL;
}

/* --- a round --------------------------------------------------------------------------------- */

typedef struct task {
    runner *runner;
    round *round;
} task;

static void *run_thread(void *argument)
{
    const task *t = argument;
    run_program(t->runner);
    atomic_fetch_sub(&t->round->running, 1);
    return NULL;
}

/** What the programs see alone, and the memory that they take together. */
static bool run_alone(runner *alone, uint64_t seed, uint64_t *out_peak)
{
    *out_peak = 0;
    for (size_t k = 0; k < PROGRAMS; k++) {
        alone[k] = runner_of(open_runtime(0, CEBUS_SWAP_DEFAULT), seed * PROGRAMS + k);
        if (alone[k].rt == NULL)
            return false;
        run_program(&alone[k]);
        *out_peak += cebus_max_memory_allocated(alone[k].rt);
        cebus_runtime_destroy(alone[k].rt);
        if (alone[k].failure[0] != '\0') {
            printf("# alone: %s\n", alone[k].failure);
            return false;
        }
    }
    return true;
}

static bool run_threads(round *r, runner *runners)
{
    pthread_t threads[PROGRAMS + 1];
    task tasks[PROGRAMS];
    atomic_store(&r->running, PROGRAMS);
    for (size_t k = 0; k < PROGRAMS; k++) {
        tasks[k] = (task){&runners[k], r};
        if (pthread_create(&threads[k], NULL, run_thread, &tasks[k]) != 0)
            abort();
    }
    if (pthread_create(&threads[PROGRAMS], NULL, disturb, r) != 0)
        abort();
    for (size_t k = 0; k <= PROGRAMS; k++)
        pthread_join(threads[k], NULL);
    if (cebus_runtime_check(r->rt) != CEBUS_OK)
        cebus_failure_note_error(r->failure, "at the end");
    if (cebus_memory_allocated(r->rt) != 0)
        cebus_failure_note(r->failure, "bytes are left when everything was released");
    return r->failure[0] == '\0';
}

static bool compare(const runner *alone, const runner *shared)
{
    int64_t other = cebus_record_compare(&alone->record, &shared->record);
    if (shared->failure[0] != '\0')
        printf("# program %" PRIu64 ": %s\n", shared->seed, shared->failure);
    else if (other >= 0)
        printf("# program %" PRIu64 ": record %" PRId64 " has other bits\n", shared->seed, other);
    return shared->failure[0] == '\0' && other < 0;
}

static bool test_round(uint64_t seed)
{
    static const uint32_t debug[] = {CEBUS_DEBUG_HASH, CEBUS_DEBUG_WALK, CEBUS_DEBUG_CHAOS, 0};
    runner alone[PROGRAMS] = {{0}}, shared[PROGRAMS];
    round r = {.random = seed};
    bool good = run_alone(alone, seed, &r.peak);
    r.rt = open_runtime(debug[seed % 4], seed % 3 == 0 ? CEBUS_SWAP_ON : CEBUS_SWAP_DEFAULT);
    if (r.rt == NULL)
        return false;
    r.unlimited = cebus_runtime_budget(r.rt);
    for (size_t k = 0; k < PROGRAMS; k++)
        shared[k] = runner_of(r.rt, seed * PROGRAMS + k);
    if (good && !run_threads(&r, shared)) {
        printf("# %s\n", r.failure);
        good = false;
    }
    for (size_t k = 0; k < PROGRAMS; k++) {
        good = good && compare(&alone[k], &shared[k]);
        cebus_record_deinit(&alone[k].record);
        cebus_record_deinit(&shared[k].record);
    }
    cebus_runtime_destroy(r.rt);
    changes += r.changes;
    return good;
}

int main(int argc, char **argv)
{
    int failed = 0;
    how.all = getenv("CEBUS_TEST_ALL") != NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0)
            how.all = true;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            how.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            how.steps = strtoull(argv[++i], NULL, 10);
        else
            return fprintf(stderr, "unknown option %s\n", argv[i]), 2;
    }
    uint64_t first = how.seed != 0 ? how.seed : 1, last = how.seed != 0 ? how.seed
                                                          : how.all     ? ROUNDS_ALL
                                                                        : ROUNDS;
    printf("TAP version 13\n1..%d\n", (int)(last - first + 1));
    for (uint64_t seed = first; seed <= last; seed++) {
        bool good = test_round(seed);
        printf("%s %d - %d programs share a runtime, seed %" PRIu64 "\n", good ? "ok" : "not ok",
               (int)(seed - first + 1), PROGRAMS, seed);
        fflush(stdout);
        failed += !good;
    }
    printf("# %" PRIu64 " changes from outside\n", changes);
    return failed > 0 || changes == 0;
}
