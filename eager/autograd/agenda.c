#include "eager/autograd/agenda.h"

bool cebus_agenda_push(cebus_runtime *rt, cebus_agenda *agenda, void *item)
{
    void *items = agenda->items;
    if (!cebus_pool_grow(&rt->pool, &items, &agenda->capacity, agenda->count,
                         sizeof *agenda->items))
        return false;
    agenda->items = items;
    agenda->items[agenda->count++] = item;
    return true;
}

void cebus_agenda_deinit(cebus_runtime *rt, cebus_agenda *agenda)
{
    cebus_pool_free_object(&rt->pool, agenda->items, agenda->capacity * sizeof *agenda->items);
    *agenda = (cebus_agenda){0};
}

static uint64_t sequence(const cebus_agenda *heap, size_t i)
{
    return ((const cebus_node *)heap->items[i])->sequence;
}

static void swap_items(cebus_agenda *heap, size_t i, size_t j)
{
    void *item = heap->items[i];
    heap->items[i] = heap->items[j];
    heap->items[j] = item;
}

bool cebus_agenda_push_node(cebus_runtime *rt, cebus_agenda *heap, cebus_node *node)
{
    if (!cebus_agenda_push(rt, heap, node))
        return false;
    for (size_t i = heap->count - 1; i > 0 && sequence(heap, i) > sequence(heap, (i - 1) / 2);
         i = (i - 1) / 2)
        swap_items(heap, i, (i - 1) / 2);
    return true;
}

cebus_node *cebus_agenda_pop_node(cebus_agenda *heap)
{
    cebus_node *top = heap->items[0];
    heap->items[0] = heap->items[--heap->count];
    for (size_t i = 0;;) {
        size_t best = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < heap->count; child++) {
            if (sequence(heap, child) > sequence(heap, best))
                best = child;
        }
        if (best == i)
            return top;
        swap_items(heap, i, best);
        i = best;
    }
}
