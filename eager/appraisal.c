#include "eager/appraisal.h"

#include "eager/feedback.h"
#include "evict/timeline.h"

/** So many times in a row a plan may cost more than none where times are measured. */
#define MOST_DEAR 2
/** Prediction and measurement part: by more than this part of what was predicted. */
#define PARTED(ns) ((ns) / 20)
/** So many iterations in a row must part where times are measured; twice as many after each plan
 * made for it. */
#define PATIENCE 3
/** So many times a plan is made anew because they part, unless one of them held for so long. */
#define MOST_REPLANS 4
#define HELD 32

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/** Where costs are estimated nothing is to depend on what really takes how long. */
static bool tells_time(const cebus_runtime *rt)
{
    return rt->info.simulated || rt->cost_model == CEBUS_COST_MEASURED;
}

static cebus_tally tally_now(cebus_runtime *rt)
{
    const cebus_memory_stats *stats = &rt->stats;
    return (cebus_tally){.compute_ns = stats->compute_ns,
                         .recompute_ns = stats->recompute_ns,
                         .stall_ns = tells_time(rt) ? rt->device_ops->stalled(rt->device) : 0,
                         .evictions = stats->evictions,
                         .recomputes = stats->recomputes,
                         .planned_replays = stats->planned_replays,
                         .swap_outs = stats->swap_outs,
                         .swap_ins = stats->swap_ins,
                         .prefetches = stats->prefetches,
                         .out_bytes = stats->swapped_out_bytes};
}

void cebus_appraisal_begin(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    guidance->begun = tally_now(rt);
    guidance->begun_with = guidance->scheme;
    guidance->planned = guidance->scheme->plan.count > 0;
    guidance->done = guidance->given_up = 0;
    rt->iteration_peak = rt->arena.used_bytes;
}

/** Since the iteration began. */
static cebus_tally tally_of(cebus_runtime *rt)
{
    cebus_tally now = tally_now(rt);
    const cebus_tally *begun = &rt->guidance->begun;
    return (cebus_tally){.compute_ns = now.compute_ns - begun->compute_ns,
                         .recompute_ns = now.recompute_ns - begun->recompute_ns,
                         .stall_ns = now.stall_ns - begun->stall_ns,
                         .evictions = now.evictions - begun->evictions,
                         .recomputes = now.recomputes - begun->recomputes,
                         .planned_replays = now.planned_replays - begun->planned_replays,
                         .swap_outs = now.swap_outs - begun->swap_outs,
                         .swap_ins = now.swap_ins - begun->swap_ins,
                         .prefetches = now.prefetches - begun->prefetches,
                         .out_bytes = now.out_bytes - begun->out_bytes};
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void publish(cebus_runtime *rt, cebus_scheme *scheme, const cebus_tally *took)
{
    const cebus_guidance *guidance = rt->guidance;
    cebus_memory_stats *stats = &rt->stats;
    stats->guided_iterations++;
    stats->guided_peak_bytes = rt->iteration_peak;
    stats->guided_predicted_ns = scheme->predicted_ns;
    stats->guided_measured_ns = took->compute_ns + took->recompute_ns + took->stall_ns;
    stats->guided_lost_ns = took->recompute_ns + took->stall_ns;
    stats->guided_swap_outs = took->swap_outs;
    stats->guided_swapped_bytes = took->out_bytes;
    stats->guided_recomputes = took->recomputes;
    stats->guided_actions = scheme->plan.count;
    stats->guided_missed = less(scheme->plan.count, guidance->done);
    stats->guided_unforeseen = less(took->evictions, guidance->given_up) +
                               less(took->recomputes, took->planned_replays) +
                               less(took->swap_ins, took->prefetches);
    if (++scheme->guided != 2) /* by then its values have found their places */
        return;
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_GUIDED,
                                       .bytes = stats->guided_peak_bytes,
                                       .ns = stats->guided_lost_ns,
                                       .value = stats->iteration_signature});
}

/** A plan that costs more than none is given up, until it would be made for something else; not
 * those of published policies, which keep to theirs. */
static bool is_dear(const cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    uint64_t margin = scheme->unplanned_ns / 50 + scheme->iteration_ns / 500;
    bool dear = scheme->unplanned_ns > 0 && lost > scheme->unplanned_ns + margin;
    scheme->dear = rt->policy->searches && dear ? scheme->dear + 1 : 0;
    return scheme->dear > (cebus_appraisal_repeats(rt) ? 0 : MOST_DEAR);
}

