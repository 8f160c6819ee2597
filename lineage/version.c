#include "lineage/version.h"

/** Somebody is going to read it, or may want to. */
static bool is_kept(const cebus_value *value)
{
    return value->holders > 0 || value->parked > 0;
}

/** Pushes the absent outputs of `call`, up to one that is kept: that one is *out_kept. */
static cebus_status push_absent(cebus_lineage *lineage, const cebus_call *call,
                                cebus_value **out_kept)
{
    for (uint32_t i = 0; i < call->n_out; i++) {
        cebus_value *made = call->out[i];
        if (made == NULL || cebus_value_is_present(made))
            continue;
        if (is_kept(made)) {
            *out_kept = made;
            return CEBUS_OK;
        }
        if (!cebus_scratch_push(lineage, &lineage->stack, made))
            return CEBUS_OUT_OF_HOST_MEMORY;
    }
    return CEBUS_OK;
}

/**
 * Walks the records that read `leaf`, directly or through absent versions that are not kept; pushes
 * each once onto lineage->list. Stops early at an absent version that is.
 */
static cebus_status walk_readers(cebus_lineage *lineage, cebus_value *leaf, cebus_value **out_kept)
{
    struct cebus_scratch *stack = &lineage->stack, *list = &lineage->list;
    lineage->epoch++;
    *out_kept = NULL;
    stack->count = list->count = 0;
    if (!cebus_scratch_push(lineage, stack, leaf))
        return CEBUS_OUT_OF_HOST_MEMORY;
    while (stack->count > 0 && *out_kept == NULL) {
        cebus_value *value = stack->items[--stack->count];
        for (cebus_edge *edge = value->consumers; edge && *out_kept == NULL; edge = edge->next) {
            if (edge->call->mark == lineage->epoch)
                continue;
            edge->call->mark = lineage->epoch;
            if (!cebus_scratch_push(lineage, list, edge->call))
                return CEBUS_OUT_OF_HOST_MEMORY;
            cebus_status status = push_absent(lineage, edge->call, out_kept);
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

/* Who is missed. Calls do not read what is made of their outputs, so counts follow from each other
 * in one direction. They are settled when somebody asks: a version that goes while it is held, and
 * is let go, changes nothing behind it, however long the chain. */

/** Whether it is to be counted among the missed outputs of its record. */
static bool counts(const cebus_value *value)
{
    return value->producer != NULL && !cebus_value_is_present(value) &&
           (value->holders > 0 || value->ahead > 0);
}

/** Linked through the values: that needs no memory, so it cannot fail. */
void cebus_version_changed(cebus_lineage *lineage, cebus_value *value)
{
    if (value->queued || value->counted == counts(value))
        return;
    value->queued = true;
    value->next_queued = lineage->unsettled;
    lineage->unsettled = value;
}

static void count_read(cebus_lineage *lineage, cebus_value *value, bool on)
{
    value->ahead += on ? 1 : -1;
    cebus_version_changed(lineage, value);
}

static void count_output(cebus_lineage *lineage, cebus_value *value, bool on)
{
    cebus_call *call = value->producer;
    if (value->counted == on)
        return;
    value->counted = on;
    call->missed += on ? 1 : -1;
    if (call->missed != on) /* others were, or still are */
        return;
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (call->in[i].value != NULL)
            count_read(lineage, call->in[i].value, on);
    }
}

static void settle(cebus_lineage *lineage)
{
    while (lineage->unsettled != NULL) {
        cebus_value *value = lineage->unsettled;
        lineage->unsettled = value->next_queued;
        value->queued = false;
        count_output(lineage, value, counts(value));
    }
}

bool cebus_version_is_missed(cebus_lineage *lineage, const cebus_value *value)
{
    if (value->holders > 0)
        return true;
    settle(lineage);
    return value->ahead > 0;
}

void cebus_version_uncount(cebus_lineage *lineage, cebus_value *value)
{
    if (value->queued)
        settle(lineage);
    count_output(lineage, value, false);
}

void cebus_version_unread(cebus_lineage *lineage, cebus_value *value)
{
    count_read(lineage, value, false);
}

/** What `call` makes: heirs are listed, other absent versions are on the way. */
static cebus_status list_heirs(cebus_lineage *lineage, const cebus_call *call, cebus_heirs *out)
{
    for (uint32_t i = 0; i < call->n_out; i++) {
        cebus_value *made = call->out[i];
        if (made == NULL || cebus_value_is_present(made))
            continue;
        bool heir = made->holders > 0;
        out->bytes += heir ? made->bytes : 0;
        if (!cebus_scratch_push(lineage, heir ? &lineage->list : &lineage->stack, made))
            return CEBUS_OUT_OF_HOST_MEMORY;
    }
    return CEBUS_OK;
}

cebus_status cebus_version_heirs_of(cebus_lineage *lineage, cebus_value *const *values, size_t n,
                                    uint64_t enough, cebus_heirs *out)
{
    struct cebus_scratch *stack = &lineage->stack, *list = &lineage->list;
    uint64_t epoch = ++lineage->epoch;
    cebus_status status = CEBUS_OK;
    *out = (cebus_heirs){0};
    stack->count = list->count = 0;
    for (size_t i = 0; i < n; i++) {
        if (!cebus_scratch_push(lineage, stack, values[i]))
            return CEBUS_OUT_OF_HOST_MEMORY;
    }
    while (stack->count > 0 && out->bytes < enough && status == CEBUS_OK) {
        const cebus_value *next = stack->items[--stack->count];
        for (cebus_edge *edge = next->consumers; edge && status == CEBUS_OK; edge = edge->next) {
            if (edge->call->mark != epoch)
                status = list_heirs(lineage, edge->call, out);
            edge->call->mark = epoch;
        }
    }
    out->values = (cebus_value **)list->items;
    out->count = list->count;
    return status;
}

cebus_status cebus_version_heirs(cebus_lineage *lineage, cebus_value *value, uint64_t enough,
                                 cebus_heirs *out)
{
    return cebus_version_heirs_of(lineage, &value, 1, enough, out);
}

static bool push_present(cebus_lineage *lineage, const cebus_call *call)
{
    for (uint32_t i = 0; i < call->n_out; i++) {
        cebus_value *made = call->out[i];
        if (made != NULL && cebus_value_is_present(made) &&
            !cebus_scratch_push(lineage, &lineage->stack, made))
            return false;
    }
    return true;
}

cebus_status cebus_version_survivors(cebus_lineage *lineage, cebus_value *leaf, cebus_versions *out)
{
    cebus_value *held;
    *out = (cebus_versions){0};
    if (leaf->consumers == NULL)
        return CEBUS_OK;
    cebus_status status = walk_readers(lineage, leaf, &held);
    lineage->stack.count = 0;
    for (size_t i = 0; i < lineage->list.count && status == CEBUS_OK; i++) {
        if (!push_present(lineage, lineage->list.items[i]))
            status = CEBUS_OUT_OF_HOST_MEMORY;
    }
    out->values = (cebus_value **)lineage->stack.items;
    out->count = status == CEBUS_OK ? lineage->stack.count : 0;
    return status;
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

void cebus_version_hand_over(cebus_value *leaf, cebus_value *copy)
{
    for (cebus_edge *edge = leaf->consumers; edge != NULL; edge = edge->next) {
        edge->value = copy;
        copy->refs++;
        leaf->refs--;
    }
    copy->consumers = leaf->consumers;
    copy->ahead = leaf->ahead;
    leaf->consumers = NULL;
    leaf->ahead = 0;
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
