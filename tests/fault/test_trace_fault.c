/**
 * Traces and the n-th failure of the host, a launch or a copy, for every n: a program that is
 * recorded goes on as one that is not, and what was written is a trace that can be read, with all
 * calls that succeeded. A reader that finds no memory says so, and leaks nothing.
 *
 * Prints TAP.
 */
#include "cebus_config.h"

#include <stdio.h>

#if CEBUS_HAVE_JSON

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cebus/cebus.h>

#include "lineage/trace/read.h"
#include "tests/fault/trial.h"

#define ROWS 16

typedef struct run {
    cebus_trial trial;
    cebus_runtime *rt;
    const char *path;
    float result[ROWS * ROWS];
} run;

static void step(run *r, cebus_tensor *x, cebus_tensor *w)
{
    cebus_tensor *h = NULL, *y = NULL, *loss = NULL, *grad = NULL;
    TRY(r, cebus_matmul(r->rt, x, w, &h));
    TRY(r, cebus_add_scalar_(r->rt, h, 0.125));
    TRY(r, cebus_tanh(r->rt, h, &y));
    cebus_tensor_release(h);
    h = NULL;
    TRY(r, cebus_matmul(r->rt, y, w, &h));
    TRY(r, cebus_dropout(r->rt, h, 0.25, true, &loss));
    TRY(r, cebus_mul_(r->rt, h, h));
    cebus_tensor_release(h);
    h = loss;
    loss = NULL;
    TRY(r, cebus_sum(r->rt, h, 0, NULL, false, &loss));
    cebus_tensor_release(h);
    cebus_tensor_release(y);
    TRY(r, cebus_backward(r->rt, loss, NULL, false));
    cebus_tensor_release(loss);
    bool recorded = cebus_grad_enable(false);
    TRY(r, cebus_tensor_grad(w, &grad));
    TRY(r, cebus_add_(r->rt, w, grad, -0.01));
    TRY(r, cebus_tensor_set_grad(w, NULL));
    cebus_tensor_release(grad);
    cebus_grad_enable(recorded);
    TRY(r, cebus_iteration_mark(r->rt));
}

/** Returns how many calls succeeded while the trace was recorded. */
static uint64_t scenario(run *r, uint64_t budget)
{
    static const int64_t shape[2] = {ROWS, ROWS};
    cebus_tensor *w = NULL, *x = NULL;
    cebus_memory_stats stats = CEBUS_MEMORY_STATS_INIT;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "test";
    options.policy = "coop"; /* plans have sweeps of their own, and take their time */
    options.threads = 1;
    options.memory_budget = budget;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.debug = CEBUS_DEBUG_HOST;
    options.host = &r->trial.host.allocator;
    TRY(r, cebus_runtime_create(&options, &r->rt));
    if (r->rt == NULL)
        return 0;
    TRY(r, cebus_trace_start(r->rt, r->path));
    TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, shape, &w));
    TRY(r, cebus_tensor_set_persistent(w));
    TRY(r, cebus_tensor_set_requires_grad(w, true));
    TRY(r, cebus_randn(r->rt, CEBUS_F32, 2, shape, &x));
    for (int i = 0; i < 2; i++)
        step(r, x, w);
    TRY(r, cebus_tensor_to_host(w, r->result, sizeof r->result));
    TRY(r, cebus_runtime_memory_stats(r->rt, &stats));
    TRY(r, cebus_trace_stop(r->rt));
    cebus_tensor_release(w);
    cebus_tensor_release(x);
    cebus_runtime_destroy(r->rt);
    return stats.calls;
}

/** The ops of a trace; breaks the run when it cannot be read to its end. */
static uint64_t count_ops(run *r)
{
    uint64_t ops = 0;
    bool end = false;
    cebus_trace_item item;
    cebus_trace_reader *reader;
    cebus_status status = cebus_trace_reader_open(r->path, CEBUS_TRACE_CEBUS, NULL, &reader);
    if (status != CEBUS_OK) {
        cebus_trial_break(&r->trial, "opening the trace");
        return 0;
    }
    while (!end && !r->trial.broken) {
        if (cebus_trace_reader_next(reader, &item, &end) != CEBUS_OK)
            cebus_trial_break(&r->trial, "reading the trace");
        ops += !end && item.kind == CEBUS_TRACE_OP;
    }
    cebus_trace_reader_close(reader);
    return ops;
}

static void start(run *r, const char *path, uint64_t budget, cebus_fault kind, uint64_t n)
{
    memset(r, 0, sizeof *r);
    r->path = path;
    cebus_trial_begin(&r->trial, kind, n);
    uint64_t calls = scenario(r, budget);
    uint64_t ops = r->trial.broken ? calls : count_ops(r);
    if (!r->trial.broken && ops != calls) {
        r->trial.broken = true;
        snprintf(r->trial.why, sizeof r->trial.why, "%llu ops in the trace of %llu calls",
                 (unsigned long long)ops, (unsigned long long)calls);
    }
}

/** Every n of one kind; the number of faults delivered, or -1. */
static int sweep(const char *path, uint64_t budget, cebus_fault kind, const float *wanted)
{
    static run r;
    for (uint64_t n = 1;; n++) {
        start(&r, path, budget, kind, n);
        if (!cebus_trial_passed(&r.trial, r.result, wanted, sizeof r.result))
            return -1;
        if (!cebus_trial_fired(&r.trial))
            return (int)n - 1;
    }
}

/** The host of the JSON library, which has no context. */
static cebus_test_host json_host;

