/**
 * Costs that come late, from a device that says later what its launches took: the CPU's, with
 * estimates of ESTIMATE and costs by a script.
 */
#include <criterion/criterion.h>

#include "eager/runtime.h"
#include "eager/storage.h"
#include "eager/tensor.h"
#include "program.h"

TestSuite(measure);

#define N 256
#define ESTIMATE 1000

static cebus_late_cost known[8]; /**< to be told at the next collection */
static size_t n_known;
static uint64_t launched;

static cebus_status late_launch(cebus_device *device, const cebus_kernel *kernel,
                                const cebus_launch *launch, uint64_t *out_ns)
{
    cebus_status status = cebus_device_cpu.launch(device, kernel, launch, out_ns);
    launched = cebus_device_cpu.stream_mark(device, CEBUS_STREAM_COMPUTE);
    *out_ns = ESTIMATE;
    return status;
}

static void late_query(cebus_device *device, cebus_device_info *out)
{
    cebus_device_cpu.query(device, out);
    out->late_costs = true;
}

static size_t late_collect(cebus_device *device, size_t n, cebus_late_cost *out)
{
    (void)device;
    size_t count = n_known < n ? n_known : n;
    memcpy(out, known, count * sizeof *out);
    n_known -= count;
    memmove(known, known + count, n_known * sizeof *known);
    return count;
}

static cebus_runtime *open_late(cebus_cost_model model)
{
    static cebus_device_ops late;
    late = cebus_device_cpu;
    late.name = "late";
    late.launch = late_launch;
    late.query = late_query;
    late.collect = late_collect;
    cr_assert(cebus_device_register(&late));
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = "late";
    options.threads = 1;
    options.memory_budget = 64 * N * sizeof(float);
    options.cost_model = model;
    options.debug = CEBUS_DEBUG_WALK;
    OK(cebus_runtime_create(&options, &rt));
    return rt;
}

static void tell(uint64_t mark, uint64_t ns)
{
    known[n_known++] = (cebus_late_cost){.mark = mark, .ns = ns};
}

static cebus_tensor *twice(cebus_tensor *x)
{
    cebus_tensor *y;
    OK(cebus_mul_scalar(cebus_tensor_runtime(x), x, 2.0, &y));
    return y;
}

static uint64_t cost_of(const cebus_tensor *x)
{
    return x->storage->now->value.producer->cost_ns;
}

Test(measure, a_cost_replaces_its_estimate_at_the_next_call)
{
    cebus_runtime *rt = open_late(CEBUS_COST_MEASURED);
    cebus_tensor *x = leaf(rt, N, 1.0F);
    cebus_tensor *dear = twice(x);
    uint64_t mark = launched;
    cebus_tensor *cheap = twice(x);
    tell(mark, 7000);
    tell(launched, 300);
    cr_expect_eq(cost_of(dear), ESTIMATE);
    cr_expect_eq(stats_of(rt).compute_ns, 2 * ESTIMATE);
    uint64_t clock = rt->clock_ns;
    cebus_tensor *more = twice(x);
    cr_expect_eq(cost_of(dear), 7000);
    cr_expect_eq(cost_of(cheap), 300);
    cr_expect_eq(stats_of(rt).compute_ns, 7000 + 300 + ESTIMATE);
    cr_expect_eq(rt->clock_ns - clock, 6000 + ESTIMATE, "what was too much is not taken back");
    cebus_tensor *all[] = {x, dear, cheap, more};
    for (int i = 0; i < 4; i++)
        cebus_tensor_release(all[i]);
    cebus_runtime_destroy(rt);
}

Test(measure, launches_that_were_not_measured_keep_their_estimate)
{
    cebus_runtime *rt = open_late(CEBUS_COST_MEASURED);
    cebus_tensor *x = leaf(rt, N, 1.0F), *y[3];
    uint64_t marks[3];
    for (int i = 0; i < 3; i++) {
        y[i] = twice(x);
        marks[i] = launched;
    }
    tell(marks[0], 10);
    tell(marks[2], 20);
    cebus_tensor *more = twice(x);
    cr_expect_eq(cost_of(y[0]), 10);
    cr_expect_eq(cost_of(y[1]), ESTIMATE);
    cr_expect_eq(cost_of(y[2]), 20);
    tell(marks[1], 30); /* too late: out of order */
    cebus_tensor_release(more);
    more = twice(x);
    cr_expect_eq(cost_of(y[1]), ESTIMATE);
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(y[i]);
    cebus_tensor_release(more);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(measure, a_replay_lowers_what_was_measured_and_counts_apart)
{
    cebus_runtime *rt = open_late(CEBUS_COST_MEASURED);
    cebus_tensor *x = leaf(rt, N, 1.0F), *y = twice(x);
    tell(launched, 500);
    cebus_tensor_release(twice(x));
    tell(launched, 600);
    cr_expect_eq(cost_of(y), 500);
    OK(cebus_runtime_trim(rt));
    cr_expect_not(cebus_tensor_is_resident(y));
    cr_expect_eq(at(y, 3), 2.0F);
    cr_expect_eq(cost_of(y), 500, "an estimate tells nothing new");
    cr_expect_eq(stats_of(rt).recompute_ns, ESTIMATE);
    tell(launched, 400);
    cebus_tensor *z = twice(x);
    cr_expect_eq(cost_of(y), 400);
    cr_expect_eq(stats_of(rt).recompute_ns, 400);
    cr_expect_eq(stats_of(rt).compute_ns, 500 + 600 + ESTIMATE);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_tensor_release(z);
    cebus_runtime_destroy(rt);
}

Test(measure, the_ring_forgets_the_oldest_and_frees_what_it_held)
{
    cebus_runtime *rt = open_late(CEBUS_COST_MEASURED);
    cebus_tensor *x = leaf(rt, N, 1.0F);
    cebus_tensor *first = twice(x);
    uint64_t mark = launched;
    for (int i = 0; i < 3 * CEBUS_MEASURE_RING; i++)
        cebus_tensor_release(twice(x));
    cr_expect_eq(stats_of(rt).live_records, 1 + CEBUS_MEASURE_RING);
    tell(mark, 9);
    tell(launched, 9);
    cebus_tensor_release(twice(x));
    cr_expect_eq(cost_of(first), ESTIMATE);
    cr_expect_eq(stats_of(rt).live_records, 2, "the first, and the one that was just made");
    cebus_tensor_release(first);
    cebus_tensor_release(x);
    cebus_runtime_destroy(rt);
}

Test(measure, estimated_costs_stay_as_they_are)
{
    cebus_runtime *rt = open_late(CEBUS_COST_ESTIMATED);
    cebus_tensor *x = leaf(rt, N, 1.0F), *y = twice(x);
    uint64_t cost = cost_of(y);
    tell(launched, 77);
    cebus_tensor_release(twice(x));
    cr_expect_eq(cost_of(y), cost);
    cebus_tensor_release(x);
    cebus_tensor_release(y);
    cebus_runtime_destroy(rt);
}
