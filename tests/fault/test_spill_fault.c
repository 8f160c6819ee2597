/**
 * Fails the n-th piece of I/O of the spill file, for every n until a run gets through untouched, in
 * every way a disk knows: EIO, a full disk, less than was asked for, refused direct I/O, a flipped
 * bit. Then every few pieces, again and again. A call may fail with CEBUS_IO_ERROR, for want of
 * memory where the tier closed, or not at all; made again it must go through, and the run end with
 * the bits of an undisturbed one. Budgets shrink and grow while copies are under way.
 *
 * Prints TAP.
 */
#include <stdio.h>
#include <string.h>

#include <cebus/cebus.h>

#include "tests/support/faulty_io.h"
#include "tests/support/test_device.h"

enum {
    LAYERS = 5,
    WIDTH = 40,
    ROWS = 6,
    STEPS = 2,
    ELEMENTS = WIDTH * WIDTH,
    MOST_RETRIES = 200
};
#define PARAMETER (ELEMENTS * sizeof(float))

typedef struct run {
    const char *device;
    cebus_runtime *rt;
    cebus_tensor *w[LAYERS];
    cebus_optimizer *adam;
    int retries, failures;
    bool broken;
    char why[640];
    float result[LAYERS][ELEMENTS];
} run;

static void break_off(run *r, const char *what)
{
    const cebus_error *error = cebus_last_error();
    if (!r->broken)
        snprintf(r->why, sizeof r->why, "%s: %s: %s", what, cebus_status_name(error->status),
                 error->message);
    r->broken = true;
}

/** After a failure: one that I/O may cause, and everything still whole? */
static bool again(run *r, cebus_status status, const char *what)
{
    if (status == CEBUS_OK || r->broken)
        return false;
    r->failures++;
    bool allowed = status == CEBUS_IO_ERROR || status == CEBUS_OUT_OF_MEMORY;
    if (!allowed || atomic_load(&cebus_io_faults.fired) == 0 || ++r->retries > MOST_RETRIES)
        break_off(r, what);
    else if (cebus_runtime_check(r->rt) != CEBUS_OK)
        break_off(r, "after the fault");
    return !r->broken;
}

#define TRY(r, call)                                                                               \
    do {                                                                                           \
        cebus_status try_status = CEBUS_OK;                                                        \
        do {                                                                                       \
            if (!(r)->broken)                                                                      \
                try_status = (call);                                                               \
        } while (again(r, try_status, #call));                                                     \
    } while (0)

static void parameter(run *r, int i)
{
    TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, (int64_t[]){WIDTH, WIDTH}, &r->w[i]));
    TRY(r, cebus_tensor_set_persistent(r->w[i]));
    TRY(r, cebus_tensor_set_requires_grad(r->w[i], true));
    TRY(r, cebus_optimizer_add(r->adam, r->w[i]));
}

static void open_run(run *r)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_adam_options adam = CEBUS_ADAM_OPTIONS_INIT;
    options.device = r->device;
    options.threads = 1;
    options.memory_budget = 8 * PARAMETER; /* a third of what is persistent */
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.swap = CEBUS_SWAP_ON;
    options.host_budget = 1;
    options.spill_budget = UINT64_C(1) << 22;
    options.debug = CEBUS_DEBUG_HASH;
    TRY(r, cebus_runtime_create(&options, &r->rt));
    TRY(r, cebus_optimizer_create_adam(r->rt, &adam, &r->adam));
    for (int i = 0; i < LAYERS; i++)
        parameter(r, i);
}

