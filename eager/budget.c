#include "eager/budget.h"

#include <inttypes.h>

#include "eager/compaction.h"
#include "eager/guidance/guidance.h"
#include "eager/ladder.h"
#include "eager/swap/swap.h"
#include "evict/choice/choose.h"
#include "layout/number.h"

/** The least that is taken at once where the arena grows by need; and the part of it: each time
 * costs the driver some calls, and what was taken is nobody else's. */
#define LEAST_GROWTH (UINT64_C(256) << 20)
#define GROWTH_PART 4
/** Where others took memory steps are halved down to so little: the device's libraries want some,
 * too.
 */
#define SMALLEST_GROWTH (UINT64_C(32) << 20)

static cebus_status shrink(cebus_runtime *rt, uint64_t bytes)
{
    if (cebus_arena_resize(&rt->arena, bytes) == CEBUS_PLACED)
        return CEBUS_OK;
    /* Everything must end below the new edge: as much goes as has to, the rest moves down. */
    while (rt->arena.used_bytes > bytes) {
        cebus_chooser chooser = {.policy = rt->policy,
                                 .arena = &rt->arena,
                                 .lineage = &rt->lineage,
                                 .swap = cebus_swap_terms_now(rt),
                                 .now = rt->clock_ns,
                                 .last_resort = true};
        chooser.swap.persistent = cebus_swap_moves_persistent(rt);
        cebus_victims victims = cebus_choose_one(&chooser);
        if (victims.first == NULL) { /* then persistent values go wherever they can */
            chooser.swap.persistent = true;
            victims = cebus_choose_one(&chooser);
        }
        if (victims.first == NULL)
            return cebus_oom_budget(rt, bytes);
        cebus_ladder_evict(rt, &victims);
    }
    cebus_status status = cebus_compaction_run(rt, UINT64_MAX);
    if (status == CEBUS_OK && cebus_arena_resize(&rt->arena, bytes) != CEBUS_PLACED) {
        cebus_ladder_evict_all(rt, true);
        status = cebus_compaction_run(rt, UINT64_MAX);
        if (status == CEBUS_OK && cebus_arena_resize(&rt->arena, bytes) != CEBUS_PLACED)
            status = cebus_oom_budget(rt, bytes);
    }
    return status;
}

static cebus_status grow(cebus_runtime *rt, uint64_t bytes)
{
    uint64_t old = rt->arena.limit;
    if (rt->arena.layout->address_factor == 1) {
        cebus_status status = rt->device_ops->slab_commit(rt->device, rt->base, old, bytes);
        if (status != CEBUS_OK)
            return status;
    }
    if (cebus_arena_resize(&rt->arena, bytes) == CEBUS_PLACED)
        return CEBUS_OK;
    if (rt->arena.layout->address_factor == 1)
        rt->device_ops->slab_decommit(rt->device, rt->base, old, bytes);
    return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, "set_budget",
                      "no host memory for the arena's books");
}

uint64_t cebus_budget_begin(cebus_runtime *rt, uint64_t budget)
{
    rt->growth = rt->info.commits ? budget - budget % rt->info.alignment : 0;
    return rt->growth > LEAST_GROWTH ? LEAST_GROWTH : budget;
}

/** Grows by so many bytes, or by half of them, and so on. As far as it did not get it will not try
 * to get again. */
static void take_step(cebus_runtime *rt, uint64_t more)
{
    const uint64_t limit = rt->arena.limit, unit = rt->info.alignment;
    while (grow(rt, limit + more) != CEBUS_OK) {
        rt->growth = more >= 2 * SMALLEST_GROWTH ? limit + more - unit : 0;
        if (rt->growth == 0)
            return;
        more = more / 2 - more / 2 % unit;
    }
}

