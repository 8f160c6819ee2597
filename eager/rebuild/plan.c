#include "eager/rebuild/plan.h"

#include <stdlib.h>
#include <string.h>

#include "eager/ladder.h"
#include "eager/launch.h"
#include "eager/rebuild/replay_call.h"
#include "evict/planner/check.h"
#include "evict/planner/planner.h"
#include "layout/number.h"

#define NONE CEBUS_ITERATION_NONE

/** 1/HOLES of the room is left unplanned: places do not fit without holes. */
#define HOLES 32

/** A value of the list, and its ordinal in the iteration that the list is recorded as. */
typedef struct named {
    cebus_value *value;
    uint32_t ordinal;
    bool is_loose; /**< could be evicted if the list did not read it: its bytes count */
} named;

/** One run of a call: the first, as listed, or a further one by the plan. Before it, the plan's
 * drops in [from, to) are done. */
typedef struct rebuild_step {
    size_t from, to; /**< of the plan's actions */
    uint32_t at;     /**< the call of the list; NONE: once more */
} rebuild_step;

typedef struct rebuild {
    cebus_runtime *rt;
    const cebus_replay *list;
    uint64_t room; /**< bytes: free, or of what may go */
    named *names;  /**< by address */
    size_t n_names, names_capacity;
    cebus_value **values; /**< by ordinal */
    cebus_iteration iteration;
    cebus_plan plan;
    rebuild_step *steps;
    cebus_call **calls; /**< of the steps */
    size_t n_steps, steps_capacity, calls_capacity;
} rebuild;

/* ---- the list as an iteration ------------------------------------------------------------- */

/** Whether the list makes it: it is absent, and wanted. */
static bool is_made(const cebus_value *value)
{
    return value != NULL && !cebus_value_is_present(value) &&
           (value->plan_uses > 0 || value->pins > 0);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const named *)a)->value,
              right = (uintptr_t)((const named *)b)->value;
    return left < right ? -1 : left > right;
}

static bool add_name(rebuild *r, cebus_value *value)
{
    void *names = r->names;
    if (!cebus_pool_grow(&r->rt->pool, &names, &r->names_capacity, r->n_names, sizeof *r->names))
        return false;
    r->names = names;
    r->names[r->n_names++] = (named){.value = value, .ordinal = NONE};
    return true;
}

/** All values of the list, each once, to be found by their addresses. */
static bool collect_names(rebuild *r)
{
    bool ok = true;
    for (size_t k = 0; k < r->list->count && ok; k++) {
        const cebus_call *call = r->list->calls[k];
        for (uint32_t i = 0; i < call->n_in && ok; i++)
            ok = call->in[i].value == NULL || add_name(r, call->in[i].value);
        for (uint32_t j = 0; j < call->n_out && ok; j++)
            ok = call->out[j] == NULL || add_name(r, call->out[j]);
    }
    if (!ok || r->n_names == 0)
        return false;
    qsort(r->names, r->n_names, sizeof *r->names, by_address);
    size_t count = 1;
    for (size_t i = 1; i < r->n_names; i++) {
        if (r->names[i].value != r->names[count - 1].value)
            r->names[count++] = r->names[i];
    }
    r->n_names = count;
    for (size_t i = 0; i < count; i++)
        r->names[i].is_loose = cebus_ladder_may_go(r->rt, cebus_candidate_of(r->names[i].value));
    r->room = cebus_ladder_room(r->rt);
    r->values = cebus_pool_alloc(&r->rt->pool, r->names_capacity * sizeof(cebus_value *));
    return r->values != NULL;
}

/** Records that the next call refers to a value. Ordinals are given in the order of the first
 * reference, so that plans do not depend on addresses. */
static bool refer(rebuild *r, cebus_value *value, uint32_t born)
{
    cebus_iteration *iteration = &r->iteration;
    if (value == NULL)
        return cebus_iteration_add_ref(iteration, NONE);
    named *name =
        bsearch(&(named){.value = value}, r->names, r->n_names, sizeof *r->names, by_address);
    if (name->ordinal == NONE) {
        bool counts = born != NONE || name->is_loose;
        cebus_iteration_value added = {
            .bytes = counts ? cebus_arena_rounded(&r->rt->arena, value->bytes) : 0,
            .born = born,
            .freed = NONE,
            .moved = NONE,
            .replayable = born != NONE,
        };
        name->ordinal = (uint32_t)iteration->n_values;
        r->values[name->ordinal] = value;
        if (!cebus_iteration_add_value(iteration, &added))
            return false;
    }
    if (value->pins == 0)
        iteration->values[name->ordinal].freed = (uint32_t)iteration->n_calls + 1;
    return cebus_iteration_add_ref(iteration, name->ordinal);
}

