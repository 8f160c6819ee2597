#include "eager/guidance/planning.h"

#include <string.h>

#include "eager/budget.h"
#include "eager/guidance/appraisal.h"
#include "eager/guidance/consequence.h"
#include "eager/guidance/feedback.h"
#include "eager/guidance/fixtures.h"
#include "eager/guidance/loaded.h"
#include "eager/guidance/scheme.h"
#include "eager/guidance/shuttles.h"
#include "eager/guidance/terms.h"
#include "eager/swap/swap.h"
#include "layout/number.h"

/** How often in a row places are chosen anew because some were taken. */
#define MOST_MOVES 4
/** Where parameters shuttle none are for less than this part of what was foretold: those that are
 * found instead may be waited for longer. */
#define BORNE_PART 20
/** After this many new iterations in a row that never came again, new ones are planned only once
 * they do: a program that never repeats itself shall not pay for plans. */
#define MOST_UNPROVEN 4
/** What a step of a search takes, about. */
#define STEP_NS 1000
/** Waiting for places for less than this part of an iteration does not matter. */
#define WAIT_PART 50
/** Of the budget: what comes and goes that no iteration names. */
#define LITTLE_PART 1024

void cebus_planning_init(cebus_runtime *rt, cebus_guidance *guidance)
{
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++)
        cebus_scheme_init(&guidance->schemes[i], &rt->pool);
    cebus_scheme_init(&guidance->idle, &rt->pool);
    cebus_draft_init(&guidance->draft);
    guidance->scheme = &guidance->idle;
    cebus_guide_start(&guidance->guide, &guidance->idle.plan);
}

static void clear_scheme(cebus_runtime *rt, cebus_scheme *scheme)
{
    if (rt->guidance->drafted == scheme)
        cebus_scheme_cancel_draft(rt->guidance);
    cebus_scheme_clear(rt, scheme);
}

void cebus_planning_clear(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_scheme_cancel_draft(guidance);
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++)
        clear_scheme(rt, &guidance->schemes[i]);
    cebus_fixtures_clear(rt, &guidance->fixtures);
    cebus_shuttles_clear(rt, &guidance->shuttles);
    guidance->scheme = &guidance->idle;
    if (rt->arena.layout->planned)
        cebus_arena_plan_below(&rt->arena, 0);
}

/** Requests that may find their places taken before these are chosen anew: to move persistent
 * values that shuttle is dear, and in the first iteration they are still elsewhere. */
static uint64_t may_miss(const cebus_guidance *guidance)
{
    const cebus_scheme *scheme = guidance->scheme;
    if (!scheme->shuttling)
        return 0;
    return scheme->guided > 0 ? scheme->plan.count / 16 : UINT64_MAX;
}

void cebus_planning_look(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    const uint64_t missed = rt->stats.missed_placements - guidance->missed;
    guidance->scheme->missed = missed > may_miss(guidance);
    guidance->scheme->found_all = missed == 0;
    guidance->missed = rt->stats.missed_placements;
    cebus_fixtures_fetch(rt);
    if (rt->policy->plan != NULL && guidance->log.recording &&
        guidance->log.unproven <= MOST_UNPROVEN)
        cebus_fixtures_gather(rt);
    cebus_fixtures_look(rt);
}

void cebus_planning_keep(cebus_runtime *rt, uint32_t place, bool learned)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_scheme *scheme = &guidance->schemes[place];
    cebus_iteration *iteration = &guidance->log.known.at[place].iteration;
    if (learned) {
        clear_scheme(rt, scheme);
        scheme->held_ns = cebus_iteration_hold(iteration, rt->info.issue_ns);
        scheme->iteration_ns = cebus_iteration_cost(iteration);
    }
    cebus_consequence_draw(rt, scheme, cebus_appraisal_end(rt, scheme, iteration, !learned));
    cebus_fixtures former = scheme->fixtures;
    scheme->fixtures = guidance->fixtures;
    guidance->fixtures = former;
    if (scheme->spots != NULL && scheme->guided > 0 && scheme->found_all)
        cebus_fixtures_note(rt, scheme);
}

