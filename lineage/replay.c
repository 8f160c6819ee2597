#include "lineage/replay.h"

#include <stdlib.h>

#include "layout/number.h"

/** A chain of more calls is not short, see follows(): a block of a network has fewer. */
#define CHAIN 32

/**
 * A depth-first walk with an explicit stack. A record is pushed when first met and stays on the
 * stack until all its inputs are settled; call->mark tells fresh (< open), open (on the stack)
 * and listed records apart within this walk.
 */
static cebus_call *next_missing_input(cebus_call *call, uint64_t listed, cebus_status *status)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_value *input = call->in[i].value;
        if (input == NULL || cebus_value_is_present(input))
            continue;
        if (input->producer == NULL) {
            *status = CEBUS_NOT_REPLAYABLE;
            return NULL;
        }
        if (input->producer->mark != listed)
            return input->producer;
    }
    return NULL;
}

/** Lists what makes a target, behind what is missing for that, unless it is listed. */
static cebus_status list_behind(cebus_lineage *lineage, const cebus_value *target, uint64_t listed)
{
    struct cebus_scratch *stack = &lineage->stack, *list = &lineage->list;
    cebus_status status = CEBUS_OK;
    if (cebus_value_is_present(target))
        return CEBUS_OK;
    if (target->producer == NULL)
        return CEBUS_NOT_REPLAYABLE;
    if (target->producer->mark == listed)
        return CEBUS_OK;
    if (!cebus_scratch_push(lineage, stack, target->producer))
        return CEBUS_OUT_OF_HOST_MEMORY;
    while (stack->count > 0) {
        cebus_call *call = stack->items[stack->count - 1];
        cebus_call *missing = next_missing_input(call, listed, &status);
        if (status != CEBUS_OK)
            return status;
        if (missing == NULL) {
            call->mark = listed;
            stack->count--;
        }
        struct cebus_scratch *side = missing != NULL ? stack : list;
        if (!cebus_scratch_push(lineage, side, missing != NULL ? missing : call))
            return CEBUS_OUT_OF_HOST_MEMORY;
    }
    return CEBUS_OK;
}

cebus_status cebus_replay_build(cebus_lineage *lineage, cebus_value *const *targets, size_t n,
                                cebus_replay *out)
{
    struct cebus_scratch *list = &lineage->list;
    cebus_status status = CEBUS_OK;
    uint64_t listed = ++lineage->epoch;
    *out = (cebus_replay){0};
    lineage->stack.count = list->count = 0;
    for (size_t i = 0; i < n && status == CEBUS_OK; i++)
        status = list_behind(lineage, targets[i], listed);
    if (status == CEBUS_OK)
        *out = (cebus_replay){.calls = (cebus_call **)list->items, .count = list->count};
    return status;
}

static int compare_serials(const void *a, const void *b)
{
    const cebus_call *first = *(cebus_call *const *)a, *second = *(cebus_call *const *)b;
    return first->serial < second->serial ? -1 : 1;
}

void cebus_replay_sort(const cebus_replay *replay)
{
    if (replay->count > 0)
        qsort(replay->calls, replay->count, sizeof *replay->calls, compare_serials);
}

static void count_reads(const cebus_replay *replay, size_t from, int by)
{
    for (size_t at = from; at < replay->count; at++) {
        cebus_call *call = replay->calls[at];
        for (uint32_t i = 0; i < call->n_in; i++) {
            if (call->in[i].value != NULL)
                call->in[i].value->plan_uses += (uint32_t)by;
        }
    }
}

void cebus_replay_claim(const cebus_replay *replay, size_t from)
{
    count_reads(replay, from, 1);
}

void cebus_replay_unclaim(const cebus_replay *replay, size_t from)
{
    count_reads(replay, from, -1);
}

/** The need of what makes a missing input; 0 for one that is there. */
static uint64_t need_of(const cebus_value *input)
{
    bool missing = input != NULL && !cebus_value_is_present(input) && input->producer != NULL;
    return missing ? input->producer->need : 0;
}

/** What a run of the call reads and makes; leaves are there anyway. */
static uint64_t bytes_at_once(const cebus_call *call)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_value *input = call->in[i].value;
        bytes += input != NULL && input->producer != NULL ? input->bytes : 0;
    }
    for (uint32_t j = 0; j < call->n_out; j++)
        bytes += call->out[j] != NULL ? call->out[j]->bytes : 0;
    return bytes;
}

/** The only missing input of a call, but for `other`; NULL: there is none, or there are more. */
static const cebus_value *only_missing(const cebus_call *call, const cebus_value *other)
{
    const cebus_value *found = NULL;
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_value *input = call->in[i].value;
        if (input == NULL || input == other || input == found || cebus_value_is_present(input))
            continue;
        if (found != NULL)
            return NULL;
        found = input;
    }
    return found;
}

static bool reads(const cebus_call *call, const cebus_value *value)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value == value)
            return true;
    }
    return false;
}

/** *out_bytes: that the chain takes at once. */
static bool follows(const cebus_value *value, const cebus_value *other, uint64_t *out_bytes)
{
    *out_bytes = 0;
    for (size_t n = 0; value != NULL && value->producer != NULL && n < CHAIN; n++) {
        const cebus_value *missing = only_missing(value->producer, other);
        *out_bytes = cebus_max_u64(*out_bytes, bytes_at_once(value->producer));
        if (missing == NULL)
            return reads(value->producer, other);
        value = missing;
    }
    return false;
}

