#include "eager/rebuild/foresight.h"

#include "eager/guidance/guidance.h"
#include "eager/op.h"
#include "eager/rebuild/headroom.h"
#include "eager/rebuild/mirror.h"
#include "eager/rebuild/plan.h"
#include "eager/rebuild/replay_call.h"
#include "eager/strain.h"
#include "eager/swap/swap.h"
#include "evict/planner/foresee.h"

/** It begins once rebuilding took so many times as long as the program's own calls: where it takes
 * less, programs do better without. It does not end: one that plans took out of its trouble gets
 * into it anew without them (tests/bench/thrashing.md). */
#define BEGIN 4

/** Under a policy that plans gradients are the last to go as soon as there is strain: what the
 * first pass loses by it the plan makes good, if only that pass ends. From the program's own time
 * on is too late. Where rebuilding took NO_USE times the program's time even so, they are no
 * gradients, or it does not help (tests/bench/thrashing.md). */
#define NO_USE 2

/** Another guess serves where rebuilds take so many times as long by the first. */
#define SWITCH 8

/** A part of the room, left for holes, in the first try and the second. */
#define HOLES 24
#define FEW_HOLES 1000
/** Steps of planning for each call that the program made, and in one plan for each call in it. */
#define STEPS_PER_CALL 4096
#define STEPS_PER_PLANNED 24
/** So many plans in a row are not found by a guess before others are tried, too; and before it is
 * no longer tried itself. */
#define MOST_FAILED 4
#define GIVEN_UP 16

/** A plan counts bytes: where blocks do not move they find no place. */
static bool is_possible(const cebus_runtime *rt)
{
    return !cebus_guidance_follows(rt) && (rt->arena.layout->moves || rt->arena.commodity) &&
           rt->foresight.steps < STEPS_PER_CALL * rt->lineage.made_calls &&
           cebus_swap_terms_now(rt).use == CEBUS_SWAP_NEVER;
}

static bool is_due(const cebus_runtime *rt)
{
    return (rt->foresight.begun || cebus_strain_exceeds(rt, BEGIN, 1)) && is_possible(rt);
}

/** In a first pass, from which a policy that plans learns: what that loses the plan makes good. */
static bool is_to_end(const cebus_runtime *rt)
{
    return cebus_strain_exceeds(rt, 1, CEBUS_STRAIN_CALM) && !cebus_strain_exceeds(rt, NO_USE, 1);
}

static bool keeps_early(const cebus_runtime *rt)
{
    bool keeps = rt->policy->plan != NULL ? is_to_end(rt) : cebus_headroom_suffices(rt);
    return keeps && is_possible(rt);
}

uint64_t cebus_foresight_turn(const cebus_runtime *rt)
{
    return is_due(rt) || keeps_early(rt) ? rt->lineage.turn.serial : 0;
}

uint64_t cebus_foresight_stays(const cebus_runtime *rt)
{
    bool stays = rt->policy->plan != NULL || cebus_headroom_suffices(rt);
    return stays ? cebus_foresight_turn(rt) : 0;
}

/** What rebuilds take is counted from here on, for the guess that is made now. */
static void begin_way_back(cebus_runtime *rt)
{
    rt->foresight.rebuilt_ns = rt->stats.recompute_ns;
    rt->foresight.ran_ns = rt->stats.compute_ns;
    rt->foresight.guess = CEBUS_GUESS_BY_AGE;
}

/** The serial behind which all was mirrored: three quarters of the way from the turn to the oldest
 * value that had to be made again. Some of what lies nearer to that is still to be read. */
static uint64_t find_passed(cebus_runtime *rt, const cebus_candidate *target)
{
    cebus_foresight *foresight = &rt->foresight;
    uint64_t turn = rt->lineage.turn.serial, serial = target->value.producer->serial;
    if (foresight->turn != turn) {
        foresight->turn = foresight->oldest = turn;
        begin_way_back(rt);
    }
    foresight->oldest = serial < foresight->oldest ? serial : foresight->oldest;
    return turn - (turn - foresight->oldest) / 4 * 3;
}

/** False: there is none, or no host memory. */
static bool plan_within(cebus_mirror *mirror, uint64_t holes, cebus_plan *out)
{
    uint64_t calls = mirror->iteration.n_calls, steps = STEPS_PER_PLANNED * calls;
    uint64_t room = mirror->room - mirror->room / holes;
    bool found = cebus_foresee_plan(&mirror->iteration, (double)room, &steps, out);
    mirror->rt->foresight.steps += steps + calls;
    return found;
}

static bool plan_by(cebus_mirror *mirror, uint64_t passed, cebus_guess guess, cebus_plan *out)
{
    cebus_mirror_clear(mirror);
    cebus_plan_clear(out);
    if (!cebus_mirror_draw(mirror, passed, guess))
        return false;
    if (plan_within(mirror, HOLES, out))
        return true;
    cebus_mirror_relax(mirror);
    cebus_plan_clear(out);
    return plan_within(mirror, FEW_HOLES, out);
}