/** Costs of the record become those of the last time; false: they had not changed much. */
static bool refresh_costs(cebus_scheme *scheme, cebus_iteration *iteration)
{
    uint64_t before = 0, after = 0;
    for (size_t k = 0; k < iteration->n_calls; k++) {
        before += iteration->calls[k].cost_ns;
        after += iteration->calls[k].last_ns;
    }
    if (apart(before, after) <= PARTED(before))
        return false;
    for (size_t k = 0; k < iteration->n_calls; k++)
        iteration->calls[k].cost_ns = iteration->calls[k].last_ns;
    scheme->iteration_ns = after;
    scheme->unplanned_ns =
        (uint64_t)((double)scheme->unplanned_ns * (double)after / (double)(before + 1));
    return true;
}

/** Copies took longer than the plan reckoned with: it is made for a slower link, as long as that
 * helps. */
static bool slow_link(cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    bool helped = scheme->slower == 0 || lost < scheme->best_lost;
    if (!rt->policy->searches || scheme->settled || rt->stats.guided_swap_outs == 0)
        return false;
    if (helped) {
        scheme->best_lost = lost;
        scheme->slower++;
        return true;
    }
    scheme->settled = true; /* the one before was better: back to it */
    scheme->slower--;
    return true;
}

/** Whether prediction and measurement have parted for long enough. */
static bool is_stale(cebus_runtime *rt, cebus_scheme *scheme, uint64_t took)
{
    uint32_t patience = cebus_appraisal_repeats(rt) ? 0 : PATIENCE << scheme->replans;
    bool parted = tells_time(rt) && scheme->predicted_ns > 0 &&
                  apart(took, scheme->predicted_ns) > PARTED(scheme->predicted_ns);
    scheme->parted = parted ? scheme->parted + 1 : 0;
    if (!parted && scheme->guided > HELD)
        scheme->replans = 0;
    return scheme->parted > patience && scheme->replans < MOST_REPLANS;
}

static cebus_verdict judge(cebus_runtime *rt, cebus_scheme *scheme, cebus_iteration *iteration,
                           const cebus_tally *took)
{
    uint64_t lost = took->recompute_ns + took->stall_ns;
    if (!cebus_feedback_end(rt, scheme, iteration, lost))
        return CEBUS_PLAN_IS_STALE;
    bool stale = is_stale(rt, scheme, took->compute_ns + lost);
    bool drifted = stale && refresh_costs(scheme, iteration);
    if (!drifted && is_dear(rt, scheme, lost))
        return CEBUS_PLAN_IS_DEAR;
    if (!drifted && !(stale && slow_link(rt, scheme, lost)))
        return CEBUS_PLAN_STANDS;
    scheme->parted = 0;
    scheme->replans++;
    rt->stats.replans++;
    return CEBUS_PLAN_IS_STALE;
}

cebus_verdict cebus_appraisal_end(cebus_runtime *rt, cebus_scheme *scheme,
                                  cebus_iteration *iteration, bool followed)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_tally took = tally_of(rt);
    uint64_t lost = took.recompute_ns + took.stall_ns;
    if (!guidance->planned || !followed) {
        if (scheme->unplanned_ns == 0 || lost < scheme->unplanned_ns)
            scheme->unplanned_ns = lost > 0 ? lost : 1;
        return CEBUS_PLAN_STANDS;
    }
    if (guidance->begun_with != scheme)
        return CEBUS_PLAN_STANDS;
    publish(rt, scheme, &took);
    return judge(rt, scheme, iteration, &took);
}

void cebus_appraisal_predict(cebus_runtime *rt, cebus_scheme *scheme,
                             const cebus_iteration *iteration)
{
    cebus_timeline timeline;
    const cebus_plan_terms *terms = &scheme->terms;
    cebus_timeline_terms with = {.budget = terms->budget,
                                 .out_rate = terms->out_rate,
                                 .in_rate = terms->in_rate,
                                 .latency_ns = terms->latency_ns,
                                 .swaps = rt->policy->swaps && terms->host > 0,
                                 .ahead = rt->info.simulated || rt->info.deferred};
    scheme->guided = 0;
    scheme->predicted_ns = 0;
    if (scheme->plan.count > 0 &&
        cebus_timeline_run(iteration, &scheme->plan, &with, &rt->pool, &timeline))
        scheme->predicted_ns = timeline.total_ns;
}
