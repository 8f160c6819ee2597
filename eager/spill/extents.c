#include "eager/spill/extents.h"

#include "eager/spill/file.h"

bool cebus_extents_init(cebus_extents *extents, uint64_t budget, cebus_pool *pool)
{
    cebus_arena_setup setup = {
        .layout = cebus_layout_find("best-fit"),
        .limit = budget,
        .alignment = CEBUS_SPILL_ALIGNMENT,
    };
    return cebus_arena_open(&extents->arena, &setup, pool) == CEBUS_PLACED;
}

void cebus_extents_deinit(cebus_extents *extents)
{
    cebus_arena_deinit(&extents->arena);
}

cebus_block *cebus_extents_take(cebus_extents *extents, uint64_t bytes)
{
    cebus_block *extent;
    if (cebus_arena_place(&extents->arena, bytes, CEBUS_ZONE_CHEAP, &extent) != CEBUS_PLACED)
        return NULL;
    return extent;
}

void cebus_extents_give_back(cebus_extents *extents, cebus_block *extent)
{
    cebus_arena_release(&extents->arena, extent);
}
