#include "eager/guidance/appraisal.h"

#include "eager/compaction.h"
#include "eager/guidance/feedback.h"
#include "eager/swap/swap.h"
#include "evict/timeline/timeline.h"
#include "layout/number.h"

/** Iterations in a row in which a plan may cost more than none, where times are measured. */
#define MOST_DEAR 2
/** The same of a plan with places where persistent values shuttle: these find theirs by and by. */
#define MOST_MOVING 4
/** Iterations until persistent values that shuttle are where they are to be. */
#define SETTLING 2
/** Where a plan loses less than this part of what the program takes no other is tried. */
#define WORTH_PART 50
/** The same where it loses as much as was foretold. */
#define FEW_PART 4
/** Where a plan loses more than this part it is held against none. */
#define DEAR_PART 20
/** Not where the first iteration lost so many times that, or so many times what the program takes:
 * it is not wrong by that much, and without a plan the program may come to a standstill. */
#define HOPELESS 2
#define STANDSTILL 5
/** What is lost is as it was: by this part of it. */
#define ALIKE(ns) ((ns) / 200)
/** So many iterations after a plan was given up the next ones will take as long. */
#define SETTLED 3
/** Prediction and measurement part: by more than this part of what was predicted. */
#define PARTED(ns) ((ns) / 20)
/** Iterations in a row that must part before a new plan is made, where times are measured; twice as
 * many after each such plan. */
#define PATIENCE 3
/** New plans because they part, at most; a plan that held for HELD iterations starts the count
 * again. */
#define MOST_REPLANS 4
#define HELD 32
/** Measured costs are running means, in which the last time has the weight 1 / MEMORY. */
#define MEMORY 4
/** Of the plan's actions: where the timeline has to make up for more by itself it foretells
 * nothing, as where no plan was found that fits. Published policies leave much to the moment by
 * intent, and foretell on simulated machines, where persistent values stay. */
#define MADE_UP_PART 4
/** So many iterations tell what one loses by and large, where no two are alike. */
#define TELLING 8
/** Below that clocks do not tell what is worse. */
#define TELLING_NS 100000
/** What changed by less than this part is not predicted anew. */
#define NEWS(ns) ((ns) / 100)

