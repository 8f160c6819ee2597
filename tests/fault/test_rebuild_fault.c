/**
 * Fails the n-th host allocation, launch and copy of a rebuild that is planned as a small program
 * (eager/rebuild/plan.h), for every n until a rebuild gets through untouched. Without host memory
 * for the plan, or with a plan that finds its room taken, the rebuild goes another way: the read
 * that wanted the value succeeds all the same, or says what failed, leaves every invariant intact
 * and succeeds when it is made again. The bits are those of an undisturbed run, nothing leaks, and
 * nothing that was made on the way stays.
 *
 * The calls say how long they take, since only such lists are planned whose calls are worth it: the
 * same ones, said to be cheap, are rebuilt depth first, which runs another number of them. Tables
 * that come from the host take room that the plan does not know of: there it begins the rebuild,
 * and what is left goes depth first.
 *
 * Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cebus/cebus.h>

#include "tests/fault/trial.h"
#include "tests/support/slice.h"

enum {
    LAYERS = 64,
    EVERY =
        8, /* so many layers read a table from the host, which can leave but not be made again */
    ELEMENTS = 64,
    MAP = ELEMENTS * 4, /* bytes */
    PLENTY = 256,       /* maps */
    DEAR = 20000,       /* ns */
    CHEAP = 2000
};

typedef struct setting {
    const char *name;
    bool tables;
    uint64_t maps; /* the budget of the rebuild */
    cebus_swap swap;
} setting;

static const setting settings[] = {
    {"in a few maps", false, 10, CEBUS_SWAP_OFF},
    {"with tables on the host", true, 12, CEBUS_SWAP_ON},
};
enum {
    SETTINGS = sizeof settings / sizeof *settings
};

typedef struct run {
    cebus_trial trial;
    cebus_runtime *rt;
    const setting *setting;
    uint64_t calls;  /* run for the rebuild */
    uint64_t copies; /* to the device, for it */
    float result[ELEMENTS];
} run;

/* ---- calls of a known price ----------------------------------------------------------------- */

static uint64_t price;

static uint64_t say_price(const cebus_custom_launch *launch)
{
    (void)launch;
    return price;
}

static cebus_status like_first(void *user, const void *attrs, const cebus_view *const *in,
                               uint32_t n_in, cebus_view *out)
{
    (void)user, (void)attrs, (void)n_in;
    out[0].dtype = CEBUS_F32;
    out[0].ndim = in[0]->ndim;
    memcpy(out[0].shape, in[0]->shape, sizeof out[0].shape);
    return CEBUS_OK;
}

static cebus_status mix(const cebus_custom_launch *launch)
{
    const float *x = launch->in[0].data, *y = launch->in[launch->n_in - 1].data;
    float *out = launch->out[0].data;
    for (int i = 0; i < ELEMENTS; i++)
        out[i] = 0.625F * x[i] - 0.25F * y[i] + 0.125F;
    return CEBUS_OK;
}

static const cebus_custom_op op = {.struct_size = sizeof op,
                                   .name = "mix",
                                   .n_out = 1,
                                   .infer = like_first,
                                   .cost = say_price,
                                   .run = mix};

/* ---- the program ---------------------------------------------------------------------------- */

static cebus_tensor *table(run *r, int number)
{
    static const int64_t shape[1] = {ELEMENTS};
    float host[ELEMENTS];
    cebus_tensor *out = NULL;
    for (int i = 0; i < ELEMENTS; i++)
        host[i] = 0.01F * (float)(i + number);
    TRY(r, cebus_tensor_from_host(r->rt, host, CEBUS_F32, 1, shape, &out));
    return out;
}

static cebus_tensor *mixed(run *r, cebus_tensor *x, cebus_tensor *y)
{
    cebus_tensor *in[2] = {x, y}, *out = NULL;
    TRY(r, cebus_hint_push(CEBUS_HINT_PREFER_RECOMPUTE));
    TRY(r, cebus_call_custom(r->rt, &op, NULL, 0, in, y != NULL ? 2 : 1, &out));
    (void)cebus_hint_pop();
    return out;
}

static cebus_tensor *layer(run *r, int number, cebus_tensor *x)
{
    if (!r->setting->tables || number % EVERY != 0)
        return mixed(r, x, NULL);
    cebus_tensor *y = table(r, number), *out = mixed(r, x, y);
    cebus_tensor_release(y);
    return out;
}

/** Forward through layers and back, where each is read once more: one pass holds them all. */
static cebus_tensor *there_and_back(run *r)
{
    cebus_tensor *x[LAYERS + 1], *g, *next;
    x[0] = table(r, 0);
    for (int i = 0; i < LAYERS; i++)
        x[i + 1] = layer(r, i, x[i]);
    g = mixed(r, x[LAYERS], NULL);
    for (int i = LAYERS; i >= 0; i--) {
        next = mixed(r, g, x[i]);
        cebus_tensor_release(g);
        cebus_tensor_release(x[i]);
        g = mixed(r, next, NULL);
        cebus_tensor_release(next);
    }
    return g;
}

