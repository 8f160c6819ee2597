/**
 * bench_planner.c: what planner `cebus` makes of the first iteration of a trace, as a Markdown
 * table: overhead of the plan, what the checker says it needs, time to plan. No runtime runs it:
 * bytes have no addresses, and every plan happens as it says.
 *
 *     bench_planner [--budgets 90,80,50] [--effort STEPS] [--link GBPS] [--cebus] FILE...
 *     bench_planner --places [--budgets 90,80,50] [--link GBPS] [--cebus] FILE...
 *
 * With --places bytes have addresses, and it is said what a first plan takes, for which the program
 * waits, and what the search takes that the runtime begins in the background, each until its values
 * have places (evict/places/fit.h); overhead is by the timeline, and equal plans with equal places
 * have equal digests. Persistent values lie at the bottom, the largest first, and values move as on
 * machine titanv-12g.
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

#include "eager/guidance/terms.h"
#include "evict/curve.h"
#include "evict/places/fit.h"
#include "evict/planner/check.h"
#include "evict/policy.h"
#include "evict/timeline/timeline.h"
#include "layout/number.h"

/** Of a copy, as of the simulated machines. */
#define LATENCY_NS 7000
/** Of addresses, likewise; and bytes/s and ns of a move on the device. */
#define ALIGNMENT 512
#define MOVE_RATE UINT64_C(326500000000)
#define MOVE_NS 2000

typedef struct settings {
    const char *budgets;
    uint64_t effort;
    cebus_trace_format format;
    uint64_t rate; /**< bytes/s of the link; 0: no swaps */
    bool places;   /**< plans are timed until their values have some */
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

static cebus_plan_terms terms_for(const settings *options, uint64_t budget, uint64_t effort)
{
    return (cebus_plan_terms){.budget = budget,
                              .host = options->rate > 0 ? UINT64_MAX / 2 : 0,
                              .out_rate = options->rate > 0 ? options->rate : 1,
                              .in_rate = options->rate > 0 ? options->rate : 1,
                              .latency_ns = LATENCY_NS,
                              .effort = effort};
}

static void measure(const cebus_iteration *iteration, cebus_pool *pool, const settings *options,
                    const figures *f, const char *name, uint64_t budget)
{
    cebus_plan plan;
    cebus_check check;
    cebus_plan_terms terms = terms_for(options, budget, options->effort);
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

/* ---- with places -------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    const cebus_fixture *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1)
                                : (x->owner > y->owner) - (x->owner < y->owner);
}

/** What persists, the largest at the bottom. *n: how many; to be freed. */
static cebus_fixture *fixtures_of(const cebus_iteration *iteration, size_t *n)
{
    cebus_fixture *fixtures = malloc(iteration->n_values * sizeof *fixtures);
    uint64_t end = 0;
    if (fixtures == NULL)
        fail("no host memory");
    *n = 0;
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->persistent && value->bytes > 0)
            fixtures[(*n)++] = (cebus_fixture){.bytes = value->bytes, .owner = v + 1};
    }
    qsort(fixtures, *n, sizeof *fixtures, by_bytes);
    for (size_t i = 0; i < *n; i++) {
        fixtures[i].bytes = cebus_align_up(fixtures[i].bytes, ALIGNMENT);
        fixtures[i].offset = end;
        end += fixtures[i].bytes;
    }
    return fixtures;
}

static uint64_t digest(uint64_t hash, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/** Of all that a plan says. */
static uint64_t digest_of(const cebus_plan *plan, const cebus_placement *placement)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < plan->count; i++) {
        const cebus_action *action = &plan->actions[i];
        const uint64_t words[] = {action->at, action->value, action->kind};
        hash = digest(hash, words, sizeof words);
    }
    hash = digest(hash, placement->values, placement->n_values * sizeof *placement->values);
    hash = digest(hash, placement->actions, placement->n_actions * sizeof *placement->actions);
    hash = digest(hash, placement->scratch, placement->n_actions * sizeof *placement->scratch);
    hash = digest(hash, placement->workspaces, placement->n_calls * sizeof *placement->workspaces);
    for (size_t i = 0; i < placement->n_relocations; i++)
        hash = digest(hash, &placement->relocations[i].offset, sizeof(uint64_t));
    return hash;
}

