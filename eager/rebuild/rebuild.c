#include "eager/rebuild/rebuild.h"

#include <string.h>

#include "eager/ladder.h"
#include "eager/rebuild/behind.h"
#include "eager/rebuild/foresight.h"
#include "eager/rebuild/headroom.h"
#include "eager/rebuild/plan.h"
#include "eager/rebuild/replay_call.h"
#include "eager/strain.h"
#include "eager/swap/swap.h"
#include "layout/number.h"
#include "lineage/cost.h"

/** Depth first a rebuild may run so many times the calls of its list: in the first try, and in the
 * last. */
#define PATIENCE 8
#define LAST_PATIENCE 512
/** Lists of fewer calls, or of calls that take less on the average, are not planned: planning would
 * take longer than running some of them again. */
#define LEAST_PLANNED 8
#define LEAST_PLANNED_NS 8000
/** A list of so many calls does not run depth first while another try may evict more: parts of it
 * would run a thousand times. 50 and 200 gave the same in all logs that were tried. */
#define LONG_LIST 100
/** Of so many calls it is planned from what cannot go before it runs depth first, which takes
 * longer the longer a list is: tests/bench/thrashing.md. */
#define LONG_WAY 256
/** Each try may evict what takes so many times longer, and run so many times the calls, of the one
 * before. */
#define TRY_GROWTH 4
/** Once rebuilding took longer than the program itself, the first try may only evict what takes
 * 1/SPARING of the list: the next calls need most of what is dear, and would have it made again at
 * once. Before that so strict a limit only makes rebuilds longer (tests/bench/thrashing.md). */
#define SPARING 4

/** What is to be made at once: pinned, each by another call. */
typedef struct targets {
    cebus_value **values;
    size_t count;
} targets;

/** The absent calls behind the targets, sorted into the program's order for one pass. Each is
 * numbered by its place before that, from which depth first knows what it reads soon. */
static cebus_status build_list(cebus_runtime *rt, const targets *wanted, cebus_replay *out,
                               const char *op)
{
    cebus_replay_buffer *buffer = &rt->replay;
    cebus_status status = cebus_replay_build(&rt->lineage, wanted->values, wanted->count, out);
    if (status == CEBUS_NOT_REPLAYABLE)
        return cebus_fail(status, op,
                          "an input was given up and cannot be rebuilt: a defect of "
                          "cebus");
    if (status == CEBUS_OK && out->count > buffer->capacity) {
        size_t capacity = 2 * out->count;
        cebus_call **calls = cebus_pool_alloc(&rt->pool, capacity * sizeof *calls);
        if (calls == NULL)
            status = CEBUS_OUT_OF_HOST_MEMORY;
        else {
            cebus_pool_free_object(&rt->pool, buffer->calls,
                                   buffer->capacity * sizeof *buffer->calls);
            buffer->calls = calls;
            buffer->capacity = capacity;
        }
    }
    if (status != CEBUS_OK)
        return cebus_fail(status, op, "no host memory to plan a replay");
    if (out->count > 0)
        memcpy(buffer->calls, out->calls, out->count * sizeof *buffer->calls);
    out->calls = buffer->calls;
    cebus_replay_rank(out);
    cebus_replay_number(out);
    cebus_replay_sort(out);
    return CEBUS_OK;
}

static cebus_status run_list(cebus_runtime *rt, const cebus_replay *list)
{
    cebus_status status = CEBUS_OK;
    size_t at = 0;
    cebus_replay_claim(list, 0);
    for (; at < list->count && status == CEBUS_OK; at++) {
        status = cebus_replay_call(rt, list->calls[at], CEBUS_REPLAY_HELD);
        cebus_replay_unclaim(&(cebus_replay){list->calls, at + 1}, at);
        cebus_replay_call_settle(rt, list->calls[at]);
    }
    cebus_replay_unclaim(list, at);
    for (size_t i = at; i < list->count; i++)
        cebus_replay_call_settle(rt, list->calls[i]);
    return status;
}

static uint64_t rounded_bytes(const cebus_runtime *rt, const cebus_value *value)
{
    return cebus_arena_rounded(&rt->arena, value->bytes);
}

/** The bytes of a resident input that could be evicted if the list did not need it. */
static uint64_t loose_bytes(cebus_runtime *rt, cebus_value *value)
{
    bool loose = value->resident && cebus_ladder_may_go(rt, cebus_candidate_of(value));
    return loose ? rounded_bytes(rt, value) : 0;
}

