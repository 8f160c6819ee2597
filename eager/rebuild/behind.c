#include "eager/rebuild/behind.h"

#include "eager/ladder.h"
#include "eager/rebuild/plan.h"

/** The records to be run if all of it goes. They are numbered while they are collected: prices,
 * which say what may go, mark records by epochs of their own. */
typedef struct behind {
    cebus_runtime *rt;
    cebus_call **calls;
    size_t count, capacity;
} behind;

static bool add_call(behind *b, cebus_call *call)
{
    void *calls = b->calls;
    if (call->listed > 0)
        return true;
    if (!cebus_pool_grow(&b->rt->pool, &calls, &b->capacity, b->count, sizeof *b->calls))
        return false;
    b->calls = calls;
    b->calls[b->count++] = call;
    call->listed = b->count;
    return true;
}

/** It is there, need not be, and may be made again. With swaps a leaf, or the gradient of one, may
 * go as well, but only by a copy. */
static bool is_loose(const behind *b, cebus_value *value)
{
    return value != NULL && value->resident &&
           cebus_ladder_may_drop(b->rt, cebus_candidate_of(value));
}

static bool collect(behind *b, const cebus_value *value)
{
    bool ok = add_call(b, value->producer);
    for (size_t k = 0; k < b->count && ok; k++) {
        const cebus_call *call = b->calls[k];
        for (uint32_t i = 0; i < call->n_in && ok; i++) {
            cebus_value *input = call->in[i].value;
            if (input != NULL && (is_loose(b, input) || !cebus_value_is_present(input)))
                ok = add_call(b, input->producer);
        }
    }
    return ok;
}

/** What several records read is asked for again: by then it may be gone. */
static size_t drop_all(behind *b)
{
    size_t dropped = 0;
    for (size_t k = 0; k < b->count; k++) {
        const cebus_call *call = b->calls[k];
        for (uint32_t j = 0; j < call->n_out; j++) {
            if (!is_loose(b, call->out[j]))
                continue;
            cebus_rebuild_drop(b->rt, cebus_candidate_of(call->out[j]));
            dropped++;
        }
    }
    return dropped;
}

size_t cebus_behind_drop(cebus_runtime *rt, const cebus_value *value)
{
    behind b = {.rt = rt};
    bool ok = collect(&b, value);
    for (size_t k = 0; k < b.count; k++)
        b.calls[k]->listed = 0;
    size_t dropped = ok ? drop_all(&b) : 0;
    cebus_pool_free_object(&rt->pool, b.calls, b.capacity * sizeof(cebus_call *));
    return dropped;
}
