#include "eager/hint.h"

#include "eager/capture/hooks.h"
#include "eager/guidance/guidance.h"
#include "eager/storage.h"
#include "eager/tensor.h"

enum {
    DEEPEST = 64
};

/** The scopes that the thread is in, the innermost last. */
static _Thread_local uint8_t scopes[DEEPEST];
static _Thread_local size_t depth;

static cebus_status check(cebus_hint hint, const char *op)
{
    if ((int)hint >= CEBUS_HINT_NONE && hint < CEBUS_HINT_COUNT)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%d is no hint: see cebus_hint", (int)hint);
}

cebus_status cebus_hint_push(cebus_hint hint)
{
    static const char op[] = "hint_push";
    cebus_status status = check(hint, op);
    if (status != CEBUS_OK)
        return status;
    if (depth == DEEPEST)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "%d scopes lie within each other: cebus_hint_pop() at the end of each",
                          DEEPEST);
    scopes[depth++] = (uint8_t)hint;
    return CEBUS_OK;
}

cebus_status cebus_hint_pop(void)
{
    if (depth == 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "hint_pop", "the thread is in no scope");
    depth--;
    return CEBUS_OK;
}

cebus_hint cebus_hint_current(void)
{
    return depth > 0 ? (cebus_hint)scopes[depth - 1] : CEBUS_HINT_NONE;
}

/** Debugging: any hint, drawn. */
static uint8_t draw(cebus_runtime *rt)
{
    rt->chaos = rt->chaos * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint8_t)((rt->chaos >> 33) % CEBUS_HINT_COUNT);
}

uint8_t cebus_hint_for(cebus_runtime *rt, uint8_t former)
{
    if (rt->debug & CEBUS_DEBUG_HINTS)
        return draw(rt);
    return depth > 0 ? scopes[depth - 1] : former;
}

void cebus_hint_let_go(cebus_runtime *rt, cebus_candidate *candidate)
{
    const cebus_value *value = &candidate->value;
    /* What a backward has brought back its next steps may read, too. */
    if (candidate->hint != CEBUS_HINT_MUST_RECOMPUTE || rt->walk != NULL || value->holders < 2 ||
        candidate->gradient || (rt->capture != NULL && cebus_capture_is_explicit(rt)) ||
        rt->policy->unit == CEBUS_UNIT_NONE || !cebus_candidate_is_evictable(candidate) ||
        cebus_guidance_keeps(rt, candidate))
        return;
    rt->stats.eager_drops++;
    cebus_candidate_drop(rt, candidate);
}

cebus_status cebus_tensor_set_hint(cebus_tensor *tensor, cebus_hint hint)
{
    static const char op[] = "set_hint";
    cebus_status status = check(hint, op);
    if (status == CEBUS_OK)
        status = cebus_tensor_lock(tensor, op);
    if (status != CEBUS_OK)
        return status;
    cebus_candidate *now = tensor->storage->now;
    now->hint = (uint8_t)hint;
    if (now->block != NULL)
        cebus_candidate_lodge(&tensor->rt->arena, now, now->block);
    cebus_runtime_unlock(tensor->rt);
    return CEBUS_OK;
}

cebus_hint cebus_tensor_hint(const cebus_tensor *tensor)
{
    cebus_runtime_lock_always(tensor->rt);
    cebus_hint hint = (cebus_hint)tensor->storage->now->hint;
    cebus_runtime_unlock(tensor->rt);
    return hint;
}
