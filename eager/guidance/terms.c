#include "eager/guidance/terms.h"

#include "eager/budget.h"
#include "eager/compaction.h"
#include "eager/swap/swap.h"
#include "layout/number.h"

/** Plans leave this part of the budget free where bytes have addresses but no planned places. Holes
 * take about as much when values of a few sizes come and go; with less free the policy would evict
 * what the plan keeps. */
#define HOLES_PART 16
/** Steps of a planner that searches: a second or so at most, and enough for its ways of planning
 * to be tried at all. */
#define MOST_EFFORT 1000000
#define LEAST_EFFORT 100000
/** One step of effort for each 32 ns of the iteration. A step takes about a microsecond, so
 * searching takes as long as some thirty iterations. */
#define NS_A_STEP 32

/** A link that was slower than reckoned with is taken to be (appraisal.h). */
static uint64_t slowed(uint64_t rate, uint32_t times)
{
    while (times-- > 0)
        rate -= rate / 20;
    return rate;
}

cebus_plan_terms cebus_terms_now(cebus_runtime *rt, const cebus_scheme *scheme, bool placed)
{
    const uint64_t budget = cebus_budget_now(rt), silent = scheme->fixtures.silent;
    rt->swap.blocked = false;
    cebus_swap_terms swap = cebus_swap_terms_now(rt);
    return (cebus_plan_terms){
        .budget = budget > silent ? budget - silent : 0,
        .holes = rt->arena.commodity || placed ? 0 : budget / HOLES_PART,
        .host = swap.use != CEBUS_SWAP_NEVER ? rt->swap.budget : 0,
        .out_rate = slowed(swap.out_rate, scheme->slower),
        .in_rate = slowed(swap.in_rate, scheme->slower),
        .latency_ns = swap.latency_ns,
    };
}

/** Measured rates are never twice the same, and a plan is dear: where they are only somewhat off,
 * iterations will tell whether that matters (appraisal.h). */
static bool is_other_rate(uint64_t a, uint64_t b)
{
    return a > 2 * b || b > 2 * a;
}

bool cebus_terms_differ(const cebus_plan_terms *a, const cebus_plan_terms *b)
{
    return a->budget != b->budget || a->holes != b->holes || a->host != b->host ||
           is_other_rate(a->out_rate, b->out_rate) || is_other_rate(a->in_rate, b->in_rate);
}

uint64_t cebus_terms_effort(const cebus_iteration *iteration)
{
    uint64_t effort = cebus_iteration_cost(iteration) / NS_A_STEP;
    effort = cebus_max_u64(effort, LEAST_EFFORT);
    return effort < MOST_EFFORT ? effort : MOST_EFFORT;
}

cebus_site cebus_terms_site(const cebus_runtime *rt, const cebus_scheme *scheme,
                            const cebus_outside *outside)
{
    uint64_t limit = cebus_budget_now(rt);
    return (cebus_site){.capacity = limit > outside->bytes ? limit - outside->bytes : 0,
                        .alignment = rt->arena.alignment,
                        .fixtures = scheme->fixtures.items,
                        .n_fixtures = scheme->fixtures.count,
                        .outside = outside,
                        .moves = cebus_compaction_terms(rt),
                        .link = {scheme->terms.out_rate, scheme->terms.latency_ns},
                        .rounds = CEBUS_TERMS_ROUNDS};
}