bool cebus_replay_follows(const cebus_value *value, const cebus_value *other)
{
    uint64_t bytes;
    return follows(value, other, &bytes);
}

/** The two inputs that need most decide: the second is made while the first is kept, or, where the
 * first follows from it, before it. */
static void rank_call(cebus_call *call)
{
    const cebus_value *first = NULL, *second = NULL;
    uint64_t bytes;
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_value *input = call->in[i].value;
        if (need_of(input) > need_of(first)) {
            second = first;
            first = input;
        } else if (need_of(input) > need_of(second)) {
            second = input;
        }
    }
    call->need = cebus_max_u64(bytes_at_once(call), need_of(first));
    if (second == NULL)
        return;
    if (follows(first, second, &bytes))
        call->need = cebus_max_u64(call->need, second->bytes + bytes);
    else
        call->need = cebus_max_u64(call->need, need_of(second) + first->bytes);
}

void cebus_replay_rank(const cebus_replay *replay)
{
    for (size_t at = 0; at < replay->count; at++)
        rank_call(replay->calls[at]);
}

void cebus_replay_number(const cebus_replay *replay)
{
    for (size_t at = 0; at < replay->count; at++)
        replay->calls[at]->listed = at + 1;
}

void cebus_replay_unnumber(const cebus_replay *replay)
{
    for (size_t at = 0; at < replay->count; at++)
        replay->calls[at]->listed = 0;
}

uint64_t cebus_replay_distance(const cebus_replay_cursor *cursor, const cebus_value *value)
{
    uint64_t nearest = 0;
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        const cebus_call *call = edge->call;
        uint64_t distance = 0;
        if (call->waiting > 0)
            distance = cursor->waiting - call->waiting + 1;
        else if (call->listed > cursor->at)
            distance = cursor->waiting + call->listed - cursor->at;
        if (distance > 0 && (nearest == 0 || distance < nearest))
            nearest = distance;
    }
    return nearest;
}

uint64_t cebus_replay_sum(const cebus_replay *replay)
{
    uint64_t ns = 0;
    for (size_t at = 0; at < replay->count; at++)
        ns += cebus_replay_call_ns(replay->calls[at]);
    return ns;
}

static void add_call(cebus_effort *sum, const cebus_call *call)
{
    sum->ns += cebus_replay_call_ns(call);
    sum->bytes += call->out_bytes;
}

/** Takes the next call off the walk's stack; NULL: none is left. */
static const cebus_call *pop_call(cebus_lineage *lineage)
{
    struct cebus_scratch *stack = &lineage->stack;
    return stack->count > 0 ? stack->items[--stack->count] : NULL;
}

/** Once an epoch; false without host memory. */
static bool push_call(cebus_lineage *lineage, cebus_call *call)
{
    if (call->mark == lineage->epoch)
        return true;
    call->mark = lineage->epoch;
    return cebus_scratch_push(lineage, &lineage->stack, call);
}

/** What makes the missing inputs of a call. */
static void push_missing(cebus_lineage *lineage, const cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_in; i++) {
        const cebus_value *input = call->in[i].value;
        if (input != NULL && !cebus_value_is_present(input) && input->producer != NULL &&
            !push_call(lineage, input->producer))
            return;
    }
}

cebus_effort cebus_replay_behind(cebus_lineage *lineage, const cebus_value *value, size_t calls,
                                 uint64_t ns)
{
    cebus_effort sum = {0};
    if (value->producer == NULL)
        return sum;
    lineage->epoch++;
    lineage->stack.count = 0;
    value->producer->mark = lineage->epoch;
    const cebus_call *call = value->producer;
    for (size_t met = 0; call != NULL && met < calls && sum.ns <= ns; met++) {
        add_call(&sum, call);
        push_missing(lineage, call);
        call = pop_call(lineage);
    }
    return sum;
}

static bool makes_wanted(const cebus_call *call)
{
    for (uint32_t j = 0; j < call->n_out; j++) {
        const cebus_value *made = call->out[j];
        if (made != NULL && !cebus_value_is_present(made) && cebus_value_is_wanted(made))
            return true;
    }
    return false;
}

/** The readers of a value that make something absent and wanted of it. */
static void push_readers(cebus_lineage *lineage, const cebus_value *value)
{
    for (const cebus_edge *edge = value->consumers; edge != NULL; edge = edge->next) {
        if (edge->call->mark != lineage->epoch && makes_wanted(edge->call) &&
            !push_call(lineage, edge->call))
            return;
    }
}

cebus_effort cebus_replay_ahead(cebus_lineage *lineage, const cebus_value *value, size_t calls,
                                uint64_t ns)
{
    cebus_effort sum = {0};
    lineage->epoch++;
    lineage->stack.count = 0;
    push_readers(lineage, value);
    const cebus_call *call = pop_call(lineage);
    for (size_t met = 0; call != NULL && met < calls && sum.ns <= ns; met++) {
        add_call(&sum, call);
        for (uint32_t j = 0; j < call->n_out; j++) {
            if (call->out[j] != NULL && !cebus_value_is_present(call->out[j]))
                push_readers(lineage, call->out[j]);
        }
        call = pop_call(lineage);
    }
    return sum;
}
