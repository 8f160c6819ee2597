/**
 * bench_planner.c: what planner `cebus` makes of the first iteration of a trace, as a Markdown
 * table: overhead of the plan, what the checker says it needs, time to plan. No runtime runs it:
 * bytes have no addresses, and every plan happens as it says.
 *
 *     bench_planner [--budgets 90,80,50] [--effort STEPS] [--link GBPS] [--cebus] FILE...
 *
 * Files are logs of the DTR simulator (tests/support/dtr_logs.py writes some), or with --cebus
 * traces. Budgets are percent of the peak of the iteration when nothing is given up; "1.5f" is 1.5
 * times the floor: what the largest call needs, with what cannot leave.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cebus/cebus.h>

#include "evict/curve.h"
#include "evict/planner/check.h"
#include "evict/policy.h"

/** Of a copy, as of the simulated machines. */
#define LATENCY_NS 7000

typedef struct settings {
    const char *budgets;
    uint64_t effort;
    cebus_trace_format format;
    uint64_t rate; /**< bytes/s of the link; 0: no swaps */
} settings;

/** An iteration being read; ordinals by the trace's ids. */
typedef struct reading {
    cebus_iteration *iteration;
    uint32_t *ordinals;
    size_t n_ordinals;
} reading;

static void fail(const char *what)
{
    fprintf(stderr, "bench_planner: %s\n", what);
    exit(1);
}

static double milliseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void add_value(reading *r, uint64_t id, cebus_iteration_value value)
{
    if (id >= UINT32_MAX)
        fail("an id beyond 2^32");
    value.freed = value.moved = CEBUS_ITERATION_NONE;
    if (id >= r->n_ordinals) {
        size_t n = 2 * (size_t)id + 64;
        r->ordinals = realloc(r->ordinals, n * sizeof *r->ordinals);
        if (r->ordinals == NULL)
            fail("no host memory");
        r->n_ordinals = n;
    }
    r->ordinals[id] = (uint32_t)r->iteration->n_values;
    if (!cebus_iteration_add_value(r->iteration, &value))
        fail("no host memory, or too many values");
}

static void add_op(reading *r, const cebus_trace_item *item)
{
    cebus_iteration *iteration = r->iteration;
    uint32_t k = (uint32_t)iteration->n_calls;
    bool ok = true;
    cebus_iteration_call call = {.op = "op",
                                 .cost_ns = item->cost_ns,
                                 .workspace = item->workspace,
                                 .n_in = (uint16_t)item->n_in,
                                 .n_out = (uint16_t)item->n_out};
    if (item->n_in > UINT16_MAX || item->n_out > UINT16_MAX)
        fail("an op of too many values");
    for (size_t j = 0; j < item->n_out; j++) {
        const cebus_trace_output *out = &item->out[j];
        bool kept = out->alias_of >= 0 && item->in[out->alias_of] == out->value;
        if (out->alias_of >= 0 && !kept)
            iteration->values[r->ordinals[item->in[out->alias_of]]].moved = k;
        if (!kept)
            add_value(r, out->value,
                      (cebus_iteration_value){.bytes = out->bytes,
                                              .born = k,
                                              .replayable =
                                                  (item->flags & CEBUS_TRACE_NONREPLAYABLE) == 0});
    }
    for (size_t i = 0; i < item->n_in; i++)
        ok = ok && cebus_iteration_add_ref(iteration, r->ordinals[item->in[i]]);
    for (size_t j = 0; j < item->n_out; j++)
        ok = ok && cebus_iteration_add_ref(iteration, r->ordinals[item->out[j].value]);
    if (!ok || !cebus_iteration_add_call(iteration, &call))
        fail("no host memory, or too many ops");
}

static void read_trace(const char *path, const settings *options, cebus_iteration *iteration)
{
    cebus_trace_reader *reader;
    cebus_trace_item item;
    reading r = {.iteration = iteration};
    bool end = false;
    cebus_status status = cebus_trace_reader_open(path, options->format, NULL, &reader);
    while (status == CEBUS_OK && !end) {
        status = cebus_trace_reader_next(reader, &item, &end);
        if (status != CEBUS_OK || end)
            break;
        if (item.kind == CEBUS_TRACE_CONST)
            add_value(&r, item.value,
                      (cebus_iteration_value){.bytes = item.bytes,
                                              .born = CEBUS_ITERATION_NONE,
                                              .persistent = item.persistent});
        else if (item.kind == CEBUS_TRACE_OP)
            add_op(&r, &item);
        else if (item.kind == CEBUS_TRACE_FREE)
            iteration->values[r.ordinals[item.value]].freed = (uint32_t)iteration->n_calls;
        else if (iteration->n_calls > 0)
            end = true;
    }
    if (status != CEBUS_OK) {
        fail(cebus_last_error()->message);
    }
    cebus_trace_reader_close(reader);
    free(r.ordinals);
    if (!cebus_iteration_seal(iteration))
        fail("no host memory");
}

/* ---- measuring ---------------------------------------------------------------------------- */