void cebus_budget_reach(cebus_runtime *rt, uint64_t bytes)
{
    const uint64_t limit = rt->arena.limit, unit = rt->info.alignment;
    if (bytes <= limit || bytes > rt->growth)
        return;
    uint64_t more = cebus_max_u64(limit / GROWTH_PART, LEAST_GROWTH);
    more = cebus_align_up(cebus_max_u64(more, bytes - limit), unit);
    take_step(rt, cebus_min_u64(more, rt->growth - limit));
    rt->stats.reserved_bytes_current = rt->arena.limit;
}

bool cebus_budget_extend(cebus_runtime *rt, uint64_t bytes)
{
    const uint64_t limit = rt->arena.limit;
    if (rt->growth > limit && bytes <= rt->growth - limit)
        cebus_budget_reach(rt, limit + bytes);
    else if (bytes <= rt->growth)
        cebus_budget_reach(rt, rt->growth);
    return rt->arena.limit > limit;
}

/** Bytes of persistent tensors that lie on the device: a plan may keep some on the host. */
static uint64_t persistent_bytes(const cebus_runtime *rt)
{
    uint64_t bytes = 0;
    for (const cebus_block *block = rt->arena.first; block != NULL; block = block->next) {
        const cebus_candidate *owner = block->state != CEBUS_BLOCK_FREE ? block->owner : NULL;
        if (owner != NULL && owner->zone == CEBUS_ZONE_PERSISTENT && !owner->gradient)
            bytes += block->bytes;
    }
    return bytes;
}

static cebus_status set_budget(cebus_runtime *rt, uint64_t bytes)
{
    uint64_t old = rt->arena.limit;
    if (bytes > rt->most_bytes)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "set_budget",
                          "%" PRIu64 " bytes are more than the device offers (%" PRIu64 ")", bytes,
                          rt->most_bytes);
    bool swaps = !rt->info.simulated && cebus_swap_terms_now(rt).use != CEBUS_SWAP_NEVER;
    if (bytes < rt->stats.active_bytes_persistent && !swaps && bytes < persistent_bytes(rt))
        return cebus_fail(CEBUS_OUT_OF_MEMORY, "set_budget",
                          "%" PRIu64 " bytes are less than the persistent tensors hold "
                          "(%" PRIu64 "); release some or ask for more",
                          bytes, rt->stats.active_bytes_persistent);
    cebus_status status = CEBUS_OK;
    uint64_t moved = rt->stats.moved_bytes;
    if (bytes < old)
        status = shrink(rt, bytes);
    else
        status = grow(rt, bytes);
    if (status != CEBUS_OK)
        return status;
    if (bytes < old && rt->arena.layout->address_factor == 1)
        rt->device_ops->slab_decommit(rt->device, rt->base, rt->arena.limit, old);
    rt->growth = 0;
    rt->stats.reserved_bytes_current = rt->arena.limit;
    cebus_guidance_rebudget(rt, rt->stats.moved_bytes != moved);
    cebus_event_emit(rt, (cebus_event){.kind = CEBUS_EVENT_BUDGET, .bytes = rt->arena.limit});
    return CEBUS_OK;
}

cebus_status cebus_runtime_set_budget(cebus_runtime *rt, uint64_t bytes)
{
    cebus_status status = cebus_runtime_lock(rt, "set_budget");
    if (status != CEBUS_OK)
        return status;
    if (bytes < rt->info.alignment)
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, "set_budget",
                            "a budget of %" PRIu64 " bytes is too small for any tensor: at least "
                            "%" PRIu64,
                            bytes, (uint64_t)rt->info.alignment);
    else /* as the arena rounds it: the device must have committed just what the arena counts on */
        status = set_budget(rt, bytes - bytes % rt->info.alignment);
    cebus_runtime_unlock(rt);
    return status;
}

uint64_t cebus_runtime_budget(const cebus_runtime *rt)
{
    cebus_runtime *locked = (cebus_runtime *)rt; /* only its lock is touched */
    cebus_runtime_lock_always(locked);
    uint64_t budget = cebus_budget_now(rt);
    cebus_runtime_unlock(locked);
    return budget;
}
