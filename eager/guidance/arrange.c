#include "eager/guidance/arrange.h"

#include "eager/compaction.h"
#include "eager/guidance/carry_out.h"
#include "eager/guidance/fixtures.h"

/** The value of an action that persists and lies elsewhere than that has it, or NULL. */
static cebus_candidate *misplaced(const cebus_guidance *guidance, size_t a)
{
    const cebus_action *action = &guidance->scheme->plan.actions[a];
    if (action->kind != CEBUS_ACTION_SWAP_IN ||
        guidance->scheme->placement.actions[a] == CEBUS_ANYWHERE)
        return NULL;
    cebus_candidate *candidate = cebus_carry_out_bearer(guidance, action->value);
    bool moves = candidate != NULL && candidate->value.resident &&
                 candidate->zone == CEBUS_ZONE_PERSISTENT &&
                 candidate->block->offset != guidance->scheme->placement.actions[a];
    return moves ? candidate : NULL;
}

/** It goes there, if the bytes are free or are so once what may leave does. */
static bool go(cebus_runtime *rt, const cebus_candidate *candidate, uint64_t spot)
{
    return cebus_compaction_shift(rt, candidate->block, spot) ||
           (cebus_guidance_yield_at(rt, spot, candidate->value.bytes) &&
            cebus_compaction_shift(rt, candidate->block, spot));
}

/** Who is in the way moves aside. */
static bool make_way(cebus_runtime *rt, const cebus_candidate *candidate, uint64_t spot)
{
    (void)cebus_compaction_vacate(rt, spot, spot + candidate->block->bytes);
    return cebus_compaction_shift(rt, candidate->block, spot);
}

/** All that can go so; whether any does. */
static bool pass(cebus_runtime *rt, bool aside)
{
    const cebus_guidance *guidance = rt->guidance;
    bool any = false;
    for (size_t a = 0; a < guidance->guide.next && !(aside && any); a++) {
        const cebus_candidate *candidate = misplaced(guidance, a);
        if (candidate == NULL)
            continue;
        const uint64_t spot = guidance->scheme->placement.actions[a];
        any |= aside ? make_way(rt, candidate, spot) : go(rt, candidate, spot);
    }
    return any;
}

void cebus_arrange(cebus_runtime *rt)
{
    const cebus_guidance *guidance = rt->guidance;
    if (guidance->log.at > 0 || guidance->scheme->spots == NULL)
        return;
    if (guidance->scheme->guided == 0)
        cebus_fixtures_restore(rt, guidance->scheme);
    for (size_t i = 0; i <= guidance->guide.next && (pass(rt, false) || pass(rt, true)); i++)
        continue; /* who is to have one place after another goes aside but so often */
    for (size_t a = 0; a < guidance->guide.next; a++) {
        cebus_candidate *candidate = misplaced(guidance, a);
        if (candidate != NULL)
            cebus_carry_out_send_off(rt, candidate);
    }
}