/** What the neediest call needs, with what cannot leave while it runs. */
static uint64_t floor_of(const cebus_iteration *iteration, cebus_pool *pool)
{
    cebus_curve curve;
    if (!cebus_curve_init_flat(&curve, iteration->n_calls + 1, pool))
        fail("no host memory");
    uint32_t n = (uint32_t)iteration->n_calls;
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        int64_t bytes = -(int64_t)value->bytes;
        bool stays = value->persistent || !value->replayable;
        if (stays)
            cebus_curve_cut(&curve, value->persistent ? 0 : cebus_iteration_from(value),
                            value->freed != CEBUS_ITERATION_NONE ? value->freed : n + 1, bytes);
        else if (value->freed == CEBUS_ITERATION_NONE)
            cebus_curve_cut(&curve, n, n + 1, bytes);
        for (uint32_t i = 0; i < value->n_uses && !stays; i++) {
            uint32_t k = cebus_iteration_use(iteration, v, i);
            if (k != value->moved || i + 1 < value->n_uses)
                cebus_curve_cut(&curve, k, k + 1, bytes);
        }
    }
    for (uint32_t k = 0; k < n; k++)
        cebus_curve_cut(&curve, k, k + 1, -(int64_t)iteration->calls[k].workspace);
    uint64_t floor = cebus_curve_peak(&curve, NULL);
    cebus_curve_deinit(&curve);
    return floor;
}

typedef struct figures {
    const char *path;
    uint64_t base_ns, peak, floor;
} figures;

static void measure(const cebus_iteration *iteration, cebus_pool *pool, const settings *options,
                    const figures *f, const char *name, uint64_t budget)
{
    cebus_plan plan;
    cebus_check check;
    cebus_plan_terms terms = {.budget = budget,
                              .host = options->rate > 0 ? UINT64_MAX / 2 : 0,
                              .out_rate = options->rate > 0 ? options->rate : 1,
                              .in_rate = options->rate > 0 ? options->rate : 1,
                              .latency_ns = LATENCY_NS,
                              .effort = options->effort};
    cebus_plan_init(&plan, pool);
    double start = milliseconds();
    if (!cebus_policy_find("cebus")->plan(iteration, &terms, &plan))
        fail("no host memory");
    double ms = milliseconds() - start;
    if (!cebus_check_run(iteration, &plan, pool, &check))
        fail("no host memory");
    if (check.wrong != NULL) {
        fprintf(stderr, "after %u calls, value %u: ", check.at, check.value);
        fail(check.wrong);
    }
    printf("| %s | %s | %.3f | %.2f | %.2f | %.4f | %zu | %zu | %.1f |\n", f->path, name,
           (double)budget / (double)f->floor,
           100.0 * (double)(check.replay_ns + plan.wait_ns) / (double)f->base_ns,
           100.0 * (double)plan.wait_ns / (double)f->base_ns, (double)check.peak / (double)budget,
           check.replays, plan.count, ms);
    fflush(stdout);
    cebus_plan_clear(&plan);
}

static void measure_all(const char *path, const settings *options)
{
    cebus_pool pool;
    cebus_iteration iteration;
    cebus_curve curve;
    cebus_pool_init(&pool, NULL);
    cebus_iteration_init(&iteration, &pool);
    read_trace(path, options, &iteration);
    const char *slash = strrchr(path, '/');
    figures f = {.path = slash != NULL ? slash + 1 : path};
    for (size_t k = 0; k < iteration.n_calls; k++)
        f.base_ns += iteration.calls[k].cost_ns;
    if (!cebus_curve_init(&curve, &iteration, &pool))
        fail("no host memory");
    f.peak = cebus_curve_peak(&curve, NULL);
    f.floor = floor_of(&iteration, &pool);
    cebus_curve_deinit(&curve);
    for (const char *at = options->budgets; at != NULL; at = strchr(at, ',')) {
        char *end, name[32];
        at += *at == ',';
        double number = strtod(at, &end);
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        double bytes = *end == 'f' ? number * (double)f.floor : number * (double)f.peak / 100;
        measure(&iteration, &pool, options, &f, name, (uint64_t)bytes);
    }
    cebus_iteration_clear(&iteration);
    cebus_pool_deinit(&pool);
}

int main(int argc, char **argv)
{
    settings options = {
        .budgets = "90,80,70,60,50,40,30,20", .effort = 0, .format = CEBUS_TRACE_DTR};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--cebus") == 0)
            options.format = CEBUS_TRACE_CEBUS;
        else if (strcmp(argv[i], "--budgets") == 0 && i + 1 < argc)
            options.budgets = argv[++i];
        else if (strcmp(argv[i], "--effort") == 0 && i + 1 < argc)
            options.effort = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--link") == 0 && i + 1 < argc)
            options.rate = (uint64_t)(1e9 * strtod(argv[++i], NULL));
        else
            fail("usage: bench_planner [--budgets LIST] [--effort N] [--link GBPS] [--cebus] "
                 "FILE...");
    }
    printf("| trace | of peak | of floor | overhead %% | of it waiting | of budget | replays | "
           "actions | ms |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (; i < argc; i++)
        measure_all(argv[i], &options);
    return 0;
}