static void step(run *r)
{
    cebus_tensor *h = NULL, *y = NULL, *loss = NULL;
    TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, (int64_t[]){ROWS, WIDTH}, &h));
    for (int i = 0; i < LAYERS; i++) {
        TRY(r, cebus_matmul(r->rt, h, r->w[i], &y));
        cebus_tensor_release(h);
        h = NULL;
        TRY(r, cebus_tanh(r->rt, y, &h));
        cebus_tensor_release(y);
        y = NULL;
        if (i == LAYERS / 2)
            TRY(r, cebus_runtime_set_budget(r->rt, 7 * PARAMETER));
    }
    TRY(r, cebus_mean(r->rt, h, 0, NULL, false, &loss));
    TRY(r, cebus_backward(r->rt, loss, NULL, false));
    TRY(r, cebus_runtime_set_budget(r->rt, 8 * PARAMETER));
    TRY(r, cebus_optimizer_step(r->adam));
    TRY(r, cebus_optimizer_zero_grad(r->adam));
    cebus_tensor_release(loss);
    cebus_tensor_release(h);
}

static void close_run(run *r)
{
    for (int i = 0; i < LAYERS; i++) {
        TRY(r, cebus_tensor_to_host(r->w[i], r->result[i], PARAMETER));
        cebus_tensor_release(r->w[i]);
    }
    TRY(r, cebus_runtime_check(r->rt));
    cebus_optimizer_destroy(r->adam);
    cebus_runtime_destroy(r->rt);
}

/** One run with a fault at piece `at`, and every `every` pieces after it. */
static void start(run *r, const char *device, cebus_io_fault fault, uint64_t at, uint64_t every)
{
    memset(r, 0, sizeof *r);
    r->device = device;
    cebus_faulty_io_start(NULL);
    atomic_store(&cebus_io_faults.every, every);
    atomic_store(&cebus_io_faults.at, at);
    atomic_store(&cebus_io_faults.fault, fault);
    open_run(r);
    for (int i = 0; i < STEPS; i++)
        step(r);
    close_run(r);
    cebus_faulty_io_stop();
}

static bool same_bits(run *r, const run *wanted)
{
    if (!r->broken && memcmp(r->result, wanted->result, sizeof r->result) != 0)
        break_off(r, "other bits than the undisturbed run");
    if (r->broken)
        printf("# %s\n", r->why);
    return !r->broken;
}

static int number;

static bool report(bool passed, const char *device, const char *fault, const char *when, int told)
{
    printf("%sok %d - %s: %s, %s (%d calls failed)\n", passed ? "" : "not ", ++number, device,
           fault, when, told);
    fflush(stdout);
    return passed;
}

/** Every piece once, and at last now and again. */
static int sweep(const char *device, cebus_io_fault fault, const char *name, const run *wanted)
{
    static run r;
    bool once = true, often;
    int told = 0, failed = 0;
    for (uint64_t at = 1;; at += at < 24 ? 1 : 5) {
        start(&r, device, fault, at, 0);
        once = same_bits(&r, wanted) && once;
        told += r.failures;
        if (!once || atomic_load(&cebus_io_faults.fired) == 0)
            break;
    }
    failed += !report(once, device, name, "each piece once", told);
    start(&r, device, fault, 5, 23);
    often = same_bits(&r, wanted) && atomic_load(&cebus_io_faults.fired) > 1;
    failed += !report(often, device, name, "now and again", r.failures);
    return failed;
}

int main(void)
{
    static const struct {
        const char *name;
        cebus_io_fault fault;
    } kinds[] = {{"EIO", CEBUS_IO_FAULT_EIO},
                 {"a full disk", CEBUS_IO_FAULT_ENOSPC},
                 {"refused direct I/O", CEBUS_IO_FAULT_EINVAL},
                 {"short pieces", CEBUS_IO_FAULT_SHORT},
                 {"a flipped bit", CEBUS_IO_FAULT_FLIP}};
    static const char *const devices[] = {"cpu", "test"};
    static run wanted;
    int failed = 0;
    cebus_test_device_register();
    printf("TAP version 13\n1..20\n");
    for (size_t d = 0; d < 2; d++) {
        start(&wanted, devices[d], CEBUS_IO_FAULT_NONE, 0, 0);
        if (wanted.broken || atomic_load(&cebus_io_faults.reads) == 0) {
            printf("Bail out! the undisturbed run fails: %s\n", wanted.why);
            return 1;
        }
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            failed += sweep(devices[d], kinds[k].fault, kinds[k].name, &wanted);
    }
    return failed > 0;
}