static bool record_call(rebuild *r, const cebus_call *call)
{
    cebus_op_entry *entry;
    const cebus_op *op = call->op;
    bool ok = cebus_op_entry_find(r->rt, op, &entry) == CEBUS_OK;
    cebus_iteration_call made = {
        .op = op->name, .cost_ns = cebus_max_u64(call->cost_ns, 1), .n_in = (uint16_t)call->n_in};
    for (uint32_t i = 0; i < call->n_in && ok; i++)
        ok = refer(r, call->in[i].value, NONE);
    for (uint32_t j = 0; j < call->n_out && ok; j++) {
        if (!is_made(call->out[j])) {
            made.workspace += cebus_replay_call_waste(r->rt, call, j);
            continue;
        }
        ok = refer(r, call->out[j], (uint32_t)r->iteration.n_calls);
        made.n_out++;
    }
    made.workspace += ok ? cebus_launch_workspace(r->rt, call, entry->kernel) : 0;
    return ok && cebus_iteration_add_call(&r->iteration, &made);
}

static bool record(rebuild *r)
{
    bool ok = true;
    for (size_t k = 0; k < r->list->count && ok; k++)
        ok = record_call(r, r->list->calls[k]);
    return ok && cebus_iteration_seal(&r->iteration);
}

/* ---- the plan ----------------------------------------------------------------------------- */

/** Makes a plan; whether it fits the room. The planner gets no effort beyond its first plan: where
 * that did not fit, a search found one that did once in a hundred times, and took several times as
 * long as running the list. */
static bool plan_within_room(rebuild *r)
{
    cebus_check check;
    cebus_plan_terms terms = {
        .budget = r->room, .holes = r->room / HOLES, .out_rate = 1, .in_rate = 1};
    return cebus_planner_plan(&r->iteration, &terms, &r->plan) &&
           cebus_check_run(&r->iteration, &r->plan, &r->rt->pool, &check) && check.wrong == NULL &&
           check.peak <= r->room;
}

static bool add_step(rebuild *r, cebus_call *call, rebuild_step added)
{
    void *steps = r->steps, *calls = r->calls;
    cebus_pool *pool = &r->rt->pool;
    if (!cebus_pool_grow(pool, &steps, &r->steps_capacity, r->n_steps, sizeof *r->steps))
        return false;
    r->steps = steps;
    if (!cebus_pool_grow(pool, &calls, &r->calls_capacity, r->n_steps, sizeof(cebus_call *)))
        return false;
    r->calls = calls;
    r->steps[r->n_steps] = added;
    r->calls[r->n_steps++] = call;
    return true;
}

/** Lists the runs in order. Consecutive replays of several outputs of one call are one run. */
static bool order_steps(rebuild *r)
{
    size_t from = 0, i = 0;
    bool ok = true;
    for (uint32_t k = 0; k < r->list->count && ok; k++) {
        for (; i < r->plan.count && r->plan.actions[i].at <= k && ok; i++) {
            const cebus_action *action = &r->plan.actions[i];
            cebus_call *call = r->values[action->value]->producer;
            if (action->kind != CEBUS_ACTION_REPLAY)
                continue;
            bool same = r->n_steps > 0 && i > 0 && r->plan.actions[i - 1].at == action->at &&
                        r->plan.actions[i - 1].kind == CEBUS_ACTION_REPLAY &&
                        r->values[r->plan.actions[i - 1].value]->producer == call;
            ok = same || add_step(r, call, (rebuild_step){.from = from, .to = i, .at = NONE});
            from = i + 1;
        }
        ok = ok && add_step(r, r->list->calls[k], (rebuild_step){.from = from, .to = i, .at = k});
        from = i;
    }
    return ok;
}

static bool make_plan(rebuild *r)
{
    bool ok = collect_names(r);
    cebus_replay_claim(r->list, 0);
    ok = ok && record(r) && plan_within_room(r);
    cebus_replay_unclaim(r->list, 0);
    return ok && cebus_plan_link(&r->plan, &r->iteration) && order_steps(r);
}

/* ---- the run ------------------------------------------------------------------------------ */