/** Claims what the list reads, which keeps it from eviction; returns the bytes that could have been
 * evicted until then. */
static uint64_t claim_inputs(cebus_runtime *rt, const cebus_replay *list)
{
    uint64_t bytes = 0;
    for (size_t at = 0; at < list->count; at++) {
        const cebus_call *call = list->calls[at];
        for (uint32_t i = 0; i < call->n_in; i++) {
            cebus_value *input = call->in[i].value;
            if (input == NULL)
                continue;
            bytes += input->plan_uses == 0 ? loose_bytes(rt, input) : 0;
            input->plan_uses++;
        }
    }
    return bytes;
}

static uint64_t made_bytes(const cebus_runtime *rt, const cebus_call *call)
{
    uint64_t bytes = 0;
    for (uint32_t j = 0; j < call->n_out; j++) {
        const cebus_value *made = call->out[j];
        if (made != NULL && !cebus_value_is_present(made) &&
            (made->plan_uses > 0 || made->pins > 0))
            bytes += rounded_bytes(rt, made);
    }
    return bytes;
}

/** Takes a call's claims back; returns the bytes of what no later call of the list reads. */
static uint64_t unclaim_inputs(cebus_runtime *rt, const cebus_call *call)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < call->n_in; i++) {
        cebus_value *input = call->in[i].value;
        if (input == NULL || --input->plan_uses > 0 || input->pins > 0)
            continue;
        bytes += cebus_value_is_present(input) ? loose_bytes(rt, input) : rounded_bytes(rt, input);
    }
    return bytes;
}

/** How many of the bytes that are free or may go one pass would need at once; runs nothing. */
static uint64_t peak_of_pass(cebus_runtime *rt, const cebus_replay *list)
{
    uint64_t bytes = claim_inputs(rt, list), peak = 0;
    for (size_t at = 0; at < list->count; at++) {
        bytes += made_bytes(rt, list->calls[at]);
        peak = cebus_max_u64(peak, bytes);
        bytes -= unclaim_inputs(rt, list->calls[at]);
    }
    return peak;
}

static bool push_frame(cebus_runtime *rt, cebus_call *call)
{
    cebus_replay_stack *stack = &rt->stack;
    void *frames = stack->frames;
    if (!cebus_pool_grow(&rt->pool, &frames, &stack->capacity, stack->count, sizeof *stack->frames))
        return false;
    stack->frames = frames;
    stack->frames[stack->count++] =
        (cebus_replay_frame){.call = call, .begun_ns = rt->stats.recompute_ns};
    call->waiting = rt->cursor.waiting = stack->count;
    return true;
}

static void pin_edge(cebus_edge *edge)
{
    edge->pinned = true;
    edge->value->pins++;
}

/** The absent input that needs the most room to make: made first, while little else is held (Sethi,
 * Ullman, 1970). NULL: none is absent. */
static cebus_edge *neediest(const cebus_call *call)
{
    cebus_edge *chosen = NULL;
    for (uint32_t i = 0; i < call->n_in; i++) {
        cebus_edge *edge = &call->in[i];
        if (edge->value == NULL || cebus_value_is_present(edge->value))
            continue;
        if (chosen == NULL || edge->value->producer->need > chosen->value->producer->need)
            chosen = edge;
    }
    return chosen;
}

/** That, or what it follows from where the call reads that, too, like the input of a residual
 * block, which its output is added to. Made later, while the other is kept, it would wait for what
 * came before it in the same way, and so on. Where it is there, it stays. */
static cebus_edge *first_missing(cebus_call *call)
{
    cebus_edge *chosen = neediest(call);
    for (uint32_t i = 0; i < call->n_in && chosen != NULL; i++) {
        cebus_edge *edge = &call->in[i];
        if (edge->value == NULL || edge->pinned || edge->value == chosen->value ||
            !cebus_replay_follows(chosen->value, edge->value))
            continue;
        if (cebus_value_is_present(edge->value))
            pin_edge(edge);
        else
            chosen = edge;
    }
    return chosen;
}

/**
 * Answers the call that makes the next missing input, and pins that input: the pin says that its
 * bytes are wanted, and keeps them once they are there. Inputs that are there already may still be
 * evicted until the last missing one is made, so that waiting calls lock only what was made for
 * them. Then all inputs are pinned, and the answer is NULL. What was swapped out comes back when
 * the call runs.
 */
