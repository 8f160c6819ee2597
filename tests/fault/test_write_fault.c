/**
 * Fails the n-th host allocation, launch and copy of a write in place to a leaf, for every n until
 * it gets through untouched: of that leaf a map was made that is only there for a sum, which is
 * absent. The sum is made first (eager/residency.h), or, where that does not fit, it goes on
 * reading a copy of the leaf. A write that fails changes nothing and succeeds when it is made
 * again; the bits are those of an undisturbed run, and nothing leaks.
 *
 * Prints TAP.
 */
#include <stdio.h>
#include <string.h>

#include <cebus/cebus.h>

#include "tests/fault/trial.h"

enum {
    ELEMENTS = 1024,
    MAP = ELEMENTS * 4, /* bytes */
    BUDGET = 4 * MAP
};

typedef struct setting {
    const char *name;
    uint64_t budget; /* of the write */
    bool copies;
} setting;

static const setting settings[] = {
    {"that makes a sum first", BUDGET, false},
    {"that keeps a copy", BUDGET * 5 / 8, true},
};

typedef struct run {
    cebus_trial trial;
    cebus_runtime *rt;
    bool resident; /* the sum, after the write */
    double result[2];
} run;

/* ---- the program ---------------------------------------------------------------------------- */

static cebus_tensor *leaf(run *r, int64_t elements, float value)
{
    static float host[3 * ELEMENTS];
    cebus_tensor *out = NULL;
    for (int64_t i = 0; i < elements; i++)
        host[i] = value;
    TRY(r, cebus_tensor_from_host(r->rt, host, CEBUS_F32, 1, &elements, &out));
    return out;
}

/** All that can go does. */
static void press(run *r)
{
    cebus_tensor *large = leaf(r, 2 * ELEMENTS, 1);
    cebus_tensor_release(large);
    TRY(r, cebus_runtime_trim(r->rt));
}

/** Answers the sum, which is absent; the map before it is there. */
static cebus_tensor *absent_sum(run *r, cebus_tensor *first, cebus_tensor *scalar)
{
    cebus_tensor *map = NULL, *other = NULL, *sum = NULL;
    float ignored[ELEMENTS];
    TRY(r, cebus_mul(r->rt, first, scalar, &map));
    TRY(r, cebus_tanh(r->rt, map, &other));
    TRY(r, cebus_sum(r->rt, other, 0, NULL, false, &sum));
    cebus_tensor_release(other);
    press(r);
    TRY(r, cebus_tensor_to_host(map, ignored, sizeof ignored));
    cebus_tensor_release(map);
    if (!r->trial.broken && cebus_tensor_is_resident(sum))
        cebus_trial_break(&r->trial, "the sum never left");
    return sum;
}

/** The n-th fault is of the write. */
static void write_over(run *r, const setting *chosen, uint64_t n)
{
    cebus_tensor *first = leaf(r, ELEMENTS, 2), *scalar = leaf(r, 1, 3);
    cebus_tensor *sum = absent_sum(r, first, scalar);
    TRY(r, cebus_runtime_set_budget(r->rt, chosen->budget));
    cebus_trial_arm(&r->trial, n);
    TRY(r, cebus_fill_(r->rt, scalar, 100));
    cebus_trial_arm(&r->trial, 0);
    r->resident = !r->trial.broken && cebus_tensor_is_resident(sum);
    TRY(r, cebus_runtime_set_budget(r->rt, BUDGET));
    TRY(r, cebus_tensor_item(sum, &r->result[0]));
    TRY(r, cebus_tensor_item(scalar, &r->result[1]));
    TRY(r, cebus_runtime_check(r->rt));
    cebus_tensor_release(sum);
    cebus_tensor_release(scalar);
    cebus_tensor_release(first);
}

static void start(run *r, const setting *chosen, cebus_fault kind, uint64_t n)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    memset(r, 0, sizeof *r);
    cebus_trial_begin(&r->trial, kind, 0);
    options.device = "test";
    options.threads = 1;
    options.memory_budget = BUDGET;
    options.policy = "lru";
    options.swap = CEBUS_SWAP_OFF;
    options.debug = CEBUS_DEBUG_HOST | CEBUS_DEBUG_HASH;
    options.host = &r->trial.host.allocator;
    TRY(r, cebus_runtime_create(&options, &r->rt));
    write_over(r, chosen, n);
    cebus_runtime_destroy(r->rt);
    r->rt = NULL;
}

/* ---- the faults ----------------------------------------------------------------------------- */

/** Every n of one kind; the number of faults delivered, or -1. */
static int sweep(const setting *chosen, cebus_fault kind, const run *wanted)
{
    run r;
    for (uint64_t n = 1;; n++) {
        start(&r, chosen, kind, n);
        if (!cebus_trial_passed(&r.trial, r.result, wanted->result, sizeof r.result))
            return -1;
        if (!cebus_trial_fired(&r.trial))
            return (int)n - 1;
    }
}

int main(void)
{
    static const cebus_fault kinds[] = {CEBUS_FAULT_HOST, CEBUS_FAULT_LAUNCH, CEBUS_FAULT_COPY};
    int failed = 0, number = 0;
    cebus_test_device_register();
    printf("TAP version 13\n");
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        run wanted;
        start(&wanted, &settings[i], CEBUS_FAULT_NONE, 0);
        if (wanted.trial.broken || wanted.resident == settings[i].copies) {
            printf("Bail out! a write %s: %s\n", settings[i].name, wanted.trial.why);
            return 1;
        }
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            if (kinds[k] == CEBUS_FAULT_COPY && !settings[i].copies)
                continue;
            int delivered = sweep(&settings[i], kinds[k], &wanted);
            failed += delivered <= 0;
            printf("%sok %d - every %s fails once in a write %s (%d)\n",
                   delivered > 0 ? "" : "not ", ++number, cebus_fault_name(kinds[k]),
                   settings[i].name, delivered);
        }
    }
    printf("1..%d\n", number);
    return failed > 0;
}
