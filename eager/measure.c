#include "eager/measure.h"

#include "eager/runtime.h"
#include "lineage/cost.h"

static cebus_estimate take(cebus_runtime *rt)
{
    cebus_measure *measure = &rt->measure;
    return measure->ring[measure->taken++ % CEBUS_MEASURE_RING];
}

void cebus_measure_expect(cebus_runtime *rt, cebus_call *call, uint64_t mark, uint64_t ns)
{
    cebus_measure *measure = &rt->measure;
    if (!rt->info.late_costs || rt->cost_model == CEBUS_COST_ESTIMATED)
        return;
    if (measure->given - measure->taken == CEBUS_MEASURE_RING)
        cebus_call_release(&rt->lineage, take(rt).call);
    cebus_call_retain(call);
    measure->ring[measure->given++ % CEBUS_MEASURE_RING] =
        (cebus_estimate){.call = call, .mark = mark, .ns = ns, .again = call->live_outputs > 0};
}

static void correct(cebus_runtime *rt, const cebus_estimate *estimate, uint64_t ns)
{
    uint64_t *sum = estimate->again ? &rt->stats.recompute_ns : &rt->stats.compute_ns;
    *sum += ns - estimate->ns; /* modulo 2^64: the sum holds the estimate */
    if (ns > estimate->ns)
        rt->clock_ns += ns - estimate->ns;
    if (estimate->call->cost_ns == estimate->ns)
        cebus_cost_revise(&rt->lineage, estimate->call, ns);
    else
        cebus_cost_lower(&rt->lineage, estimate->call, ns);
}

void cebus_measure_collect(cebus_runtime *rt)
{
    enum {
        PIECE = 32
    };
    cebus_late_cost costs[PIECE];
    cebus_measure *measure = &rt->measure;
    size_t n;
    do {
        n = rt->device_ops->collect(rt->device, PIECE, costs);
        for (size_t i = 0; i < n; i++) {
            while (measure->taken < measure->given &&
                   measure->ring[measure->taken % CEBUS_MEASURE_RING].mark <= costs[i].mark) {
                cebus_estimate estimate = take(rt);
                if (estimate.mark == costs[i].mark)
                    correct(rt, &estimate, costs[i].ns);
                cebus_call_release(&rt->lineage, estimate.call);
            }
        }
    } while (n == PIECE);
}

void cebus_measure_deinit(cebus_runtime *rt)
{
    while (rt->measure.taken < rt->measure.given)
        cebus_call_release(&rt->lineage, take(rt).call);
}
