#include "evict/candidate.h"

#include "evict/wish.h"
#include "layout/window/index.h"

const char *cebus_candidate_reason(const cebus_candidate *candidate)
{
    if (candidate->exports > 0)
        return "its address was handed out (unmap it)";
    if (candidate->value.pins > 0)
        return "in use by the running call";
    if (!cebus_value_is_replayable(&candidate->value))
        return candidate->zone == CEBUS_ZONE_PERSISTENT ? "persistent"
                                                        : "a leaf: nothing recorded can rebuild it";
    if (candidate->value.plan_uses > 0)
        return "needed by the running replay";
    return "evictable";
}

void cebus_candidate_lodge(cebus_arena *arena, cebus_candidate *candidate, cebus_block *block)
{
    int8_t haste = cebus_wish_haste(candidate);
    candidate->block = block;
    block->owner = candidate;
    if (haste > block->haste)
        cebus_window_index_cheaper(arena->index, block);
    block->haste = haste;
}
