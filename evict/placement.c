#include "evict/placement.h"

void cebus_placement_init(cebus_placement *placement, cebus_pool *pool)
{
    *placement = (cebus_placement){.pool = pool};
}

static void free_offsets(cebus_pool *pool, uint64_t *offsets, size_t n)
{
    cebus_pool_free_object(pool, offsets, n * sizeof *offsets);
}

void cebus_placement_clear(cebus_placement *placement)
{
    free_offsets(placement->pool, placement->values, placement->n_values);
    free_offsets(placement->pool, placement->actions, placement->n_actions);
    free_offsets(placement->pool, placement->workspaces, placement->n_calls);
    free_offsets(placement->pool, placement->scratch, placement->n_actions);
    cebus_pool_free_object(placement->pool, placement->relocations,
                           placement->n_relocations * sizeof *placement->relocations);
    cebus_placement_init(placement, placement->pool);
}

bool cebus_placement_copy(const cebus_placement *from, cebus_placement *to)
{
    cebus_pool *pool = to->pool;
    *to = *from;
    to->pool = pool;
    to->values = cebus_pool_copy(pool, from->values, from->n_values * sizeof *to->values);
    to->actions = cebus_pool_copy(pool, from->actions, from->n_actions * sizeof *to->actions);
    to->workspaces =
        cebus_pool_copy(pool, from->workspaces, from->n_calls * sizeof *to->workspaces);
    to->scratch = cebus_pool_copy(pool, from->scratch, from->n_actions * sizeof *to->scratch);
    to->relocations =
        cebus_pool_copy(pool, from->relocations, from->n_relocations * sizeof *to->relocations);
    bool ok = to->values != NULL && to->actions != NULL && to->workspaces != NULL &&
              to->scratch != NULL && to->relocations != NULL;
    if (!ok)
        cebus_placement_clear(to);
    return ok;
}