/** Counts a guess that led to no plan; one that does so again and again serves no more. */
static void count_failure(cebus_foresight *foresight, cebus_guess guess)
{
    if (guess != foresight->guess || ++foresight->failed < GIVEN_UP)
        return;
    foresight->failed = 0;
    if (guess != CEBUS_GUESS_FORGETFUL)
        foresight->guess++;
}

/** By the guess that serves, or one after it. The first is mostly right: where it leads to no plan
 * the others do not help, unless that happens again and again. */
static bool make_plan(cebus_runtime *rt, const cebus_candidate *target, cebus_mirror *mirror,
                      cebus_plan *out)
{
    cebus_foresight *foresight = &rt->foresight;
    uint64_t passed = find_passed(rt, target);
    bool found = false;
    for (unsigned guess = foresight->guess; guess <= CEBUS_GUESS_FORGETFUL && !found; guess++) {
        found = plan_by(mirror, passed, guess, out);
        if (found && guess == foresight->guess)
            foresight->failed = 0;
        if (!found)
            count_failure(foresight, guess);
        if (foresight->guess == CEBUS_GUESS_BY_AGE && foresight->failed < MOST_FAILED)
            break;
    }
    return found;
}

/** Where plans by the first guess have rebuilds go on as before, another serves for the rest of the
 * way back. */
static void judge(cebus_runtime *rt)
{
    cebus_foresight *foresight = &rt->foresight;
    uint64_t rebuilt = rt->stats.recompute_ns - foresight->rebuilt_ns,
             ran = rt->stats.compute_ns - foresight->ran_ns;
    if (foresight->guess == CEBUS_GUESS_BY_AGE && rebuilt > SWITCH * ran + foresight->allowed_ns)
        foresight->guess = CEBUS_GUESS_BY_DUE;
}

static cebus_status make(cebus_runtime *rt, cebus_value *value)
{
    if (value->resident)
        return CEBUS_OK;
    const cebus_op *op = value->producer->op;
    if (value->swapped) /* before the policy changed: the plan has it made, a copy is as good */
        return cebus_swap_in(rt, cebus_candidate_of(value), op->name);
    if (!cebus_call_has_inputs(value->producer))
        return CEBUS_OUT_OF_MEMORY;
    value->pins++;
    cebus_status status = cebus_replay_call(rt, value->producer, CEBUS_REPLAY_PINNED);
    value->pins--;
    return status;
}

/** The calls that the actions run, in order; returns how many. */
static size_t list_calls(const cebus_mirror *mirror, const cebus_plan *plan, size_t count,
                         cebus_call **out)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (plan->actions[i].kind == CEBUS_ACTION_REPLAY)
            out[n++] = mirror->values[plan->actions[i].value]->producer;
    }
    return n;
}

/** What the calls to come read stays for them, unless the plan drops it. */
static cebus_status run(const cebus_mirror *mirror, const cebus_plan *plan, size_t count,
                        const cebus_replay *list)
{
    cebus_runtime *rt = mirror->rt;
    cebus_status status = CEBUS_OK;
    size_t done = 0;
    cebus_replay_claim(list, 0);
    for (size_t i = 0; i < count && status == CEBUS_OK; i++) {
        cebus_value *value = mirror->values[plan->actions[i].value];
        if (plan->actions[i].kind == CEBUS_ACTION_DROP) {
            cebus_rebuild_drop(rt, cebus_candidate_of(value));
            continue;
        }
        status = make(rt, value);
        cebus_replay_unclaim(&(cebus_replay){list->calls, done + 1}, done);
        done++;
    }
    cebus_replay_unclaim(list, done);
    return status;
}

/** Up to the call that waits. */
static cebus_status carry_out(const cebus_mirror *mirror, const cebus_plan *plan)
{
    cebus_runtime *rt = mirror->rt;
    size_t count = 0;
    while (count < plan->count && plan->actions[count].at <= mirror->now)
        count++;
    size_t bytes = (count + 1) * sizeof(cebus_call *);
    cebus_call **calls = cebus_pool_alloc(&rt->pool, bytes);
    if (calls == NULL)
        return CEBUS_OUT_OF_MEMORY;
    cebus_replay list = {calls, list_calls(mirror, plan, count, calls)};
    rt->foresight.running = true;
    cebus_status status = run(mirror, plan, count, &list);
    rt->foresight.running = false;
    cebus_pool_free_object(&rt->pool, calls, bytes);
    return status;
}

cebus_status cebus_foresight_rebuild(cebus_runtime *rt, cebus_candidate *target)
{
    if (!is_due(rt))
        return CEBUS_OUT_OF_MEMORY;
    if (!rt->foresight.begun) {
        rt->foresight.begun = true;
        rt->foresight.allowed_ns = cebus_strain_ran(rt);
        begin_way_back(rt);
    }
    judge(rt);
    cebus_status status = CEBUS_OUT_OF_MEMORY;
    cebus_mirror mirror;
    cebus_plan plan;
    cebus_mirror_init(&mirror, rt);
    cebus_plan_init(&plan, &rt->pool);
    if (make_plan(rt, target, &mirror, &plan))
        status = carry_out(&mirror, &plan);
    cebus_plan_clear(&plan);
    cebus_mirror_clear(&mirror);
    return status == CEBUS_OK && !target->value.resident ? CEBUS_OUT_OF_MEMORY : status;
}