static uint64_t effort_now(cebus_runtime *rt, const cebus_iteration *iteration)
{
    return rt->policy->searches && cebus_appraisal_repeats(rt) ? cebus_terms_effort(iteration) : 0;
}

/** False when there is no plan: the policy has none, or host memory is short. */
static bool plan(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan_terms terms)
{
    const cebus_iteration *iteration = cebus_scheme_iteration(rt->guidance, scheme);
    cebus_scheme_clear_plan(rt, scheme);
    terms.effort = effort_now(rt, iteration);
    if (rt->policy->plan(iteration, &terms, &scheme->plan) &&
        cebus_plan_make_ready(&scheme->plan, iteration))
        return true;
    cebus_plan_clear(&scheme->plan);
    return false;
}

/** The scheme's plan and its placement, for these terms; the scheme has no places yet. */
static cebus_fit fit_of(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan_terms terms,
                        const cebus_outside *outside)
{
    return (cebus_fit){.policy = rt->policy,
                       .iteration = cebus_scheme_iteration(rt->guidance, scheme),
                       .site = cebus_terms_site(rt, scheme, outside),
                       .terms = terms,
                       .holes = scheme->terms.holes,
                       .plan = &scheme->plan,
                       .placement = &scheme->placement};
}

/** Places for the scheme's plan. False: they do not fit, or host memory is short. */
static bool place(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_outside outside;
    cebus_scheme_clear_places(rt, scheme);
    if (!cebus_outside_init(&outside, cebus_scheme_iteration(rt->guidance, scheme), &rt->pool))
        return false;
    cebus_fit fit = fit_of(rt, scheme, cebus_terms_now(rt, scheme, true), &outside);
    bool placed = cebus_fit_place(&fit);
    cebus_outside_deinit(&outside);
    return placed && cebus_scheme_make_spots(rt, scheme);
}

/** Other places for the plan at hand, by which it takes something else. False: as above. */
static bool move_places(cebus_runtime *rt, cebus_scheme *scheme)
{
    if (!place(rt, scheme))
        return false;
    cebus_appraisal_predict(rt, scheme, cebus_scheme_iteration(rt->guidance, scheme));
    return true;
}

/** A plan with places for its values. */
static bool plan_and_place(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan_terms terms)
{
    cebus_outside outside;
    const cebus_iteration *iteration = cebus_scheme_iteration(rt->guidance, scheme);
    cebus_scheme_clear_plan(rt, scheme);
    if (!cebus_outside_init(&outside, iteration, &rt->pool))
        return false;
    cebus_fit fit = fit_of(rt, scheme, terms, &outside);
    fit.terms.effort = effort_now(rt, iteration);
    if (fit.terms.effort == 0)
        fit.site.rounds = 0; /* the program waits */
    bool made = cebus_fit_make(&fit);
    cebus_outside_deinit(&outside);
    return made && cebus_scheme_make_spots(rt, scheme);
}

static void start_thread(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_outside outside;
    const cebus_iteration *iteration = cebus_scheme_iteration(rt->guidance, scheme);
    cebus_draft *draft = &rt->guidance->draft;
    if (!scheme->better_placed) {
        cebus_draft_start(draft, rt->policy, iteration, &scheme->better, NULL, 0);
    } else if (cebus_outside_init(&outside, iteration, &rt->pool)) {
        cebus_site site = cebus_terms_site(rt, scheme, &outside);
        cebus_draft_start(draft, rt->policy, iteration, &scheme->better, &site,
                          scheme->terms.holes);
        cebus_outside_deinit(&outside);
    }
}

