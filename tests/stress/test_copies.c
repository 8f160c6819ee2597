/**
 * A model larger than its budget trains while copies to the host and to the spill file are under
 * way, over a link slow enough that they always are; another thread shrinks and grows the budget,
 * trims, reads statistics and checks the books meanwhile. Policies that plan learn, plan in the
 * background, and copy ahead of need. The parameters must be those of a run in peace. Prints TAP;
 * meant for the thread sanitizer as much as for itself.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <cebus/cebus.h>

#include "tests/support/heavy_net.h"

enum {
    WIDTH = 40,
    ROWS = 6,
    STEPS = 12,
    MOST_RETRIES = 100000
};
#define PARAMETER (WIDTH * WIDTH * sizeof(float))

typedef struct setting {
    const char *name, *device, *policy, *layout;
    uint64_t host_budget, spill_budget;
} setting;

static const setting settings[] = {
    {"lru, to the host", "cpu:link=100MB", "lru", NULL, 1 << 22, 0},
    {"lru, to the file", "cpu", "lru", NULL, 1, 1 << 22},
    {"odswap, to both", "cpu:link=100MB", "odswap", NULL, 6 * PARAMETER, 1 << 22},
    {"capuchin, to the host", "cpu:link=100MB", "capuchin", NULL, 1 << 22, 0},
    {"capuchin, to the file", "cpu", "capuchin", NULL, 1, 1 << 22},
    {"cebus, to the host", "cpu:link=100MB", "cebus", NULL, 1 << 22, 0},
    {"cebus, to both", "cpu:link=100MB", "cebus", "zones", 6 * PARAMETER, 1 << 22},
    {"cebus, to the file", "cpu", "cebus", NULL, 1, 1 << 22},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

typedef struct run {
    cebus_heavy_net net;
    atomic_bool done;
    uint64_t changes;   /**< of the budget */
    uint64_t swap_outs; /**< and back */
    int retries;
} run;

/** The budget may be short for a moment: what did not fit is asked for again. */
static bool again(cebus_heavy_net *net, cebus_status status, const char *what)
{
    run *r = net->owner;
    (void)what;
    sched_yield();
    return status == CEBUS_OUT_OF_MEMORY && r->retries++ < MOST_RETRIES;
}

static void open_run(run *r, const setting *chosen)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    options.cost_model = CEBUS_COST_ESTIMATED;
    if (chosen != NULL) {
        options.device = chosen->device;
        options.policy = chosen->policy;
        options.layout = chosen->layout;
        options.memory_budget = 9 * PARAMETER; /* of 15 that are persistent */
        options.swap = CEBUS_SWAP_ON;
        options.host_budget = chosen->host_budget;
        options.spill_budget = chosen->spill_budget;
        options.debug = CEBUS_DEBUG_HASH;
    }
    r->net = (cebus_heavy_net){.width = WIDTH, .rows = ROWS, .again = again, .owner = r};
    CEBUS_HEAVY_TRY(&r->net, cebus_runtime_create(&options, &r->net.rt));
    cebus_heavy_net_open(&r->net);
}

static void close_run(run *r)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    CEBUS_HEAVY_TRY(&r->net, cebus_runtime_memory_stats(r->net.rt, &stats));
    r->swap_outs = stats.swap_outs < stats.swap_ins ? stats.swap_outs : stats.swap_ins;
    cebus_heavy_net_close(&r->net);
}

/** Answers NULL, or what no budget excuses. */
static const char *disturb_once(run *r, uint64_t i)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    uint64_t budget = (6 + i * 5 % 9) * PARAMETER;
    cebus_status status = cebus_runtime_set_budget(r->net.rt, budget);
    if (status != CEBUS_OK && status != CEBUS_OUT_OF_MEMORY)
        return "setting the budget";
    r->changes += status == CEBUS_OK;
    if (i % 3 == 0 && cebus_runtime_trim(r->net.rt) != CEBUS_OK)
        return "trimming";
    if (cebus_runtime_memory_stats(r->net.rt, &stats) != CEBUS_OK)
        return "statistics";
    if (stats.allocated_bytes_current > stats.reserved_bytes_current)
        return "bytes beyond the budget";
    return cebus_runtime_check(r->net.rt) == CEBUS_OK ? NULL : "the books";
}

/** Ends with a budget that everything fits. */
static void *disturb(void *argument)
{
    run *r = argument;
    const char *wrong = NULL;
    for (uint64_t i = 0; wrong == NULL && !atomic_load(&r->done); i++) {
        wrong = disturb_once(r, i);
        sched_yield();
    }
    if (cebus_runtime_set_budget(r->net.rt, 9 * PARAMETER) != CEBUS_OK && wrong == NULL)
        wrong = "setting the last budget";
    return (void *)wrong;
}

static bool same_bits(run *r, const run *wanted, const char *wrong)
{
    if (r->net.broken)
        printf("# %s\n", r->net.why);
    else if (wrong != NULL)
        printf("# the other thread: %s\n", wrong);
    else if (memcmp(r->net.result, wanted->net.result, sizeof r->net.result) != 0)
        printf("# other bits than in peace\n");
    else if (r->swap_outs == 0 || r->changes == 0)
        printf("# nothing was swapped, or the budget never changed\n");
    else
        return true;
    return false;
}

static bool test_setting(const setting *chosen, const run *wanted)
{
    static run r;
    pthread_t other;
    void *wrong = NULL;
    memset(&r, 0, sizeof r);
    open_run(&r, chosen);
    if (r.net.broken || pthread_create(&other, NULL, disturb, &r) != 0)
        return same_bits(&r, wanted, "it could not be made");
    for (int i = 0; i < STEPS; i++)
        cebus_heavy_net_step(&r.net);
    atomic_store(&r.done, true);
    pthread_join(other, &wrong);
    close_run(&r);
    return same_bits(&r, wanted, wrong);
}

int main(void)
{
    static run wanted;
    int failed = 0;
    open_run(&wanted, NULL);
    for (int i = 0; i < STEPS; i++)
        cebus_heavy_net_step(&wanted.net);
    close_run(&wanted);
    printf("TAP version 13\n1..%d\n", SETTINGS);
    if (wanted.net.broken) {
        printf("Bail out! %s\n", wanted.net.why);
        return 1;
    }
    for (int i = 0; i < SETTINGS; i++) {
        bool good = test_setting(&settings[i], &wanted);
        failed += !good;
        printf("%sok %d - %s\n", good ? "" : "not ", i + 1, settings[i].name);
        fflush(stdout);
    }
    return failed > 0;
}
