#include "lineage/version.h"

/** Pushes the absent outputs of `call`, up to one that somebody holds: that one is *out_held. */
static cebus_status push_absent(cebus_lineage *lineage, const cebus_call *call,
                                cebus_value **out_held)
{
    for (uint32_t i = 0; i < call->n_out; i++) {
        cebus_value *made = call->out[i];
        if (made == NULL || cebus_value_is_present(made))
            continue;
        if (made->holders > 0 || made->parked > 0) {
            *out_held = made;
            return CEBUS_OK;
        }
        if (!cebus_scratch_push(lineage, &lineage->stack, made))
            return CEBUS_OUT_OF_HOST_MEMORY;
    }
    return CEBUS_OK;
}

/**
 * Walks the records that read `leaf`, directly or through absent versions nobody holds; pushes
 * each once onto lineage->list. Stops early at an absent version somebody holds.
 */
static cebus_status walk_readers(cebus_lineage *lineage, cebus_value *leaf, cebus_value **out_held)
{
    struct cebus_scratch *stack = &lineage->stack, *list = &lineage->list;
    uint64_t epoch = ++lineage->epoch;
    *out_held = NULL;
    stack->count = list->count = 0;
    if (!cebus_scratch_push(lineage, stack, leaf))
        return CEBUS_OUT_OF_HOST_MEMORY;
    while (stack->count > 0 && *out_held == NULL) {
        cebus_value *value = stack->items[--stack->count];
        for (cebus_edge *edge = value->consumers; edge && *out_held == NULL; edge = edge->next) {
            if (edge->call->mark == epoch)
                continue;
            edge->call->mark = epoch;
            if (!cebus_scratch_push(lineage, list, edge->call))
                return CEBUS_OUT_OF_HOST_MEMORY;
            cebus_status status = push_absent(lineage, edge->call, out_held);
            if (status != CEBUS_OK)
                return status;
        }
    }
    return CEBUS_OK;
}

cebus_status cebus_version_dependant(cebus_lineage *lineage, cebus_value *leaf,
                                     cebus_value **out_value)
{
    *out_value = NULL;
    if (leaf->consumers == NULL)
        return CEBUS_OK;
    return walk_readers(lineage, leaf, out_value);
}

bool cebus_version_is_missed(cebus_lineage *lineage, cebus_value *value)
{
    cebus_value *held;
    if (value->holders > 0)
        return true;
    return cebus_version_dependant(lineage, value, &held) != CEBUS_OK || held != NULL;
}

cebus_status cebus_version_cut(cebus_lineage *lineage, cebus_value *leaf)
{
    if (leaf->consumers == NULL)
        return CEBUS_OK;
    cebus_value *held;
    cebus_status status = walk_readers(lineage, leaf, &held);
    if (status != CEBUS_OK)
        return status;
    if (held != NULL)
        return CEBUS_NOT_REPLAYABLE;
    struct cebus_scratch *list = &lineage->list;
    for (size_t i = 0; i < list->count; i++)
        cebus_call_retain(list->items[i]);
    for (size_t i = 0; i < list->count; i++)
        cebus_call_forget(lineage, list->items[i]);
    for (size_t i = 0; i < list->count; i++)
        cebus_call_release(lineage, list->items[i]);
    return CEBUS_OK;
}

bool cebus_version_became_ghost(cebus_value *value, uint32_t most)
{
    const cebus_call *call = value->producer;
    uint32_t behind = 0;
    for (uint32_t i = 0; call != NULL && i < call->n_in; i++) {
        const cebus_value *input = call->in[i].value;
        if (input != NULL && input->holders == 0 && input->ghost_depth > behind)
            behind = input->ghost_depth;
    }
    value->ghost_depth = behind + 1;
    return value->ghost_depth > most;
}