/** A better plan is waited for, and the kind has run for long enough to be worth the search. */
static bool is_due(const cebus_guidance *guidance, const cebus_scheme *scheme)
{
    if (!scheme->waits || guidance->drafted != NULL)
        return false;
    const size_t n_calls = cebus_scheme_iteration(guidance, scheme)->n_calls;
    const uint64_t guess = scheme->better.effort * STEP_NS;
    return cebus_worth_planning(&scheme->worth,
                                cebus_pace_reckon(&guidance->searching, n_calls, guess));
}

/** Has a better plan made while the program goes on; one at a time. */
static void start_draft(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan_terms terms)
{
    cebus_guidance *guidance = rt->guidance;
    scheme->waits = rt->policy->searches && !cebus_appraisal_repeats(rt);
    if (!scheme->waits)
        return;
    scheme->better = terms;
    scheme->better.effort = cebus_terms_effort(cebus_scheme_iteration(guidance, scheme));
    if (!is_due(guidance, scheme))
        return;
    scheme->waits = false;
    cebus_worth_spend(&scheme->worth);
    start_thread(rt, scheme);
    guidance->drafted = guidance->draft.started ? scheme : NULL;
}

/** What fits nowhere is not followed: it costs more than to choose at the moment of need, and may
 * leave no room where that finds some. Only where all that persists does not fit either, the one
 * that comes nearest has it fetched ahead. */
static void spare_unfit(const cebus_iteration *iteration, const cebus_scheme *scheme,
                        cebus_plan *plan)
{
    if (plan->over && cebus_iteration_persistent(iteration) <= scheme->terms.budget)
        cebus_plan_clear(plan);
}

/** Another plan is there than the one that was tried against none. */
static void end_trial(cebus_runtime *rt, cebus_scheme *scheme)
{
    if (cebus_trial_runs(&scheme->trial))
        cebus_scheme_clear_aside(rt, scheme);
    scheme->trial = (cebus_trial){0};
}

/** A search for a plan with places found but one that does without. It is tried against the one at
 * hand, which has some, if it is to lose less. */
static void try_loose(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan loose)
{
    cebus_placement none;
    const uint64_t lost = scheme->guided > 0 ? scheme->lost : scheme->predicted_lost;
    cebus_placement_init(&none, &rt->pool);
    cebus_scheme_set_aside(rt, scheme);
    cebus_scheme_take(rt, scheme, loose, none);
    cebus_appraisal_predict(rt, scheme, cebus_scheme_iteration(rt->guidance, scheme));
    scheme->placeless = scheme->predicted_ns > 0 && scheme->predicted_lost < lost;
    if (scheme->placeless)
        scheme->placed_lost = lost;
    else
        (void)cebus_consequence_bring_back(rt, scheme);
}

/** A plan, with its places if it has any, takes the place of the first one. */
static void replace_plan(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan better,
                         cebus_placement placement)
{
    const cebus_iteration *iteration = cebus_scheme_iteration(rt->guidance, scheme);
    spare_unfit(iteration, scheme, &better);
    if (!cebus_plan_link(&better, iteration)) {
        cebus_plan_clear(&better);
        cebus_placement_clear(&placement);
        return;
    }
    end_trial(rt, scheme);
    if (scheme->better_placed && placement.height == 0 && scheme->spots != NULL) {
        try_loose(rt, scheme, better);
        return;
    }
    if (scheme->placeless && scheme->spots != NULL)
        cebus_scheme_set_aside(rt, scheme);
    if (placement.height > 0)
        scheme->aside_lost = 0;
    cebus_scheme_take(rt, scheme, better, placement);
    cebus_appraisal_predict(rt, scheme, iteration);
}

/** The next iteration would wait longer for the places of what this one still copies out as it ends
 * than it loses otherwise. Where bytes are found as they are needed it need not. */
static bool waits_for_places(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_appraisal_predict(rt, scheme, cebus_scheme_iteration(rt->guidance, scheme));
    bool waits = !scheme->patient && scheme->predicted_wait > scheme->iteration_ns / WAIT_PART &&
                 scheme->predicted_wait > scheme->predicted_anywhere / 2;
    scheme->aside_lost = waits ? scheme->predicted_lost : 0;
    return waits;
}