static void count(run *r, uint64_t *out_calls, uint64_t *out_copies)
{
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    TRY(r, cebus_runtime_memory_stats(r->rt, &stats));
    *out_calls = stats.recomputes;
    *out_copies = stats.swap_ins;
}

/** What the rebuild made is gone but for what was read; tables that came back stay. */
static void check_left(run *r, uint64_t before)
{
    bool more = cebus_memory_allocated(r->rt) > before + MAP;
    if (!r->trial.broken && more && !r->setting->tables)
        cebus_trial_break(&r->trial, "what the rebuild made stays");
}

/** Gives the last value up and reads it again; the n-th fault is of that. */
static void rebuild(run *r, cebus_tensor *g, uint64_t n)
{
    uint64_t calls = 0, copies = 0;
    uint64_t stays = r->setting->swap == CEBUS_SWAP_ON ? 0 : MAP; /* the first table */
    TRY(r, cebus_runtime_set_budget(r->rt, stays + MAP));
    cebus_tensor *other = table(r, 7);
    TRY(r, cebus_runtime_set_budget(r->rt, r->setting->maps * MAP));
    if (!r->trial.broken && cebus_tensor_is_resident(g))
        cebus_trial_break(&r->trial, "it never left");
    count(r, &calls, &copies);
    uint64_t before = cebus_memory_allocated(r->rt);
    cebus_trial_arm(&r->trial, n);
    TRY(r, cebus_tensor_to_host(g, r->result, sizeof r->result));
    cebus_trial_arm(&r->trial, 0);
    check_left(r, before);
    count(r, &r->calls, &r->copies);
    r->calls -= calls;
    r->copies -= copies;
    cebus_tensor_release(other);
}

static void start(run *r, const setting *chosen, uint64_t ns, cebus_fault kind, uint64_t n)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    memset(r, 0, sizeof *r);
    r->setting = chosen;
    price = ns;
    cebus_trial_begin(&r->trial, kind, 0);
    options.device = "test";
    options.threads = 1;
    options.memory_budget = (uint64_t)PLENTY * MAP;
    options.policy = "dtr";
    options.swap = chosen->swap;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.debug = CEBUS_DEBUG_HOST;
    options.host = &r->trial.host.allocator;
    TRY(r, cebus_runtime_create(&options, &r->rt));
    cebus_tensor *g = there_and_back(r);
    rebuild(r, g, n);
    TRY(r, cebus_runtime_check(r->rt));
    cebus_tensor_release(g);
    cebus_runtime_destroy(r->rt);
    r->rt = NULL;
}

/* ---- the faults ----------------------------------------------------------------------------- */

/** Every n of one kind that is in the slice; the number of faults delivered, or -1. */
static int sweep(const setting *chosen, cebus_fault kind, const run *wanted)
{
    static run r;
    int delivered = 0;
    for (uint64_t n = 1;; n++) {
        if (!cebus_test_slice_has(n - 1))
            continue;
        start(&r, chosen, DEAR, kind, n);
        if (!cebus_trial_passed(&r.trial, r.result, wanted->result, sizeof r.result))
            return -1;
        if (!cebus_trial_fired(&r.trial))
            return delivered;
        delivered++;
    }
}

/** The undisturbed rebuild, which must go by a plan: depth first runs another number of calls. */
static bool is_planned(const setting *chosen, run *out)
{
    static run cheap;
    start(out, chosen, DEAR, CEBUS_FAULT_NONE, 0);
    start(&cheap, chosen, CHEAP, CEBUS_FAULT_NONE, 0);
    bool planned = !out->trial.broken && !cheap.trial.broken && out->calls >= 2 * LAYERS &&
                   out->calls != cheap.calls && (!chosen->tables || out->copies > 0);
    if (!planned)
        printf("Bail out! %s: %llu calls and %llu copies, %llu calls depth first: %s%s\n",
               chosen->name, (unsigned long long)out->calls, (unsigned long long)out->copies,
               (unsigned long long)cheap.calls, out->trial.why, cheap.trial.why);
    return planned;
}

int main(void)
{
    static const cebus_fault kinds[] = {CEBUS_FAULT_HOST, CEBUS_FAULT_LAUNCH, CEBUS_FAULT_COPY};
    static run wanted;
    int failed = 0, number = 0;
    cebus_test_device_register();
    printf("TAP version 13\n");
    for (size_t i = 0; i < SETTINGS; i++) {
        if (!is_planned(&settings[i], &wanted))
            return 1;
        for (size_t k = 0; k < 3; k++) {
            if (kinds[k] == CEBUS_FAULT_COPY && wanted.copies == 0)
                continue;
            int delivered = sweep(&settings[i], kinds[k], &wanted);
            bool passed = delivered > 0 || (delivered == 0 && cebus_test_slice_is_part());
            failed += !passed;
            printf("%sok %d - every %s fails once in a planned rebuild %s (%d)\n",
                   passed ? "" : "not ", ++number, cebus_fault_name(kinds[k]), settings[i].name,
                   delivered);
            fflush(stdout);
        }
    }
    printf("1..%d\n", number);
    return failed > 0;
}
