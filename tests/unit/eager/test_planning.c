/** When an iteration is planned, for how many kinds of them, and what is asked for it. */
#include <criterion/criterion.h>

#include "eager/guidance/state.h"
#include "timed_layer.h"

TestSuite(planning);

enum {
    LAYERS = 16
};
#define UNIT 64 /* elements; a kind of iteration has so many times more of them */

/** `maps`: of the largest kind, that fit. */
static cebus_runtime *open_cpu(cebus_swap swap, uint64_t maps, int64_t kinds)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "cpu";
    options.policy = "cebus";
    options.swap = swap;
    options.threads = 1;
    options.memory_budget = maps * (uint64_t)kinds * UNIT * sizeof(float);
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

/** An iteration of a kind of its own. */
static void step(cebus_runtime *rt, int64_t kind)
{
    run_layers(rt, vector(rt, kind * UNIT, 1), LAYERS);
}

static void rounds(cebus_runtime *rt, int count, int64_t kinds)
{
    for (int i = 0; i < count; i++) {
        for (int64_t kind = 1; kind <= kinds; kind++)
            step(rt, kind);
    }
}

/* --- the link ------------------------------------------------------------------------------- */

static const cebus_device_ops *asked_ops;
static int asked;

static void count_query(cebus_device *device, cebus_device_info *out)
{
    asked++;
    asked_ops->query(device, out);
}

/** Times that the device was asked about its link while three kinds were planned. */
static int ask(cebus_swap swap)
{
    cebus_runtime *rt = open_cpu(swap, 8, 3);
    cebus_device_ops counting = *rt->device_ops;
    asked_ops = rt->device_ops;
    counting.query = count_query;
    rt->device_ops = &counting;
    asked = 0;
    rounds(rt, 6, 3);
    int times = asked;
    rt->device_ops = asked_ops;
    cr_expect_eq(stats_of(rt).iterations_known, 3);
    cr_expect_gt(stats_of(rt).guided_iterations, 0);
    cebus_runtime_destroy(rt);
    return times;
}

/** What a CPU answers takes as long as a plan for a few calls. */
Test(planning, asks_about_the_link_only_where_something_may_be_swapped)
{
    cr_expect_eq(ask(CEBUS_SWAP_OFF), 0);
    cr_expect_eq(ask(CEBUS_SWAP_DEFAULT), 0, "of its own accord nothing is");
    cr_expect_gt(ask(CEBUS_SWAP_ON), 0);
}