/** A search found nothing that has places, nor that could do without: one for a plan without is
 * next. */
static void do_without_places(cebus_runtime *rt, cebus_scheme *scheme)
{
    if (!scheme->better_placed || scheme->spots != NULL)
        return;
    scheme->better_placed = false;
    scheme->better = cebus_terms_now(rt, scheme, false);
    scheme->waits = true;
}

/** If the search is over what it found is taken over. */
static void take_draft(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_plan better;
    cebus_placement placement;
    cebus_guidance *guidance = rt->guidance;
    cebus_plan_init(&better, &rt->pool);
    cebus_placement_init(&placement, &rt->pool);
    const bool taken = cebus_draft_take(&guidance->draft, &better, &placement);
    if (taken)
        replace_plan(rt, scheme, better, placement);
    if (guidance->draft.started)
        return;
    if (!taken)
        do_without_places(rt, scheme);
    scheme->placeless &= scheme->spots == NULL; /* no other was found */
    cebus_pace_note(&guidance->searching, guidance->draft.took_ns,
                    cebus_scheme_iteration(guidance, scheme)->n_calls);
    guidance->drafted = NULL;
}

/** A plan that is ready is taken over, and the next one that is waited for begun. */
static void adopt_draft(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_scheme *scheme = guidance->drafted;
    if (scheme != NULL && cebus_scheme_iteration(guidance, scheme)->n_calls == 0)
        cebus_scheme_cancel_draft(guidance); /* forgotten meanwhile */
    else if (scheme != NULL)
        take_draft(rt, scheme);
    if (is_due(guidance, guidance->scheme)) {
        cebus_plan_terms terms = guidance->scheme->better,
                         now = cebus_terms_now(rt, guidance->scheme, false);
        terms.out_rate = now.out_rate;
        terms.in_rate = now.in_rate;
        terms.latency_ns = now.latency_ns;
        start_draft(rt, guidance->scheme, terms);
    }
}

/** It loses what was foretold, or hardly more, though some that persist found their places taken.
 */
static bool bears_misses(const cebus_scheme *scheme)
{
    return scheme->shuttling && scheme->guided > 0 && scheme->predicted_ns > 0 &&
           scheme->lost <= scheme->predicted_lost + scheme->predicted_ns / BORNE_PART;
}

/** Some places were taken by what nobody foresaw, or what stays moved. */
static bool should_move(cebus_guidance *guidance)
{
    cebus_scheme *scheme = guidance->scheme;
    bool missed = scheme->missed && !bears_misses(scheme);
    if (guidance->log.at > 0)
        return false;
    scheme->missed = false;
    scheme->moves = missed ? scheme->moves + 1 : 0;
    return missed && scheme->moves <= MOST_MOVES;
}

/** Whether it is worth a plan: what never came again may not come again. */
static bool is_proven(const cebus_access_log *log)
{
    return log->known.at[log->place].confirmed || log->unproven <= MOST_UNPROVEN;
}

/** A plan from a file, where one was loaded for this: then nothing is searched. */
static bool use_loaded(cebus_runtime *rt, cebus_scheme *scheme, bool places)
{
    const cebus_iteration *iteration = cebus_scheme_iteration(rt->guidance, scheme);
    bool placed;
    cebus_plan_clear(&scheme->plan);
    if (!cebus_loaded_take(rt, iteration, &scheme->terms, &scheme->plan, &placed))
        return false;
    cebus_scheme_clear_places(rt, scheme);
    scheme->waits = false;
    const char *wrong = NULL;
    if (!cebus_plan_link(&scheme->plan, iteration))
        wrong = "no host memory to follow it";
    else if (places && placed && !place(rt, scheme))
        wrong = "its values find no places side by side";
    if (wrong == NULL) {
        rt->stats.plans_used++;
        return true;
    }
    cebus_loaded_refuse(rt, iteration, wrong);
    cebus_plan_clear(&scheme->plan);
    return false;
}

