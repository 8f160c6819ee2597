/**
 * Fails the n-th piece of I/O of the spill file, for every n until a run gets through untouched, in
 * every way a disk knows: EIO, a full disk, less than was asked for, refused direct I/O, a flipped
 * bit. Then every few pieces, again and again. A call may fail with CEBUS_IO_ERROR, for want of
 * memory where the tier closed, or not at all; made again it must go through, and the run end with
 * the bits of an undisturbed one. Budgets shrink and grow while copies are under way. Policies that
 * plan have learned the program's iterations meanwhile, and copy ahead of need.
 *
 * Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cebus/cebus.h>

#include "tests/support/faulty_io.h"
#include "tests/support/heavy_net.h"
#include "tests/support/slice.h"
#include "tests/support/test_device.h"

enum {
    WIDTH = 40,
    ROWS = 6,
    STEPS = 2,
    PLANNED_STEPS = 5,
    MOST_RETRIES = 200
};
#define PARAMETER (WIDTH * WIDTH * sizeof(float))

typedef struct setting {
    const char *device, *policy;
    bool plans;
    uint64_t stride; /**< of the pieces that fail, past the first */
    bool host;       /**< memory of it comes first, and values go on from there */
} setting;

static const setting settings[] = {
    {"cpu", "coop", false, 5, false},     {"test", "coop", false, 5, false},
    {"cpu", "coop", false, 5, true},      {"test", "coop", false, 5, true},
    {"cpu", "cebus", true, 97, false},    {"test", "cebus", true, 97, false},
    {"cpu", "capuchin", true, 29, false}, {"test", "capuchin", true, 29, false},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

typedef struct run {
    const setting *setting;
    cebus_heavy_net net;
    int retries, failures;
    uint64_t prefetches, demotions;
} run;

/** After a failure: one that I/O may cause, and everything still whole? */
static bool again(cebus_heavy_net *net, cebus_status status, const char *what)
{
    run *r = net->owner;
    r->failures++;
    bool allowed = status == CEBUS_IO_ERROR || status == CEBUS_OUT_OF_MEMORY;
    if (!allowed || atomic_load(&cebus_io_faults.fired) == 0 || ++r->retries > MOST_RETRIES)
        cebus_heavy_net_break(net, what);
    else if (cebus_runtime_check(net->rt) != CEBUS_OK)
        cebus_heavy_net_break(net, "after the fault");
    return !net->broken;
}

static void open_run(run *r)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = r->setting->device;
    options.policy = r->setting->policy;
    options.threads = 1;
    options.memory_budget = 8 * PARAMETER; /* a third of what is persistent */
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.swap = CEBUS_SWAP_ON;
    options.host_budget = r->setting->host ? 6 * PARAMETER : 1;
    options.spill_budget = UINT64_C(1) << 22;
    options.debug = CEBUS_DEBUG_HASH;
    CEBUS_HEAVY_TRY(&r->net, cebus_runtime_create(&options, &r->net.rt));
    cebus_heavy_net_open(&r->net);
}

/** The budget is short from the middle of the forward to the end of the backward. */
static void step(run *r)
{
    cebus_heavy_net_begin(&r->net);
    for (int i = 0; i < CEBUS_HEAVY_LAYERS; i++) {
        cebus_heavy_net_layer(&r->net, i);
        if (i == CEBUS_HEAVY_LAYERS / 2)
            CEBUS_HEAVY_TRY(&r->net, cebus_runtime_set_budget(r->net.rt, 7 * PARAMETER));
    }
    cebus_heavy_net_backward(&r->net);
    CEBUS_HEAVY_TRY(&r->net, cebus_runtime_set_budget(r->net.rt, 8 * PARAMETER));
    cebus_heavy_net_update(&r->net);
    if (r->setting->plans)
        CEBUS_HEAVY_TRY(&r->net, cebus_iteration_mark(r->net.rt));
}

static void count(run *r)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    CEBUS_HEAVY_TRY(&r->net, cebus_runtime_memory_stats(r->net.rt, &stats));
    r->prefetches = stats.prefetches;
    r->demotions = stats.demotions;
}

