#include "evict/planner/picks.h"

void cebus_picks_deinit(cebus_picks *picks, cebus_pool *pool)
{
    cebus_pool_free_object(pool, picks->items, picks->capacity * sizeof *picks->items);
    *picks = (cebus_picks){0};
}

static bool is_before(const cebus_pick *a, const cebus_pick *b)
{
    return a->score < b->score || (a->score == b->score && a->order < b->order);
}

bool cebus_picks_push(cebus_picks *picks, cebus_pool *pool, cebus_pick pick)
{
    void *items = picks->items;
    if (!cebus_pool_grow(pool, &items, &picks->capacity, picks->count, sizeof pick))
        return false;
    cebus_pick *heap = picks->items = items;
    size_t i = picks->count++;
    for (; i > 0 && is_before(&pick, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = pick;
    return true;
}

cebus_pick cebus_picks_pop(cebus_picks *picks)
{
    cebus_pick *heap = picks->items, top = heap[0], last = heap[--picks->count];
    size_t i = 0;
    for (size_t child = 1; child < picks->count; child = 2 * i + 1) {
        if (child + 1 < picks->count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &last))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}