static uint64_t apart(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/** Where costs are estimated nothing is to depend on what really takes how long. */
static bool tells_time(const cebus_runtime *rt)
{
    return rt->info.simulated || rt->cost_model == CEBUS_COST_MEASURED;
}

static uint64_t moving_ns(const cebus_runtime *rt)
{
    const cebus_move_terms terms = cebus_compaction_terms(rt);
    return terms.rate > 0 ? (uint64_t)(1e9 * (double)rt->stats.moved_bytes / (double)terms.rate)
                          : 0;
}

static cebus_tally tally_now(cebus_runtime *rt)
{
    const cebus_memory_stats *stats = &rt->stats;
    return (cebus_tally){.compute_ns = stats->compute_ns,
                         .recompute_ns = stats->recompute_ns,
                         .stall_ns = tells_time(rt) ? rt->device_ops->stalled(rt->device) : 0,
                         .moving_ns = moving_ns(rt),
                         .clock_ns = rt->device_ops->clock(rt->device, CEBUS_STREAM_COMPUTE),
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
                         .moving_ns = now.moving_ns - begun->moving_ns,
                         .clock_ns = now.clock_ns - begun->clock_ns,
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

/** What the iteration took. Where the host's time is known the clock tells all of it. */
static uint64_t taken_of(const cebus_runtime *rt, const cebus_tally *took)
{
    return rt->info.issue_ns > 0
               ? took->clock_ns
               : took->compute_ns + took->recompute_ns + took->stall_ns + took->moving_ns;
}

/** Beside its own calls, and what these wait for the host. */
static uint64_t lost_of(const cebus_runtime *rt, const cebus_scheme *scheme,
                        const cebus_tally *took)
{
    return less(taken_of(rt, took), took->compute_ns + scheme->held_ns);
}

/** Persistent values find their places as they come. */
static bool is_loose(const cebus_scheme *scheme)
{
    return scheme->shuttling && scheme->spots == NULL;
}

/** Blocks that moved in an iteration. */
static uint64_t moving_of(const cebus_runtime *rt, const cebus_scheme *scheme,
                          const cebus_tally *took)
{
    return rt->info.issue_ns > 0 ? less(took->clock_ns, took->compute_ns + took->recompute_ns +
                                                            took->stall_ns + scheme->predicted_held)
                                 : took->moving_ns;
}

/** What the next iteration is to take. No plan says which blocks have to move where bytes are found
 * as they are needed: what that takes by and large was seen. */
static uint64_t foretold_of(const cebus_scheme *scheme)
{
    return scheme->predicted_ns +
           (is_loose(scheme) && scheme->predicted_ns > 0 ? scheme->usually_moving : 0);
}

static void publish(cebus_runtime *rt, cebus_scheme *scheme, const cebus_tally *took)
{
    const cebus_guidance *guidance = rt->guidance;
    cebus_memory_stats *stats = &rt->stats;
    scheme->lost_before = scheme->lost;
    stats->guided_iterations++;
    stats->guided_peak_bytes = rt->iteration_peak;
    stats->guided_predicted_ns = foretold_of(scheme);
    stats->guided_measured_ns = taken_of(rt, took);
    stats->guided_lost_ns = scheme->lost = lost_of(rt, scheme, took);
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

bool cebus_appraisal_awaits_better(const cebus_runtime *rt, const cebus_scheme *scheme)
{
    return rt->guidance->drafted == scheme || scheme->waits;
}

/** What is not worth another plan. */
static uint64_t dear_margin(const cebus_scheme *scheme)
{
    return scheme->unplanned_ns / 50 + scheme->iteration_ns / 500;
}

/** What calls cost the first time is more than when they were run again. */
bool cebus_appraisal_foretells_worse(const cebus_scheme *scheme)
{
    return scheme->predicted_ns > 0 && scheme->unplanned_ns > 0 &&
           scheme->predicted_lost > scheme->unplanned_ns * 3 / 2 + dear_margin(scheme) &&
           scheme->predicted_lost > TELLING_NS;
}

/** A plan that costs more than none is given up, until it would be made for something else; not
 * those of published policies, which keep to theirs. */
static bool is_dear(const cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    if (scheme->shuttling && !tells_time(rt))
        return false; /* it is not known what waiting for all that came on demand took */
    bool dear = scheme->unplanned_ns > 0 && lost > scheme->unplanned_ns + dear_margin(scheme);
    scheme->dear = rt->policy->searches && dear ? scheme->dear + 1 : 0;
    uint32_t patience = cebus_appraisal_repeats(rt) ? 0 : MOST_DEAR;
    if (scheme->shuttling && scheme->spots != NULL)
        patience = MOST_MOVING;
    return scheme->dear > patience;
}

/** Where times are measured the record's costs follow them. The first time counts no more than any
 * other once there were a few: pages were new then, and kernels were not yet chosen. */
static void follow_costs(cebus_scheme *scheme, cebus_iteration *iteration)
{
    scheme->seen += scheme->seen < MEMORY;
    for (size_t k = 0; k < iteration->n_calls; k++) {
        cebus_iteration_call *call = &iteration->calls[k];
        int64_t more = (int64_t)(call->last_ns - call->cost_ns) / (int64_t)scheme->seen;
        call->cost_ns += (uint64_t)more;
    }
}

/** Calls cost something else than when the plan was made. */
static bool have_drifted(const cebus_scheme *scheme, const cebus_iteration *iteration)
{
    return apart(cebus_iteration_cost(iteration), scheme->reckoned_ns) >
           PARTED(scheme->reckoned_ns);
}

/** The next plan is to be made for what calls cost now; false: that has not changed much. Where
 * runs repeat the record takes over the costs of the last time. */
static bool refresh_costs(const cebus_runtime *rt, cebus_scheme *scheme, cebus_iteration *iteration)
{
    uint64_t before = scheme->iteration_ns, after = 0;
    for (size_t k = 0; k < iteration->n_calls && cebus_appraisal_repeats(rt); k++)
        after += iteration->calls[k].last_ns + iteration->calls[k].held_ns;
    if (cebus_appraisal_repeats(rt) ? apart(before, after) <= PARTED(before)
                                    : !have_drifted(scheme, iteration))
        return false;
    for (size_t k = 0; k < iteration->n_calls && cebus_appraisal_repeats(rt); k++)
        iteration->calls[k].cost_ns = iteration->calls[k].last_ns + iteration->calls[k].held_ns;
    scheme->held_ns = cebus_iteration_hold(iteration, rt->info.issue_ns);
    scheme->iteration_ns = cebus_iteration_cost(iteration);
    scheme->unplanned_ns = (uint64_t)((double)scheme->unplanned_ns * (double)scheme->iteration_ns /
                                      (double)(before + 1));
    return true;
}

/** Copies took longer than the plan reckoned with: it is made for a slower link, as long as that
 * helps. */
static bool slow_link(cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    bool helped = scheme->slower == 0 || lost < scheme->best_lost;
    if (!rt->policy->searches || scheme->settled || rt->stats.guided_swap_outs == 0)
        return false;
    if (scheme->shuttling && scheme->spots != NULL)
        return false; /* all that persists would move again, which costs more than it gains */
    if (helped) {
        scheme->best_lost = lost;
        scheme->slower++;
        return true;
    }
    scheme->settled = true; /* the one before was better: back to it */
    scheme->slower--;
    return true;
}

/** What was predicted is not what came. Where times are measured predictions follow what calls
 * cost; there the plan is wrong about what is lost, or was made when calls cost something else. */
static bool part(const cebus_runtime *rt, const cebus_scheme *scheme,
                 const cebus_iteration *iteration, uint64_t compute_ns, uint64_t lost)
{
    if (!tells_time(rt) || scheme->predicted_ns == 0)
        return false;
    const uint64_t foretold = foretold_of(scheme);
    if (cebus_appraisal_repeats(rt))
        return apart(compute_ns + lost, foretold) > PARTED(foretold);
    return apart(lost + scheme->predicted_ns, scheme->predicted_lost + foretold) >
               PARTED(foretold) ||
           have_drifted(scheme, iteration);
}

/** The last two iterations lost the same, where runs repeat. */
static bool is_steady(const cebus_runtime *rt, const cebus_scheme *scheme)
{
    return cebus_appraisal_repeats(rt) && scheme->guided > SETTLING &&
           apart(scheme->lost, scheme->lost_before) <= ALIKE(scheme->lost);
}

/** Whether enough was seen of it. */
static bool is_told(const cebus_runtime *rt, const cebus_scheme *scheme)
{
    return !is_loose(scheme) || scheme->guided >= SETTLING + TELLING ||
           (scheme->guided > SETTLING + 1 && is_steady(rt, scheme));
}

/** Whether prediction and measurement have parted for long enough. */
static bool is_stale(cebus_runtime *rt, cebus_scheme *scheme, bool parted)
{
    uint32_t patience = cebus_appraisal_repeats(rt) ? 0 : PATIENCE << scheme->replans;
    if (!is_told(rt, scheme))
        return false;
    scheme->parted = parted ? scheme->parted + 1 : 0;
    if (!parted && scheme->guided > HELD)
        scheme->replans = 0;
    return scheme->parted > patience && scheme->replans < MOST_REPLANS;
}

/** It lost no more than if any place would do, and not much: a trial could gain little, and moves
 * all that persists, there and back. */
static bool loses_nothing_by_places(const cebus_scheme *scheme, uint64_t lost)
{
    return scheme->predicted_ns > 0 && lost < scheme->iteration_ns / FEW_PART &&
           lost <= scheme->predicted_anywhere + scheme->iteration_ns / WORTH_PART;
}

/** Persistent values that shuttle are where they are to be. */
static bool is_settled(const cebus_runtime *rt, const cebus_scheme *scheme)
{
    return (scheme->guided > MOST_MOVING && is_told(rt, scheme)) ||
           (scheme->spots != NULL && is_steady(rt, scheme));
}

/** What waits for its own place may wait longer than for any, and more is copied where there are
 * none. Plans do not tell which is worse: once with places is settled, without is tried. */
static bool has_rival(const cebus_runtime *rt, const cebus_scheme *scheme, uint64_t lost)
{
    return !loses_nothing_by_places(scheme, lost) && scheme->shuttling && scheme->spots != NULL &&
           scheme->placed_lost == 0 && is_settled(rt, scheme) &&
           lost > scheme->iteration_ns / WORTH_PART && rt->policy->searches && tells_time(rt) &&
           !cebus_appraisal_awaits_better(rt, scheme);
}

static bool is_rival(const cebus_scheme *scheme)
{
    return scheme->placeless && scheme->placed_lost > 0;
}

/** Whether the one without places is worse: plainly so before it is settled, or at all then; or it
 * became worse since. */
static bool loses(const cebus_runtime *rt, const cebus_scheme *scheme, uint64_t lost)
{
    const uint64_t with = scheme->placed_lost;
    if (cebus_appraisal_awaits_better(rt, scheme))
        return false;
    if (!is_told(rt, scheme))
        return lost > with + with / 4 + scheme->iteration_ns / DEAR_PART;
    if (scheme->guided <= SETTLING + TELLING)
        return lost >= with;
    return cebus_appraisal_repeats(rt) && lost > with + PARTED(with);
}

/** What none may have lost to be tried. */
static uint64_t most_to_try(const cebus_scheme *scheme, uint64_t lost)
{
    const uint64_t most = STANDSTILL * scheme->iteration_ns;
    if (scheme->unplanned >= SETTLED) /* it was there for long enough before */
        return lost;
    return most < HOPELESS * lost ? most : HOPELESS * lost;
}

bool cebus_appraisal_doubts(const cebus_runtime *rt, const cebus_scheme *scheme, uint64_t lost)
{
    return cebus_appraisal_repeats(rt) && tells_time(rt) && rt->policy->searches &&
           scheme->shuttling && !scheme->doubted && lost > scheme->iteration_ns / DEAR_PART &&
           scheme->unplanned_ns < most_to_try(scheme, lost) &&
           !cebus_appraisal_awaits_better(rt, scheme);
}

/** Where bytes are found as they are needed it need not wait for places of its own, but for more
 * than was foretold, and for more than for these. */
static bool misses_places(const cebus_runtime *rt, const cebus_scheme *scheme, uint64_t lost)
{
    return scheme->aside_lost > 0 && scheme->spots == NULL && is_told(rt, scheme) &&
           lost > scheme->aside_lost + scheme->iteration_ns / WORTH_PART && tells_time(rt) &&
           !cebus_appraisal_awaits_better(rt, scheme);
}

/** What the program waits for by itself is not counted: only the clock tells what is better. */
static bool runs_ahead(const cebus_runtime *rt)
{
    return rt->info.deferred && rt->policy->searches && !cebus_appraisal_repeats(rt);
}

/** What is counted is lost without a plan at least, but for the first times, when kernels were new:
 * where it is twice all that is lost with this one none need not be tried. */
static bool is_suspect(const cebus_runtime *rt, cebus_scheme *scheme, const cebus_tally *took)
{
    if (cebus_appraisal_awaits_better(rt, scheme) ||
        took->compute_ns + scheme->unplanned_ns / 2 > took->clock_ns)
        return false;
    return cebus_trial_suspects(&scheme->trial, took->clock_ns, scheme->predicted_ns);
}

static void weigh(uint64_t *usually, uint64_t now, uint32_t seen)
{
    if (seen <= 1)
        *usually = now;
    const int64_t more = (int64_t)(now - *usually) / (int64_t)(seen < TELLING ? seen : TELLING);
    *usually += (uint64_t)more;
}

/** What counts of what an iteration lost. Where persistent values find their places as they come no
 * two are alike, and one in which many were in the way says little of the next: then running
 * means. */
static uint64_t weigh_lost(const cebus_runtime *rt, cebus_scheme *scheme, const cebus_tally *took)
{
    const uint64_t lost = lost_of(rt, scheme, took);
    if (!is_loose(scheme))
        return lost;
    const uint32_t seen = scheme->guided > SETTLING ? scheme->guided - SETTLING : 1;
    weigh(&scheme->usually_lost, lost, seen);
    weigh(&scheme->usually_moving, moving_of(rt, scheme, took), seen);
    return scheme->usually_lost;
}

static cebus_verdict judge(cebus_runtime *rt, cebus_scheme *scheme, cebus_iteration *iteration,
                           const cebus_tally *took)
{
    const uint64_t lost = weigh_lost(rt, scheme, took);
    if (!cebus_feedback_end(rt, scheme, iteration, lost))
        return CEBUS_PLAN_IS_STALE;
    if (is_rival(scheme)) {
        if (loses(rt, scheme, lost))
            return CEBUS_PLAN_NEEDS_PLACES;
        if (!is_told(rt, scheme))
            return CEBUS_PLAN_STANDS;
    }
    if (misses_places(rt, scheme, lost)) {
        scheme->patient = true;
        return CEBUS_PLAN_NEEDS_PLACES;
    }
    if (has_rival(rt, scheme, lost)) {
        scheme->placed_lost = lost;
        return CEBUS_PLAN_TRY_PLACELESS;
    }
    if (is_settled(rt, scheme) && cebus_appraisal_doubts(rt, scheme, lost)) {
        scheme->dear_lost = lost;
        return CEBUS_PLAN_TRY_NONE;
    }
    bool stale =
        is_stale(rt, scheme, part(rt, scheme, iteration, took->compute_ns + scheme->held_ns, lost));
    bool drifted = stale && refresh_costs(rt, scheme, iteration);
    if (!drifted && runs_ahead(rt) && is_suspect(rt, scheme, took))
        return CEBUS_PLAN_TRY_NONE;
    if (!drifted && !runs_ahead(rt) && is_dear(rt, scheme, lost)) {
        scheme->dear_lost = lost;
        return CEBUS_PLAN_IS_DEAR;
    }
    if (!drifted && !(stale && slow_link(rt, scheme, lost)))
        return CEBUS_PLAN_STANDS;
    scheme->parted = 0;
    scheme->replans++;
    rt->stats.replans++;
    return CEBUS_PLAN_IS_STALE;
}

/** What the placement says, where calls do not wait for anything else: else copies out are done
 * that much earlier, by when the next iteration begins. */
static uint64_t wait_for_places(const cebus_placement *placement, uint64_t over_ns)
{
    uint64_t earlier = cebus_max_u64(placement->over_ns, over_ns) - over_ns;
    return cebus_max_u64(placement->wait_ns, earlier) - earlier;
}

static bool makes_up_much(const cebus_runtime *rt, const cebus_scheme *scheme,
                          const cebus_timeline *timeline)
{
    return (rt->policy->searches || !cebus_appraisal_repeats(rt)) &&
           timeline->unforeseen > scheme->plan.count / MADE_UP_PART;
}

static void predict(cebus_runtime *rt, cebus_scheme *scheme, const cebus_iteration *iteration,
                    const cebus_swap_terms *link)
{
    cebus_timeline placed, anywhere;
    cebus_timeline_terms with = {.budget = scheme->terms.budget,
                                 .out_rate = link->out_rate,
                                 .in_rate = link->in_rate,
                                 .latency_ns = link->latency_ns,
                                 .moves = cebus_compaction_terms(rt),
                                 .swaps = rt->policy->swaps && scheme->terms.host > 0,
                                 .ahead = rt->info.simulated || rt->info.deferred,
                                 .issue_ns = rt->info.issue_ns};
    scheme->predicted_ns = scheme->predicted_lost = scheme->predicted_wait = 0;
    scheme->predicted_anywhere = scheme->predicted_held = 0;
    scheme->foretold_ns = cebus_iteration_cost(iteration);
    if (scheme->plan.count == 0 ||
        !cebus_timeline_run(iteration, &scheme->plan, &with, &rt->pool, &anywhere) ||
        makes_up_much(rt, scheme, &anywhere))
        return;
    placed = anywhere;
    with.placement = &scheme->placement;
    if (scheme->spots != NULL &&
        !cebus_timeline_run(iteration, &scheme->plan, &with, &rt->pool, &placed))
        return;
    const uint64_t moving = scheme->placement.moving_ns;
    scheme->predicted_ns = placed.total_ns + moving;
    scheme->predicted_lost = less(placed.total_ns, scheme->foretold_ns) + moving;
    scheme->predicted_anywhere = less(anywhere.total_ns, scheme->foretold_ns) + moving;
    scheme->predicted_held = placed.held_ns;
    scheme->predicted_wait = wait_for_places(&scheme->placement, anywhere.over_ns);
}

/** What it takes next time, where calls turned out to cost something else. */
static void follow(cebus_runtime *rt, cebus_scheme *scheme, cebus_iteration *iteration)
{
    if (cebus_appraisal_repeats(rt))
        return;
    follow_costs(scheme, iteration);
    if (scheme->plan.count == 0 ||
        apart(cebus_iteration_cost(iteration), scheme->foretold_ns) <= NEWS(scheme->foretold_ns))
        return;
    cebus_swap_terms link = cebus_swap_terms_now(rt);
    predict(rt, scheme, iteration, &link);
}

/** Persistent values that shuttle lie elsewhere as the first iteration begins; the second still
 * meets the copies of that. Others may still be on the host then, and come as they are read. */
static bool is_settling(const cebus_runtime *rt, const cebus_scheme *scheme)
{
    if (scheme->shuttling)
        return scheme->guided <= SETTLING;
    return scheme->guided == 1 && rt->stats.guided_unforeseen > 0;
}

/** Whether the plan was better, by what the program lost without it once it had settled: one that
 * was given up if plainly so, one that was doubted unless none is. */
static bool was_better(const cebus_scheme *scheme, uint64_t lost)
{
    const uint64_t margin = dear_margin(scheme);
    return scheme->doubted ? lost + margin > scheme->dear_lost : lost > scheme->dear_lost + margin;
}

/** The first iteration without a plan may find more of what it reads than those after it: one that
 * was given up for that comes back where they turn out to take longer than with it. */
static cebus_verdict judge_without(const cebus_runtime *rt, cebus_scheme *scheme, uint64_t lost)
{
    const uint64_t before = scheme->unplanned_ns;
    scheme->unplanned += scheme->dear_lost > 0 && scheme->plan.count == 0;
    if (before == 0 || lost < before || scheme->unplanned > 0)
        scheme->unplanned_ns = lost > 0 ? lost : 1;
    const bool settled = scheme->unplanned == SETTLED && cebus_appraisal_repeats(rt);
    return settled && was_better(scheme, lost) ? CEBUS_PLAN_COMES_BACK : CEBUS_PLAN_STANDS;
}

static cebus_verdict compare_with_none(cebus_scheme *scheme, uint64_t took_ns)
{
    switch (cebus_trial_compare(&scheme->trial, took_ns)) {
    case CEBUS_TRIAL_PLAN_WINS:
        return CEBUS_PLAN_COMES_BACK;
    case CEBUS_TRIAL_NONE_WINS:
        return CEBUS_PLAN_IS_DEAR;
    default:
        return CEBUS_PLAN_STANDS;
    }
}

cebus_verdict cebus_appraisal_end(cebus_runtime *rt, cebus_scheme *scheme,
                                  cebus_iteration *iteration, bool followed)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_tally took = tally_of(rt);
    uint64_t lost = lost_of(rt, scheme, &took);
    cebus_verdict verdict = CEBUS_PLAN_STANDS;
    scheme->worth.ran_ns += took.compute_ns + lost;
    if (!guidance->planned || !followed) {
        verdict = judge_without(rt, scheme, lost);
        if (cebus_trial_runs(&scheme->trial))
            verdict = compare_with_none(scheme, took.clock_ns);
    } else if (guidance->begun_with == scheme) {
        publish(rt, scheme, &took);
        if (!is_settling(rt, scheme))
            verdict = judge(rt, scheme, iteration, &took);
    }
    if (followed)
        follow(rt, scheme, iteration);
    return verdict;
}

void cebus_appraisal_predict(cebus_runtime *rt, cebus_scheme *scheme,
                             const cebus_iteration *iteration)
{
    cebus_swap_terms link = {.out_rate = scheme->terms.out_rate,
                             .in_rate = scheme->terms.in_rate,
                             .latency_ns = scheme->terms.latency_ns};
    if (rt->info.simulated) /* a slower one is what the plan was made for, not what it finds */
        link = cebus_swap_terms_now(rt);
    scheme->guided = 0;
    scheme->usually_moving = 0;
    scheme->shuttling = cebus_plan_shuttles(&scheme->plan, iteration);
    scheme->reckoned_ns = cebus_iteration_cost(iteration);
    predict(rt, scheme, iteration, &link);
}