/** One run with a fault at piece `at`, and every `every` pieces after it. */
static void start(run *r, const setting *chosen, cebus_io_fault fault, uint64_t at, uint64_t every)
{
    memset(r, 0, sizeof *r);
    r->setting = chosen;
    r->net = (cebus_heavy_net){.width = WIDTH, .rows = ROWS, .again = again, .owner = r};
    cebus_faulty_io_start(NULL);
    atomic_store(&cebus_io_faults.every, every);
    atomic_store(&cebus_io_faults.at, at);
    atomic_store(&cebus_io_faults.fault, fault);
    open_run(r);
    for (int i = 0; i < (chosen->plans ? PLANNED_STEPS : STEPS); i++)
        step(r);
    count(r);
    cebus_heavy_net_close(&r->net);
    cebus_faulty_io_stop();
}

static bool same_bits(run *r, const run *wanted)
{
    cebus_heavy_net *net = &r->net;
    if (!net->broken && memcmp(net->result, wanted->net.result, sizeof net->result) != 0)
        cebus_heavy_net_break(net, "other bits than the undisturbed run");
    if (net->broken)
        printf("# %s\n", net->why);
    return !net->broken;
}

static int number;
static bool all; /* every piece fails once, and not a sample of them */

static bool report(bool passed, const setting *chosen, const char *fault, const char *when,
                   int told)
{
    printf("%sok %d - %s, %s%s: %s, %s (%d calls failed)\n", passed ? "" : "not ", ++number,
           chosen->device, chosen->policy, chosen->host ? " by way of the host" : "", fault, when,
           told);
    fflush(stdout);
    return passed;
}

/** Every piece once, and at last now and again. */
static int sweep(const setting *chosen, cebus_io_fault fault, const char *name, const run *wanted)
{
    static run r;
    bool once = true, often;
    int told = 0, failed = 0;
    uint64_t stride = all ? 1 : chosen->stride, first = chosen->plans ? 4 : 24, item = 0;
    for (uint64_t at = 1;; at += at < first ? 1 : stride) {
        if (!cebus_test_slice_has(item++))
            continue;
        start(&r, chosen, fault, at, 0);
        once = same_bits(&r, wanted) && once;
        told += r.failures;
        if (!once || atomic_load(&cebus_io_faults.fired) == 0)
            break;
    }
    failed += !report(once, chosen, name, "each piece once", told);
    start(&r, chosen, fault, 5, 23);
    often = same_bits(&r, wanted) && atomic_load(&cebus_io_faults.fired) > 1;
    failed += !report(often, chosen, name, "now and again", r.failures);
    return failed;
}

static const struct {
    const char *name;
    cebus_io_fault fault;
} kinds[] = {{"EIO", CEBUS_IO_FAULT_EIO},
             {"a full disk", CEBUS_IO_FAULT_ENOSPC},
             {"refused direct I/O", CEBUS_IO_FAULT_EINVAL},
             {"short pieces", CEBUS_IO_FAULT_SHORT},
             {"a flipped bit", CEBUS_IO_FAULT_FLIP}};
enum {
    KINDS = sizeof kinds / sizeof *kinds
};

int main(void)
{
    static run wanted;
    int failed = 0;
    cebus_test_device_register();
    all = getenv("CEBUS_TEST_ALL") != NULL;
    printf("TAP version 13\n1..%d\n", SETTINGS * KINDS * 2);
    for (size_t i = 0; i < SETTINGS; i++) {
        start(&wanted, &settings[i], CEBUS_IO_FAULT_NONE, 0, 0);
        bool planned = (!settings[i].plans || wanted.prefetches > 0) &&
                       (!settings[i].host || wanted.demotions > 0);
        if (wanted.net.broken || atomic_load(&cebus_io_faults.reads) == 0 || !planned) {
            printf("Bail out! the undisturbed run fails under %s: %s\n", settings[i].policy,
                   planned ? wanted.net.why : "nothing was fetched ahead, or went on");
            return 1;
        }
        for (size_t k = 0; k < KINDS; k++)
            failed += sweep(&settings[i], kinds[k].fault, kinds[k].name, &wanted);
    }
    return failed > 0;
}