/** There is a plan already, one to be followed without places; or none fits by its bytes. */
static bool has_no_places(const cebus_scheme *scheme, bool places)
{
    return places && scheme->plan.count > 0 && scheme->spots == NULL;
}

static void forget_trials(cebus_runtime *rt, cebus_scheme *scheme)
{
    scheme->unplanned_ns = scheme->placed_lost = scheme->dear_lost = 0;
    scheme->dear = scheme->unplanned = 0;
    scheme->placeless = scheme->patient = scheme->doubted = false;
    cebus_scheme_clear_aside(rt, scheme);
}

/** It was never planned, and is not worth it yet. What was loaded costs nothing. */
static bool is_early(const cebus_runtime *rt, const cebus_scheme *scheme)
{
    const cebus_iteration *iteration = cebus_scheme_iteration(rt->guidance, scheme);
    return scheme->terms.out_rate == 0 && !scheme->renewed && !cebus_appraisal_repeats(rt) &&
           !cebus_worth_planning(&scheme->worth,
                                 cebus_pace_reckon(&rt->guidance->first, iteration->n_calls, 0)) &&
           !cebus_loaded_has(rt, iteration);
}

/** A first plan, and a better one begun; with copies off the device or without. That the first one,
 * made at once, finds no places does not mean that one that is searched for will not. */
static void make_plan(cebus_runtime *rt, cebus_scheme *scheme, bool places, bool swaps)
{
    const uint64_t begun = cebus_pace_clock();
    cebus_plan_terms placed = cebus_terms_now(rt, scheme, true), loose = scheme->terms;
    if (!swaps)
        placed.host = loose.host = 0;
    scheme->aside_lost = 0;
    end_trial(rt, scheme);
    bool found = places && plan_and_place(rt, scheme, placed) && !waits_for_places(rt, scheme);
    scheme->better_placed = found || (places && !cebus_appraisal_repeats(rt));
    scheme->waits = false;
    if ((found || has_no_places(scheme, places) || plan(rt, scheme, loose)) &&
        scheme->plan.count > 0)
        start_draft(rt, scheme, scheme->better_placed ? placed : loose);
    spare_unfit(cebus_scheme_iteration(rt->guidance, scheme), scheme, &scheme->plan);
    cebus_pace_note(&rt->guidance->first, cebus_pace_clock() - begun,
                    cebus_scheme_iteration(rt->guidance, scheme)->n_calls);
}

/** Another plan, which stands if it fits and takes less than the one that is there. */
static void vie(cebus_runtime *rt, cebus_scheme *scheme, bool places, bool swaps)
{
    const uint64_t before = scheme->predicted_ns, aside_lost = scheme->aside_lost;
    cebus_plan plan;
    cebus_placement placement;
    cebus_scheme_take_out(rt, scheme, &plan, &placement);
    make_plan(rt, scheme, places, swaps);
    cebus_appraisal_predict(rt, scheme, cebus_scheme_iteration(rt->guidance, scheme));
    if (!scheme->plan.over && scheme->predicted_ns > 0 &&
        (before == 0 || scheme->predicted_ns < before)) {
        cebus_plan_clear(&plan);
        cebus_placement_clear(&placement);
        return;
    }
    cebus_scheme_take(rt, scheme, plan, placement);
    scheme->aside_lost = aside_lost;
    cebus_appraisal_predict(rt, scheme, cebus_scheme_iteration(rt->guidance, scheme));
}

/** Where the host holds the program up, what it takes to ask for a replay or a copy is what they
 * cost, unless calls wait for copies: that gives the host the time. Where they do not by the plan
 * that is made first others are made which reckon with it, with copies and without. */
