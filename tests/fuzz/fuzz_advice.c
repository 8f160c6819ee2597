/**
 * fuzz_advice.c: any bytes as a plan for a small program, as `cebus replay --plan` reads one. Input
 * that begins with '{' is a file; anything else fills the tables of a plan as they lie in memory,
 * so that the checker sees what no reader would let through.
 *
 * Whatever they are, reading and running it on paper end. What the checker lets through must run
 * every call, stay below the memory, take at least as long as the calls, and be the same when it is
 * written and read again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plan_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    LAYERS = 4,
    N_CALLS = 3 * LAYERS + 1,
    BYTES = 1000000,
    COST_NS = 100000,
    MOST = 64, /**< rows of a table filled from bytes */
};

static const cebus_advise_link fuzz_link = {
    .out = 10000000000, .in = 10000000000, .both = 16000000000, .latency_ns = 10};

static void stop(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- the program: layers that train, each with a weight that is updated -------------------- */

static cebus_advise_value values[8 * LAYERS];
static cebus_advise_call calls[N_CALLS];
static uint32_t refs[16 * LAYERS];
static struct plan_program program;

static uint32_t add_value(bool persistent, bool given)
{
    const size_t n = program.program.n_values++;
    values[n] = (cebus_advise_value){.bytes = BYTES, .persistent = persistent, .given = given};
    return (uint32_t)n;
}

static void add_call(const uint32_t *used, uint32_t n_in, uint32_t n_out, uint32_t n_written)
{
    calls[program.program.n_calls++] = (cebus_advise_call){.cost_ns = COST_NS,
                                                           .refs = program.program.n_refs,
                                                           .n_in = n_in,
                                                           .n_out = n_out,
                                                           .n_written = n_written,
                                                           .replayable = true};
    for (uint32_t i = 0; i < n_in + n_out; i++)
        refs[program.program.n_refs++] = used[i];
}

static void make_program(void)
{
    uint32_t x[LAYERS + 1], w[LAYERS];
    program.program = (cebus_advise_program){.values = values, .calls = calls, .refs = refs};
    for (size_t i = 0; i < LAYERS; i++)
        w[i] = add_value(true, false);
    x[0] = add_value(false, true);
    for (size_t i = 0; i < LAYERS; i++) {
        x[i + 1] = add_value(false, false);
        add_call((uint32_t[]){x[i], w[i], x[i + 1]}, 2, 1, 0);
    }
    uint32_t g = add_value(false, false);
    add_call((uint32_t[]){x[LAYERS], g}, 1, 1, 0);
    for (size_t i = LAYERS; i-- > 0;) {
        const uint32_t dw = add_value(false, false), next = add_value(false, false);
        add_call((uint32_t[]){g, x[i], w[i], next, dw}, 3, 2, 0);
        add_call((uint32_t[]){w[i], dw, w[i]}, 2, 1, 1);
        g = next;
    }
}

/* ---- plans --------------------------------------------------------------------------------- */

/** What a plan that the checker lets through has to be. */
static bool holds(const cebus_advice *plan)
{
    char why[256];
    uint64_t ns = 0, done = 0;
    cebus_status status =
        cebus_advice_check(&program.program, &fuzz_link, plan, why, sizeof why, &ns);
    if ((status == CEBUS_OK) != (why[0] == '\0'))
        stop("neither let through nor refused");
    if (status != CEBUS_OK)
        return false;
    for (size_t i = 0; i < plan->n_steps; i++)
        done |= UINT64_C(1) << plan->steps[i].call;
    if (done != (UINT64_C(1) << N_CALLS) - 1 || ns < plan->n_steps * (uint64_t)COST_NS)
        stop("calls that do not run, or in no time");
    for (size_t i = 0; i < plan->n_blocks; i++) {
        if (plan->blocks[i].offset + plan->blocks[i].bytes > plan->memory)
            stop("a block above the memory");
    }
    return true;
}

static void path_of(int fd, char out[64])
{
    snprintf(out, 64, "/proc/self/fd/%d", fd);
}

static bool is_same(const cebus_advice *a, const cebus_advice *b)
{
    if (a->memory != b->memory || a->n_steps != b->n_steps || a->n_copies != b->n_copies ||
        a->n_blocks != b->n_blocks)
        return false;
    for (size_t i = 0; i < a->n_steps; i++) {
        if (a->steps[i].call != b->steps[i].call || a->steps[i].again != b->steps[i].again)
            return false;
    }
    for (size_t i = 0; i < a->n_copies; i++) {
        const cebus_advice_copy *x = &a->copies[i], *y = &b->copies[i];
        if (x->value != y->value || x->in != y->in || x->after != y->after ||
            x->before != y->before)
            return false;
    }
    for (size_t i = 0; i < a->n_blocks; i++) {
        const cebus_advice_block *x = &a->blocks[i], *y = &b->blocks[i];
        if (x->value != y->value || x->offset != y->offset || x->bytes != y->bytes ||
            x->born != y->born || x->born_at != y->born_at || x->dies != y->dies ||
            x->dies_at != y->dies_at)
            return false;
    }
    return true;
}

static void write_again(const struct plan_file *file)
{
    struct plan_file again;
    char path[64];
    int fd = memfd_create("plan", MFD_CLOEXEC);
    if (fd < 0)
        stop("no file to write to");
    path_of(fd, path);
    if (!plan_file_write(path, file->machine, &program, &file->plan) ||
        !plan_file_read(path, &program, &again) || !is_same(&file->plan, &again.plan))
        stop("what was written is read as something else");
    plan_file_free(&again);
    close(fd);
}

static void try_file(const uint8_t *data, size_t size)
{
    struct plan_file file;
    char path[64];
    int fd = memfd_create("plan", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        stop("no file to read from");
    path_of(fd, path);
    if (plan_file_read(path, &program, &file) && holds(&file.plan))
        write_again(&file);
    plan_file_free(&file);
    close(fd);
}

/** A byte, mostly of a number that there is. */
static uint32_t pick(const uint8_t **data, size_t *size)
{
    if (*size == 0)
        return 0;
    --*size;
    const uint8_t byte = *(*data)++;
    return byte == UINT8_MAX ? UINT32_MAX : byte;
}

static void try_tables(const uint8_t *data, size_t size)
{
    cebus_advice_step steps[MOST];
    cebus_advice_copy copies[MOST];
    cebus_advice_block blocks[MOST];
    cebus_advice plan = {.memory = 12 * BYTES, .steps = steps, .copies = copies, .blocks = blocks};
    plan.n_steps = pick(&data, &size) % MOST;
    plan.n_copies = pick(&data, &size) % MOST;
    plan.n_blocks = pick(&data, &size) % MOST;
    for (size_t i = 0; i < plan.n_steps; i++) {
        steps[i].call = pick(&data, &size);
        steps[i].again = pick(&data, &size) % 4 == 1;
    }
    for (size_t i = 0; i < plan.n_copies; i++) {
        copies[i].value = pick(&data, &size);
        copies[i].in = pick(&data, &size) & 1;
        copies[i].after = pick(&data, &size);
        copies[i].before = pick(&data, &size);
    }
    for (size_t i = 0; i < plan.n_blocks; i++) {
        blocks[i].value = pick(&data, &size);
        blocks[i].offset = (uint64_t)pick(&data, &size) * (BYTES / 4);
        blocks[i].bytes = (uint64_t)pick(&data, &size) * (BYTES / 4);
        blocks[i].born = (uint8_t)pick(&data, &size) % 4;
        blocks[i].born_at = pick(&data, &size);
        blocks[i].dies = (uint8_t)pick(&data, &size) % 4;
        blocks[i].dies_at = pick(&data, &size);
    }
    holds(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (program.program.n_calls == 0)
        make_program();
    if (size > 0 && data[0] == '{')
        try_file(data, size);
    else
        try_tables(data, size);
    return 0;
}