/** Percent of the program's time that a plan costs. */
static double overhead_of(const cebus_fit *fit, const settings *options, uint64_t budget,
                          uint64_t base_ns)
{
    cebus_timeline timeline;
    const cebus_plan_terms terms = terms_for(options, budget, 0);
    const cebus_timeline_terms with = {.budget = budget,
                                       .out_rate = terms.out_rate,
                                       .in_rate = terms.in_rate,
                                       .latency_ns = terms.latency_ns,
                                       .placement = fit->placement,
                                       .ahead = true};
    if (!cebus_timeline_run(fit->iteration, fit->plan, &with, fit->plan->pool, &timeline))
        fail("no host memory");
    return 100.0 * ((double)(timeline.total_ns + fit->placement->moving_ns) / (double)base_ns - 1);
}

/** One plan and its places, as the runtime has them made. */
static void time_places(const cebus_iteration *iteration, cebus_site site, const settings *options,
                        uint64_t budget, uint64_t base_ns)
{
    cebus_plan plan;
    cebus_placement placement;
    const uint64_t effort = site.rounds > 0 ? cebus_terms_effort(iteration) : 0;
    cebus_plan_init(&plan, iteration->pool);
    cebus_placement_init(&placement, iteration->pool);
    cebus_fit fit = {.policy = cebus_policy_find("cebus"),
                     .iteration = iteration,
                     .site = site,
                     .terms = terms_for(options, budget, effort),
                     .plan = &plan,
                     .placement = &placement};
    const double start = milliseconds();
    const bool placed = cebus_fit_make(&fit);
    const double ms = milliseconds() - start;
    if (placed)
        printf(" %.1f | %.2f | %zu | %016llx |", ms, overhead_of(&fit, options, budget, base_ns),
               plan.count, (unsigned long long)digest_of(&plan, &placement));
    else
        printf(" %.1f | - | %zu | %016llx |", ms, plan.count,
               (unsigned long long)digest_of(&plan, &placement));
    cebus_placement_clear(&placement);
    cebus_plan_clear(&plan);
}

static void measure_places(const cebus_iteration *iteration, cebus_pool *pool,
                           const settings *options, const figures *f, const char *name,
                           uint64_t budget)
{
    cebus_outside outside;
    if (!cebus_outside_init(&outside, iteration, pool))
        fail("no host memory");
    cebus_site site = {.capacity = budget > outside.bytes ? budget - outside.bytes : 0,
                       .alignment = ALIGNMENT,
                       .outside = &outside,
                       .moves = {MOVE_RATE, MOVE_NS},
                       .link = {options->rate > 0 ? options->rate : 1, LATENCY_NS}};
    cebus_fixture *fixtures = fixtures_of(iteration, &site.n_fixtures);
    site.fixtures = fixtures;
    printf("| %s | %zu | %s |", f->path, iteration->n_calls, name);
    time_places(iteration, site, options, budget, f->base_ns);
    site.rounds = CEBUS_TERMS_ROUNDS;
    time_places(iteration, site, options, budget, f->base_ns);
    printf("\n");
    fflush(stdout);
    free(fixtures);
    cebus_outside_deinit(&outside);
}

/* ---- all of it ---------------------------------------------------------------------------- */

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
        (options->places ? measure_places : measure)(&iteration, &pool, options, &f, name,
                                                     (uint64_t)bytes);
    }
    cebus_iteration_clear(&iteration);
    cebus_pool_deinit(&pool);
}

static void print_head(const settings *options)
{
    if (options->places)
        printf(
            "| trace | calls | of peak | first, ms | overhead %% | actions | digest | search, ms "
            "| overhead %% | actions | digest |\n"
            "|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---|\n");
    else
        printf("| trace | of peak | of floor | overhead %% | of it waiting | of budget | replays | "
               "actions | ms |\n"
               "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
}

int main(int argc, char **argv)
{
    settings options = {
        .budgets = "90,80,70,60,50,40,30,20", .effort = 0, .format = CEBUS_TRACE_DTR};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--cebus") == 0)
            options.format = CEBUS_TRACE_CEBUS;
        else if (strcmp(argv[i], "--places") == 0)
            options.places = true;
        else if (strcmp(argv[i], "--budgets") == 0 && i + 1 < argc)
            options.budgets = argv[++i];
        else if (strcmp(argv[i], "--effort") == 0 && i + 1 < argc)
            options.effort = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--link") == 0 && i + 1 < argc)
            options.rate = (uint64_t)(1e9 * strtod(argv[++i], NULL));
        else
            fail("usage: bench_planner [--places] [--budgets LIST] [--effort N] [--link GBPS] "
                 "[--cebus] FILE...");
    }
    print_head(&options);
    for (; i < argc; i++)
        measure_all(argv[i], &options);
    return 0;
}