static void make_plans(cebus_runtime *rt, cebus_scheme *scheme, bool places)
{
    cebus_iteration *iteration =
        &rt->guidance->log.known.at[scheme - rt->guidance->schemes].iteration;
    cebus_iteration_release(iteration);
    make_plan(rt, scheme, places, true);
    (void)cebus_iteration_hold(iteration, rt->info.issue_ns);
    cebus_appraisal_predict(rt, scheme, iteration);
    if (scheme->predicted_held == 0 && (scheme->held_ns == 0 || scheme->predicted_ns > 0))
        return;
    vie(rt, scheme, places, false);
    if (scheme->terms.host > 0)
        vie(rt, scheme, places, true);
}

/** A first plan may cost more than none, and is not followed where a better one is on its way. */
static void hold_back(cebus_runtime *rt, cebus_scheme *scheme)
{
    if (!cebus_appraisal_awaits_better(rt, scheme) || !cebus_appraisal_foretells_worse(scheme))
        return;
    cebus_scheme_clear_plan(rt, scheme);
    cebus_appraisal_predict(rt, scheme, cebus_scheme_iteration(rt->guidance, scheme));
}

/** Whether a plan would be made for something else now. Little that no iteration names, and that
 * came or went, does not count. */
static bool is_for_other_terms(cebus_runtime *rt, const cebus_scheme *scheme)
{
    cebus_plan_terms terms = cebus_terms_now(rt, scheme, false);
    const uint64_t was = scheme->terms.budget, now = terms.budget;
    if (cebus_budget_now(rt) == scheme->memory &&
        cebus_max_u64(was, now) - cebus_min_u64(was, now) < scheme->memory / LITTLE_PART)
        terms.budget = was;
    return cebus_terms_differ(&terms, &scheme->terms);
}

/** Plans for the scheme if it is new, or what it was made for has changed. */
static void renew(cebus_runtime *rt, cebus_scheme *scheme)
{
    bool move = should_move(rt->guidance);
    bool other = is_for_other_terms(rt, scheme);
    if (other && scheme->terms.out_rate > 0) /* not the first time: nothing is known of these */
        forget_trials(rt, scheme);
    bool places = rt->arena.layout->planned && scheme->fixtures.complete && !scheme->placeless;
    if (is_early(rt, scheme) || (!other && !(places && move && !move_places(rt, scheme))))
        return;
    if (rt->guidance->drafted == scheme)
        cebus_scheme_cancel_draft(rt->guidance);
    cebus_swap_learn_link(rt);
    scheme->terms = cebus_terms_now(rt, scheme, false);
    scheme->memory = cebus_budget_now(rt);
    scheme->better = (cebus_plan_terms){0};
    cebus_feedback_reset(rt, scheme);
    if (scheme->renewed || !use_loaded(rt, scheme, places))
        make_plans(rt, scheme, places);
    else
        cebus_appraisal_predict(rt, scheme, cebus_scheme_iteration(rt->guidance, scheme));
    cebus_consequence_spare_trial(rt, scheme);
    hold_back(rt, scheme);
}

void cebus_planning_reconsider(cebus_runtime *rt, uint32_t place)
{
    cebus_scheme *scheme = &rt->guidance->schemes[place];
    scheme->terms = (cebus_plan_terms){0};
    scheme->renewed = false;
}

void cebus_planning_renew(cebus_runtime *rt)
{
    cebus_guidance *guidance = rt->guidance;
    cebus_scheme *scheme = guidance->scheme;
    if (rt->policy->plan != NULL && scheme != &guidance->idle && is_proven(&guidance->log))
        renew(rt, scheme);
    if (guidance->log.at == 0)
        adopt_draft(rt);
    guidance->workspace_spot = CEBUS_ANYWHERE;
    if (scheme->spots != NULL) /* what calls make first is looked up there, not here */
        memset(scheme->spots, 0xff, scheme->placement.n_values * sizeof *scheme->spots);
    if (rt->arena.layout->planned && guidance->below != scheme->placement.height)
        cebus_arena_plan_below(&rt->arena, scheme->placement.height);
    guidance->below = scheme->placement.height;
}
