#include "eager/swap/write_behind.h"

#include "eager/budget.h"
#include "eager/guidance/guidance.h"
#include "eager/ladder.h"
#include "eager/swap/swap.h"

/** So much of the budget should be free, or clean. */
#define MARK_PART 8
/** It is looked at again after so much of the budget was placed. */
#define LOOK_PART 32

static bool is_due(const cebus_runtime *rt, uint64_t mark)
{
    const cebus_swapper *swap = &rt->swap;
    return cebus_budget_now(rt) == rt->arena.limit && swap->budget > 0 &&
           swap->option != CEBUS_SWAP_OFF && !rt->replay.busy &&
           cebus_arena_free_bytes(&rt->arena) < mark &&
           rt->stats.allocated_bytes_allocated - swap->looked >= rt->arena.limit / LOOK_PART &&
           !cebus_guidance_is_planned(rt); /* a plan knows better what goes when */
}

static bool is_worth_it(cebus_runtime *rt, const cebus_candidate *victim)
{
    return victim->method == CEBUS_GO_SWAP && victim->host == NULL && !victim->gradient &&
           victim->zone != CEBUS_ZONE_PERSISTENT && cebus_swap_has_room(rt, victim->value.bytes);
}

void cebus_write_behind_look(cebus_runtime *rt)
{
    uint64_t mark = rt->arena.limit / MARK_PART, idle = cebus_arena_free_bytes(&rt->arena);
    cebus_candidate *victims[CEBUS_SHORTLIST_MAX];
    if (!is_due(rt, mark))
        return;
    rt->swap.looked = rt->stats.allocated_bytes_allocated;
    rt->swap.blocked = false;
    size_t count = cebus_ladder_foresee(rt, mark - idle, victims, CEBUS_SHORTLIST_MAX);
    for (size_t i = 0; i < count && !rt->swap.blocked; i++) {
        if (is_worth_it(rt, victims[i]) && cebus_swap_copy_out(rt, victims[i], false)) {
            rt->stats.copies_ahead++;
            rt->stats.copied_ahead_bytes += victims[i]->value.bytes;
        }
    }
    rt->swap.blocked = false;
}
