/**
 * Whole models recorded and read back. A device that only looks in watches what lives at each
 * launch: it must be what the trace says.
 */
#include <criterion/criterion.h>

#include "cebus_config.h"

#if CEBUS_HAVE_JSON

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eager/device/device.h"
#include "eager/runtime.h"
#include "program.h"
#include "tests/support/models.h"

#define LAUNCHES_MAX 20000
#define STEPS 2

/** Bytes of held values the trace knows, at each launch that is no replay. */
static uint64_t seen[LAUNCHES_MAX];
static size_t launches;
static cebus_runtime *watched;

static cebus_status watch_launch(cebus_device *device, const cebus_kernel *kernel,
                                 const cebus_launch *launch, uint64_t *out_ns)
{
    if (watched != NULL && watched->recorder != NULL && !watched->replay.busy) {
        uint64_t bytes = 0;
        for (const cebus_block *block = watched->arena.first; block != NULL; block = block->next) {
            const cebus_candidate *owner = block->owner;
            if (owner != NULL && owner->value.holders > 0 && owner->trace_id != 0)
                bytes += owner->value.bytes;
        }
        cr_assert_lt(launches, LAUNCHES_MAX);
        seen[launches++] = bytes;
    }
    return cebus_device_cpu.launch(device, kernel, launch, out_ns);
}

static cebus_runtime *open_watched(uint64_t budget, const char *policy, cebus_swap swap)
{
    static cebus_device_ops watching;
    if (watching.name == NULL) {
        watching = cebus_device_cpu;
        watching.name = "watched";
        watching.launch = watch_launch;
        cr_assert(cebus_device_register(&watching));
    }
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "watched";
    options.memory_budget = budget;
    options.threads = 1;
    options.seed = 7;
    options.policy = policy;
    options.swap = swap;
    options.cost_model = CEBUS_COST_ESTIMATED;
    OK(cebus_runtime_create(&options, &watched));
    launches = 0;
    return watched;
}

static const char *new_file(void)
{
    static char path[64];
    int fd = memfd_create("trace", 0);
    cr_assert_geq(fd, 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/** Records all of a model's life, or its steps from the second on, on the runtime that is watched;
 * what its statistics say then. */
static cebus_memory_stats record(const char *model, bool whole, char *path)
{
    cebus_runtime *rt = watched;
    snprintf(path, 64, "%s", new_file());
    if (whole)
        OK(cebus_trace_start(rt, path));
    cebus_model *m = cebus_model_create(rt, model, NULL);
    cr_assert_not_null(m, "%s", cebus_last_error()->message);
    cebus_memory_stats before = stats_of(rt);
    for (int step = 0; step < STEPS; step++) {
        if (!whole && step == 1) {
            before = stats_of(rt);
            OK(cebus_trace_start(rt, path));
        }
        OK(cebus_model_step(m, NULL));
        OK(cebus_iteration_mark(rt));
    }
    cebus_memory_stats stats = stats_of(rt);
    if (!whole)
        stats.calls -= before.calls;
    if (whole)
        cebus_model_destroy(m);
    OK(cebus_trace_stop(rt));
    if (!whole)
        cebus_model_destroy(m);
    cebus_runtime_destroy(rt);
    watched = NULL;
    return stats;
}

/** What a trace says, summed up. */
typedef struct summary {
    uint64_t ops, marks, constants, live;
    uint64_t before[LAUNCHES_MAX]; /**< live bytes before each op, without what it introduces */
} summary;

static const summary *sum_up(const char *path)
{
    static summary s;
    static uint64_t bytes[1 << 18];
    uint64_t introduced = 0;
    cebus_trace_reader *reader;
    OK(cebus_trace_reader_open(path, CEBUS_TRACE_CEBUS, NULL, &reader));
    memset(&s, 0, sizeof s);
    for (;;) {
        bool end;
        cebus_trace_item item;
        OK(cebus_trace_reader_next(reader, &item, &end));
        if (end)
            break;
        if (item.kind == CEBUS_TRACE_CONST) {
            bytes[item.value] = item.bytes;
            introduced += item.bytes;
            s.constants += item.persistent ? item.bytes : 0;
            s.live += item.bytes;
            continue;
        }
        if (item.kind == CEBUS_TRACE_OP) {
            s.before[s.ops++] = s.live - introduced;
            for (size_t j = 0; j < item.n_out; j++) {
                if (item.out[j].alias_of >= 0 && item.out[j].value == item.in[item.out[j].alias_of])
                    continue;
                bytes[item.out[j].value] = item.out[j].bytes;
                s.live += item.out[j].bytes;
            }
        }
        if (item.kind == CEBUS_TRACE_FREE)
            s.live -= bytes[item.value];
        s.marks += item.kind == CEBUS_TRACE_MARK;
        introduced = 0;
    }
    cebus_trace_reader_close(reader);
    return &s;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    fseek(file, 0, SEEK_END);
    size_t bytes = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(bytes + 1);
    cr_assert_not_null(text);
    cr_assert_eq(fread(text, 1, bytes, file), bytes);
    text[bytes] = '\0';
    fclose(file);
    return text;
}

static void check_model(const char *name)
{
    char path[64];
    for (int whole = 0; whole < 2; whole++) {
        (void)open_watched(UINT64_C(1) << 30, "coop", CEBUS_SWAP_OFF);
        cebus_memory_stats stats = record(name, whole != 0, path);
        const summary *s = sum_up(path);
        cr_expect_eq(s->ops, stats.calls, "%s: %" PRIu64 " ops of %" PRIu64 " calls", name, s->ops,
                     stats.calls);
        cr_expect_eq(s->marks, whole ? STEPS : STEPS - 1);
        cr_assert_eq(launches, s->ops);
        for (size_t i = 0; i < launches; i++)
            cr_assert_eq(seen[i], s->before[i],
                         "%s: %" PRIu64 " bytes held before op %zu, %" PRIu64 " in the trace", name,
                         seen[i], i + 1, s->before[i]);
        if (whole)
            cr_expect_eq(s->live, s->constants, "%s: what is freed balances", name);
    }
}

Test(trace_round, what_lives_is_what_the_runtime_holds)
{
    for (size_t i = 0; cebus_model_name(i) != NULL && i < 8; i++) {
        const char *name = cebus_model_name(i);
        if (strcmp(name, "resnet18") != 0 || getenv("CEBUS_TEST_ALL") != NULL)
            check_model(name);
    }
}

Test(trace_round, a_trace_does_not_depend_on_the_budget)
{
    static const char *const names[] = {"gpt", "lstm", "cnn"};
    static const struct {
        const char *policy;
        cebus_swap swap;
    } ways[] = {{"coop", CEBUS_SWAP_OFF}, {"coop", CEBUS_SWAP_ON}, {"lru", CEBUS_SWAP_OFF}};
    char wide[64], tight[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)open_watched(UINT64_C(1) << 30, "coop", CEBUS_SWAP_OFF);
        uint64_t budget = record(names[i], true, wide).allocated_bytes_peak * 17 / 20;
        char *wanted = read_text(wide);
        for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
            (void)open_watched(budget, ways[k].policy, ways[k].swap);
            cebus_memory_stats stats = record(names[i], true, tight);
            cr_expect_gt(stats.recomputes + stats.swap_ins, 0,
                         "%s, way %zu: the budget must be felt", names[i], k);
            char *text = read_text(tight);
            cr_expect_str_eq(text, wanted);
            free(text);
        }
        free(wanted);
    }
}

#endif