static cebus_call *pin_next_missing(const cebus_replay_frame *frame)
{
    cebus_call *call = frame->call;
    cebus_edge *missing = first_missing(call);
    if (missing != NULL) {
        if (!missing->pinned)
            pin_edge(missing);
        return missing->value->producer;
    }
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL && !call->in[i].pinned)
            pin_edge(&call->in[i]);
    }
    return NULL;
}

static void pop_frame(cebus_runtime *rt)
{
    const cebus_replay_frame *frame = &rt->stack.frames[--rt->stack.count];
    frame->call->waiting = 0;
    rt->cursor.waiting = rt->stack.count;
    rt->cursor.at = cebus_max_u64(rt->cursor.at, frame->call->listed);
    for (uint32_t i = 0; i < frame->call->n_in; i++) {
        cebus_edge *edge = &frame->call->in[i];
        if (edge->pinned)
            edge->value->pins--;
        edge->pinned = false;
    }
}

/** For the error of a rebuild that found no room: the target's bytes, or more that its call needs.
 */
static uint64_t bytes_at_once(const cebus_candidate *target)
{
    return cebus_max_u64(target->value.bytes, target->value.producer->need);
}

/**
 * Makes the target resident depth first. A call waits on the stack with those inputs pinned that
 * were made for it. That needs the least room, may run a call several times, and always makes
 * progress, since whatever a call waits for is pinned before it is made. Ends without memory after
 * `patience` runs.
 */
static cebus_status rebuild_by_stack(cebus_runtime *rt, cebus_candidate *target, size_t patience,
                                     const char *op)
{
    cebus_replay_stack *stack = &rt->stack;
    cebus_status status = CEBUS_OK;
    size_t ran = 0;
    stack->count = 0;
    rt->cursor = (cebus_replay_cursor){0};
    if (!push_frame(rt, target->value.producer))
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to plan a replay");
    rt->depth_first = true;
    while (stack->count > 0 && status == CEBUS_OK) {
        cebus_replay_frame *top = &stack->frames[stack->count - 1];
        cebus_call *missing = pin_next_missing(top);
        if (missing != NULL) {
            if (!push_frame(rt, missing))
                status = cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, op, "no host memory to replay");
            continue;
        }
        cebus_cost_wait(&rt->lineage, top->call, rt->stats.recompute_ns - top->begun_ns);
        rt->rebuild_limit.binds |= ++ran > patience;
        status = ran > patience ? cebus_oom_fail(rt, bytes_at_once(target), op)
                                : cebus_replay_call(rt, top->call, CEBUS_REPLAY_HELD);
        if (status == CEBUS_OK)
            pop_frame(rt);
    }
    while (stack->count > 0)
        pop_frame(rt);
    rt->depth_first = false;
    return status;
}

/** Each took the same part of the time. */
static void report_rebuilt(cebus_runtime *rt, const targets *wanted, uint64_t ns)
{
    for (size_t i = 0; i < wanted->count; i++) {
        const cebus_value *made = wanted->values[i];
        cebus_event_emit(
            rt, (cebus_event){.kind = CEBUS_EVENT_RETURNED,
                              .method = CEBUS_METHOD_RECOMPUTE,
                              .op = ((const cebus_op *)made->producer->op)->name,
                              .value = ((const cebus_candidate *)made)->serial,
                              .bytes = made->bytes,
                              .ns = ns * (i + 1) / wanted->count - ns * i / wanted->count});
    }
}

/** ns that what the first try evicts may take to rebuild. */
static uint64_t first_limit(cebus_runtime *rt, const cebus_replay *list)
{
    bool thrashes = cebus_strain_holds(rt);
    return cebus_replay_sum(list) / (thrashes ? SPARING : 1);
}

static bool is_worth_a_plan(const cebus_replay *list)
{
    return list->count >= LEAST_PLANNED && cebus_replay_sum(list) / list->count >= LEAST_PLANNED_NS;
}

static void clear_list(cebus_replay *list)
{
    cebus_replay_unnumber(list);
    list->count = 0;
}

static cebus_status run_plan(cebus_runtime *rt, const cebus_replay *list)
{
    rt->trial++;
    cebus_status status = cebus_rebuild_by_plan(rt, list);
    rt->trial--;
    return status;
}

