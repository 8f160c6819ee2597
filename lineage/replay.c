#include "lineage/replay.h"

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

cebus_status cebus_replay_build(cebus_lineage *lineage, cebus_value *target, cebus_replay *out)
{
    struct cebus_scratch *stack = &lineage->stack, *list = &lineage->list;
    *out = (cebus_replay){0};
    stack->count = list->count = 0;
    if (cebus_value_is_present(target))
        return CEBUS_OK;
    if (target->producer == NULL)
        return CEBUS_NOT_REPLAYABLE;
    uint64_t listed = ++lineage->epoch;
    cebus_status status = CEBUS_OK;
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
    *out = (cebus_replay){.calls = (cebus_call **)list->items, .count = list->count};
    return CEBUS_OK;
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