void cebus_rebuild_drop(cebus_runtime *rt, cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    bool stays = value->pins > 0 || candidate->exports > 0;
    if (stays || !value->resident || !cebus_value_is_replayable(value))
        return;
    candidate->method = CEBUS_GO_DROP;
    cebus_ladder_give_up(rt, candidate);
}

static void drop(rebuild *r, uint32_t ordinal)
{
    cebus_rebuild_drop(r->rt, cebus_candidate_of(r->values[ordinal]));
}

static void drop_before(rebuild *r, const rebuild_step *step)
{
    for (size_t i = step->from; i < step->to; i++) {
        const cebus_action *action = &r->plan.actions[i];
        r->plan.first[action->value] = action->then;
        if (action->kind == CEBUS_ACTION_DROP)
            drop(r, action->value);
    }
}

/** Drops what no later call of the list reads, except where the plan makes it again later. */
static void drop_freed(rebuild *r, uint32_t at)
{
    const cebus_iteration_call *call = &r->iteration.calls[at];
    for (uint32_t i = 0; i < (uint32_t)call->n_in + call->n_out; i++) {
        uint32_t ordinal = r->iteration.refs[call->refs + i];
        if (ordinal != NONE && r->iteration.values[ordinal].freed == at + 1 &&
            r->plan.first[ordinal] == CEBUS_ACTION_REPLAY)
            drop(r, ordinal);
    }
}

/** Pins (unpins) the outputs that a further run of a call is for; false: all of them are there. */
static bool pin_named(rebuild *r, const rebuild_step *step, int by)
{
    const cebus_call *call = r->values[r->plan.actions[step->to].value]->producer;
    bool any = false;
    for (size_t i = step->to; i < r->plan.count; i++) {
        const cebus_action *action = &r->plan.actions[i];
        cebus_value *value = r->values[action->value];
        if (action->kind != CEBUS_ACTION_REPLAY || value->producer != call)
            break;
        value->pins += (uint32_t)by;
        r->plan.first[action->value] = action->then;
        any = any || !value->resident;
    }
    return any;
}

static cebus_status run_again(rebuild *r, const rebuild_step *step, cebus_call *call)
{
    cebus_status status = CEBUS_OK;
    if (pin_named(r, step, 1))
        status = cebus_replay_call(r->rt, call, CEBUS_REPLAY_PINNED);
    pin_named(r, step, -1);
    return status;
}

static cebus_status run_step(rebuild *r, const rebuild_step *step, cebus_call *call)
{
    drop_before(r, step);
    if (!cebus_call_has_inputs(call))
        return CEBUS_OUT_OF_MEMORY;
    if (step->at == NONE)
        return run_again(r, step, call);
    cebus_status status = cebus_replay_call(r->rt, call, CEBUS_REPLAY_WANTED);
    if (status == CEBUS_OK)
        drop_freed(r, step->at);
    return status;
}

/** Runs the steps, with claims on all that they read. */
static cebus_status run(rebuild *r)
{
    cebus_replay all = {r->calls, r->n_steps};
    cebus_status status = CEBUS_OK;
    size_t at = 0;
    cebus_replay_claim(&all, 0);
    for (; at < all.count && status == CEBUS_OK; at++) {
        status = run_step(r, &r->steps[at], all.calls[at]);
        cebus_replay_unclaim(&(cebus_replay){all.calls, at + 1}, at);
        cebus_replay_call_settle(r->rt, all.calls[at]);
    }
    cebus_replay_unclaim(&all, at);
    return status;
}

static void forget(rebuild *r)
{
    cebus_pool *pool = &r->rt->pool;
    cebus_plan_clear(&r->plan);
    cebus_iteration_clear(&r->iteration);
    cebus_pool_free_object(pool, r->values, r->names_capacity * sizeof(cebus_value *));
    cebus_pool_free_object(pool, r->names, r->names_capacity * sizeof *r->names);
    cebus_pool_free_object(pool, r->steps, r->steps_capacity * sizeof *r->steps);
    cebus_pool_free_object(pool, r->calls, r->calls_capacity * sizeof(cebus_call *));
}

cebus_status cebus_rebuild_by_plan(cebus_runtime *rt, const cebus_replay *list)
{
    rebuild r = {.rt = rt, .list = list};
    cebus_iteration_init(&r.iteration, &rt->pool);
    cebus_plan_init(&r.plan, &rt->pool);
    cebus_status status = make_plan(&r) ? run(&r) : CEBUS_OUT_OF_MEMORY;
    forget(&r);
    return status;
}