/** Lists anew what is absent, since a pass may have made some of it, and plans that. */
static cebus_status rebuild_by_plan(cebus_runtime *rt, const targets *wanted, cebus_replay *list,
                                    const char *op)
{
    clear_list(list);
    cebus_status status = build_list(rt, wanted, list, op);
    return status == CEBUS_OK ? run_plan(rt, list) : status;
}

/** Whether a further try, with a higher limit, has more room than this one. */
static bool has_more_room_later(cebus_runtime *rt)
{
    uint64_t limit = rt->rebuild_limit.ns, room = cebus_ladder_room(rt);
    rt->rebuild_limit.ns = 0;
    bool more = cebus_ladder_has_room(rt, room + 1);
    rt->rebuild_limit.ns = limit;
    return more;
}

/** Whether this try cannot have so many bytes, and another may follow. Then it evicts nothing: what
 * goes in vain has to be rebuilt, too. */
static bool is_too_much(cebus_runtime *rt, uint64_t bytes)
{
    if (rt->rebuild_limit.ns == 0 || cebus_ladder_has_room(rt, bytes))
        return false;
    rt->rebuild_limit.binds |= has_more_room_later(rt);
    return true;
}

static cebus_status rebuild_by_pass(cebus_runtime *rt, const cebus_replay *list)
{
    if (is_too_much(rt, peak_of_pass(rt, list)))
        return CEBUS_OUT_OF_MEMORY;
    rt->trial++;
    cebus_status status = run_list(rt, list);
    rt->trial--;
    return status;
}

/** Depth first takes longest, and makes one value. A long list is left to the next try, if that has
 * room to do it in another way. After the last patience it has been tried. */
static bool may_go_deep(cebus_runtime *rt, const targets *wanted, const cebus_replay *list,
                        size_t patience)
{
    if (wanted->count > 1 || patience > LAST_PATIENCE)
        return false;
    if (rt->rebuild_limit.ns == 0)
        return true;
    if (is_too_much(rt, wanted->values[0]->producer->need))
        return false;
    bool waits = list->count >= LONG_LIST && patience < LAST_PATIENCE && has_more_room_later(rt);
    rt->rebuild_limit.binds |= waits;
    return !waits;
}

/** By a plan that need not keep what is there. Short lists run depth first for less. Where nothing
 * may go, and the plan before this one made nothing, another would be the same. */
static cebus_status rebuild_afresh(cebus_runtime *rt, const targets *wanted, cebus_replay *list,
                                   const char *op)
{
    size_t planned = list->count;
    if (planned < LONG_WAY || !is_worth_a_plan(list))
        return CEBUS_OUT_OF_MEMORY;
    clear_list(list);
    size_t dropped = cebus_behind_drop(rt, wanted->values[0]);
    cebus_status status = build_list(rt, wanted, list, op);
    if (status != CEBUS_OK)
        return status;
    return dropped > 0 || list->count < planned ? run_plan(rt, list) : CEBUS_OUT_OF_MEMORY;
}

/** One try: one pass over the list, a plan for it or for all behind it, or else depth first. */
static cebus_status try_rebuild(cebus_runtime *rt, const targets *wanted, size_t patience,
                                const char *op)
{
    cebus_replay list = {0};
    cebus_status status = build_list(rt, wanted, &list, op);
    if (status != CEBUS_OK)
        return status;
    if (rt->rebuild_limit.ns > 0)
        rt->rebuild_limit.ns = cebus_max_u64(rt->rebuild_limit.ns, first_limit(rt, &list));
    status = rebuild_by_pass(rt, &list);
    if (status == CEBUS_OUT_OF_MEMORY && is_worth_a_plan(&list))
        status = rebuild_by_plan(rt, wanted, &list, op);
    bool deep = false;
    if (status == CEBUS_OUT_OF_MEMORY && may_go_deep(rt, wanted, &list, patience)) {
        status = rebuild_afresh(rt, wanted, &list, op);
        deep = status == CEBUS_OUT_OF_MEMORY && !is_too_much(rt, wanted->values[0]->producer->need);
    }
    if (deep)
        status = rebuild_by_stack(rt, cebus_candidate_of(wanted->values[0]),
                                  patience * (list.count + 8), op);
    cebus_replay_unnumber(&list);
    if (deep)
        cebus_candidate_settle_all(rt); /* what the rebuild left behind */
    return status;
}

/** Sparing at first, then less and less: LAST_PATIENCE ends it, or, at any cost, that a further try
 * would have no more room. */
