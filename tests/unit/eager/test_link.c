/** Where the link is the limit copies keep it busy, and what the program waited is told. */
#include <criterion/criterion.h>
#include <math.h>

#include "timed_layer.h"

TestSuite(link);

enum {
    LAYERS = 32,
    ELEMENTS = 1 << 20,
    BUDGET = 8 /* maps */
};
#define MAP (UINT64_C(4) * ELEMENTS)

/** One direction of the link, in one iteration. */
typedef struct lane {
    uint64_t bytes, first, last; /**< ns: when the first copy began, when the last one ended */
    double longest;              /**< an event's time over what the copy alone takes */
} lane;

typedef struct lanes {
    uint64_t out_rate, in_rate;
    lane out, in;
} lanes;

static void add_copy(lane *l, const cebus_event *event, uint64_t rate)
{
    uint64_t took = (uint64_t)((double)event->bytes * 1e9 / (double)rate);
    if (l->bytes == 0)
        l->first = event->device_ns - took;
    l->bytes += event->bytes;
    l->last = event->device_ns;
    l->longest = fmax(l->longest, (double)event->ns / (double)took);
}

static void on_event(void *context, const cebus_event *event)
{
    lanes *l = context;
    if (event->kind == CEBUS_EVENT_SWAPPED_OUT)
        add_copy(&l->out, event, l->out_rate);
    if (event->kind == CEBUS_EVENT_SWAPPED_IN)
        add_copy(&l->in, event, l->in_rate);
}

/** Of the time from the first copy to the last, the share that the link needs for their bytes. */
static double busy(const lane *l, uint64_t rate)
{
    return (double)l->bytes * 1e9 / (double)rate / (double)(l->last - l->first);
}

static void step(cebus_runtime *rt)
{
    const int64_t n = ELEMENTS;
    cebus_tensor *x;
    OK(cebus_full(rt, 1, CEBUS_F32, 1, &n, &x));
    run_layers(rt, x, LAYERS);
}

/** After so many steps, at least `share` of each direction's time. */
static void expect_busy(const char *policy, int steps, double share)
{
    cebus_runtime *rt;
    lanes l = {.out_rate = 0};
    uint64_t both, latency;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "sim:p100-16g,issue=0ns";
    options.policy = policy;
    options.memory_budget = BUDGET * MAP;
    OK(cebus_machine_link(options.device, &l.out_rate, &l.in_rate, &both, &latency));
    OK(cebus_runtime_create(&options, &rt));
    for (int i = 0; i < steps; i++)
        step(rt);
    OK(cebus_runtime_synchronize(rt));
    cebus_memory_stats before = stats_of(rt);
    cebus_runtime_set_event_hook(rt, on_event, &l);
    step(rt);
    OK(cebus_runtime_synchronize(rt));
    cebus_memory_stats after = stats_of(rt);
    uint64_t took = after.device_ns - before.device_ns, stall = after.stall_ns - before.stall_ns;
    cr_expect_geq(l.out.bytes, (LAYERS - BUDGET) * MAP, "%s: %lu", policy, l.out.bytes / MAP);
    cr_expect_geq(busy(&l.out, l.out_rate), share, "%s: %.3f", policy, busy(&l.out, l.out_rate));
    cr_expect_geq(busy(&l.in, l.in_rate), share, "%s: %.3f", policy, busy(&l.in, l.in_rate));
    cr_expect_leq(fmax(l.out.longest, l.in.longest), 2.1,
                  "%s: an event tells its copy's time, not what that waited for: %.2f", policy,
                  fmax(l.out.longest, l.in.longest));
    cr_expect_gt(stall, took / 2, "%s: the link is the limit", policy);
    cr_expect_eq(stall + after.compute_ns - before.compute_ns, took, "%s: all that was exposed",
                 policy);
    cr_expect_eq(after.recomputes, 0);
    cebus_runtime_destroy(rt);
}

/** Others recompute here, or wait for each copy, as they were published. */
Test(link, copies_reach_its_rate_by_a_plan)
{
    expect_busy("odswap", 6, 0.95);
}

/** Each copy out but those made ahead starts when its room is wanted. */
Test(link, copies_come_close_to_it_on_demand)
{
    expect_busy("odswap", 0, 0.9);
}