static void *json_alloc(size_t bytes)
{
    return json_host.allocator.alloc(json_host.allocator.context, bytes);
}

static void json_free(void *pointer)
{
    if (pointer != NULL)
        json_host.allocator.free(json_host.allocator.context, pointer);
}

/** Reads a file; what failed first, or CEBUS_OK. */
static cebus_status read_all(const cebus_host_allocator *host, const char *path, bool dtr)
{
    static const cebus_trace_bounds bounds = {1 << 20, 1 << 20, UINT64_C(1) << 50};
    char why[464];
    bool end = false;
    cebus_entry entry;
    cebus_trace_source *source;
    cebus_status status =
        cebus_trace_source_open(host, path, dtr, &bounds, why, sizeof why, &source);
    if (status != CEBUS_OK)
        return status;
    while (status == CEBUS_OK && !end)
        status = cebus_trace_source_next(source, &entry, &end);
    cebus_trace_source_close(source);
    return status;
}

/** Every allocation of reading a file fails once, the reader's or the parser's; -1 if one is not
 * reported, or leaks. */
static int sweep_reader(const char *path, bool dtr, bool of_parser)
{
    for (uint64_t n = 1;; n++) {
        cebus_test_host own;
        cebus_test_host_init(&own);
        cebus_test_host_init(&json_host);
        own.fail_at = of_parser ? 0 : n;
        json_host.fail_at = of_parser ? n : 0;
        cebus_status status = read_all(&own.allocator, path, dtr);
        json_host.fail_at = 0;
        bool fired = own.fired || json_host.fired;
        /* A parser without memory may take the line for a wrong one; it must not pass. */
        bool told =
            status == CEBUS_OUT_OF_HOST_MEMORY || (of_parser && status == CEBUS_INVALID_ARGUMENT);
        if ((fired ? !told : status != CEBUS_OK) || own.live != 0 || json_host.live != 0) {
            printf("# number %llu: %s, %lld and %lld blocks leaked\n", (unsigned long long)n,
                   cebus_status_name(status), (long long)own.live, (long long)json_host.live);
            return -1;
        }
        if (!fired)
            return (int)n - 1;
    }
}

static int failed, number;

static void report(int delivered, const char *what)
{
    bool ok = delivered > 0;
    failed += !ok;
    printf("%sok %d - %s (%d)\n", ok ? "" : "not ", ++number, what, delivered);
    fflush(stdout);
}

static void write_log(const char *path, int repetitions)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return;
    fputs("{\"INSTRUCTION\": \"ANNOTATE\", \"ANNOTATION\": \"START\"}\n", file);
    for (int i = 0; i < repetitions; i++)
        fprintf(file,
                "{\"INSTRUCTION\": \"CALL\", \"NAME\": \"f\", \"ARGS\": [], \"RESULT\": [\"x%d\", "
                "\"long name number %d\"], \"TIME\": \"1\"}\n"
                "{\"INSTRUCTION\": \"MEMORY\", \"NAME\": \"x%d\", \"MEMORY\": \"8\"}\n"
                "{\"INSTRUCTION\": \"ALIAS\", \"NAME\": \"x%d\", \"ALIAS\": \"-1\"}\n"
                "{\"INSTRUCTION\": \"MEMORY\", \"NAME\": \"long name number %d\", \"MEMORY\": 8}\n"
                "{\"INSTRUCTION\": \"ALIAS\", \"NAME\": \"long name number %d\", \"ALIAS\": -1}\n"
                "{\"INSTRUCTION\": \"MUTATE\", \"NAME\": \"g\", \"ARGS\": [\"x%d\"], \"MUTATE\": "
                "[0], \"TIME\": 2}\n",
                i, i, i, i, i, i, i);
    fclose(file);
}

int main(void)
{
    static const struct {
        const char *name;
        cebus_fault kind;
    } kinds[] = {{"every host allocation fails once under a recording", CEBUS_FAULT_HOST},
                 {"every launch fails once under a recording", CEBUS_FAULT_LAUNCH},
                 {"every copy fails once under a recording", CEBUS_FAULT_COPY}};
    static const uint64_t budgets[] = {1 << 20, 9 << 10};
    static run reference;
    char path[] = "/tmp/cebus-trace-XXXXXX", log[] = "/tmp/cebus-log-XXXXXX";
    cebus_test_device_register();
    close(mkstemp(path));
    close(mkstemp(log));
    printf("TAP version 13\n1..10\n");
    start(&reference, path, budgets[0], CEBUS_FAULT_NONE, 0);
    if (reference.trial.broken) {
        printf("Bail out! the undisturbed run fails: %s\n", reference.trial.why);
        return 1;
    }
    json_set_alloc_funcs(json_alloc, json_free);
    cebus_test_host_init(&json_host);
    write_log(log, 300);
    report(sweep_reader(path, false, false), "a trace is read, the reader's memory fails");
    report(sweep_reader(path, false, true), "a trace is read, the parser's memory fails");
    report(sweep_reader(log, true, false), "a log is read, the reader's memory fails");
    write_log(log, 5);
    report(sweep_reader(log, true, true), "a log is read, the parser's memory fails");
    for (size_t b = 0; b < 2; b++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            report(sweep(path, budgets[b], kinds[k].kind, reference.result), kinds[k].name);
    }
    unlink(path);
    unlink(log);
    return failed > 0;
}

#else

int main(void)
{
    printf("TAP version 13\n1..0 # SKIP built without a JSON library\n");
    return 0;
}

#endif