static cebus_status rebuild_sparingly(cebus_runtime *rt, const targets *wanted, bool at_any_cost,
                                      const char *op)
{
    size_t patience = PATIENCE;
    cebus_status status;
    rt->rebuild_limit = (cebus_rebuild_limit){.ns = 1};
    do {
        rt->rebuild_limit.binds = false;
        status = try_rebuild(rt, wanted, patience, op);
        rt->rebuild_limit.ns *= TRY_GROWTH;
        patience *= TRY_GROWTH;
    } while (status == CEBUS_OUT_OF_MEMORY && rt->rebuild_limit.binds &&
             (at_any_cost || patience <= LAST_PATIENCE));
    rt->rebuild_limit = (cebus_rebuild_limit){0};
    return status;
}

/** What a rebuild may do before it ends without memory. */
typedef enum rebuild_effort {
    SPARINGLY,   /**< its tries are limited: the caller has other ways */
    AT_ANY_COST, /**< it tries on for as long as more may be evicted for it */
    TO_THE_END,  /**< sparingly, then in a way that may take any time: nothing else is left */
} rebuild_effort;

static cebus_status rebuild(cebus_runtime *rt, const targets *wanted, rebuild_effort effort,
                            const char *op)
{
    uint64_t before = rt->stats.recompute_ns;
    cebus_headroom_measure(rt);
    rt->replay.busy = true;
    rt->trial++;
    cebus_status status = cebus_foresight_rebuild(rt, cebus_candidate_of(wanted->values[0]));
    if (status == CEBUS_OUT_OF_MEMORY)
        status = rebuild_sparingly(rt, wanted, effort == AT_ANY_COST, op);
    rt->trial--;
    if (status == CEBUS_OUT_OF_MEMORY && effort == TO_THE_END)
        status = try_rebuild(rt, wanted, LAST_PATIENCE, op);
    rt->replay.busy = false;
    if (status == CEBUS_OK)
        report_rebuilt(rt, wanted, rt->stats.recompute_ns - before);
    return status;
}

static cebus_status bring_back(cebus_runtime *rt, cebus_candidate *target, rebuild_effort effort,
                               const char *op)
{
    if (target->value.swapped)
        return cebus_swap_in(rt, target, op);
    cebus_value *value = &target->value;
    return rebuild(rt, &(targets){&value, 1}, effort, op);
}

cebus_status cebus_rebuild(cebus_runtime *rt, cebus_candidate *target, const char *op)
{
    return bring_back(rt, target, rt->trial == 0 ? TO_THE_END : SPARINGLY, op);
}

cebus_status cebus_rebuild_at_any_cost(cebus_runtime *rt, cebus_candidate *target, const char *op)
{
    return bring_back(rt, target, AT_ANY_COST, op);
}

/** One absent value for each call that makes any. */
static void list_absent(cebus_runtime *rt, cebus_candidate *const *values, size_t n, targets *out)
{
    rt->lineage.epoch++;
    for (size_t i = 0; i < n; i++) {
        cebus_value *value = values[i] != NULL ? &values[i]->value : NULL;
        if (value == NULL || cebus_value_is_present(value) || value->producer == NULL ||
            value->producer->mark == rt->lineage.epoch)
            continue;
        value->producer->mark = rt->lineage.epoch;
        out->values[out->count++] = value;
    }
}

/** CEBUS_OUT_OF_MEMORY: it does not fit, or there are no two that are absent. */
static cebus_status rebuild_together(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                     const char *op)
{
    size_t bytes = n * sizeof(cebus_value *);
    targets wanted = {n > 1 ? cebus_pool_alloc(&rt->pool, bytes) : NULL, 0};
    if (wanted.values == NULL)
        return CEBUS_OUT_OF_MEMORY;
    list_absent(rt, values, n, &wanted);
    cebus_status status =
        wanted.count > 1 ? rebuild(rt, &wanted, SPARINGLY, op) : CEBUS_OUT_OF_MEMORY;
    cebus_pool_free_object(&rt->pool, wanted.values, bytes);
    return status;
}

cebus_status cebus_rebuild_all(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                               const char *op)
{
    cebus_status status = rebuild_together(rt, values, n, op);
    if (status == CEBUS_OUT_OF_MEMORY)
        status = CEBUS_OK;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++) {
        if (values[i] != NULL && !values[i]->value.resident)
            status = cebus_rebuild(rt, values[i], op);
    }
    return status;
}
