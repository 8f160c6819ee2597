#include "evict/choice/shortlist.h"

static bool goes_before(const cebus_scored *a, const cebus_scored *b)
{
    if (a->score != b->score)
        return a->score < b->score;
    return a->block->offset < b->block->offset;
}

static void swap(cebus_scored *a, cebus_scored *b)
{
    cebus_scored c = *a;
    *a = *b;
    *b = c;
}

static void sink(cebus_scored *heap, size_t count)
{
    for (size_t at = 0, child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && goes_before(&heap[child], &heap[child + 1]))
            child++;
        if (goes_before(&heap[child], &heap[at]))
            return;
        swap(&heap[child], &heap[at]);
    }
}

static void rise(cebus_scored *heap, size_t at)
{
    for (size_t above; at > 0; at = above) {
        above = (at - 1) / 2;
        if (goes_before(&heap[at], &heap[above]))
            return;
        swap(&heap[at], &heap[above]);
    }
}

static void lose(cebus_shortlist *list, cebus_scored loser)
{
    if (list->lost.block == NULL || goes_before(&loser, &list->lost))
        list->lost = loser;
}

void cebus_shortlist_init(cebus_shortlist *list, uint64_t wanted, size_t limit)
{
    list->limit = limit;
    list->wanted = wanted;
    list->count = 0;
    list->bytes = 0;
    list->lost = (cebus_scored){0};
}

cebus_scored cebus_shortlist_pop(cebus_shortlist *list)
{
    cebus_scored last = list->entries[0];
    list->entries[0] = list->entries[--list->count];
    sink(list->entries, list->count);
    list->bytes -= last.block->bytes;
    return last;
}

void cebus_shortlist_offer(cebus_shortlist *list, cebus_scored offered)
{
    bool full = list->count == list->limit || (list->count > 0 && list->bytes >= list->wanted);
    if (full && !goes_before(&offered, &list->entries[0])) {
        lose(list, offered);
        return;
    }
    if (list->count == list->limit)
        lose(list, cebus_shortlist_pop(list));
    list->entries[list->count] = offered;
    rise(list->entries, list->count++);
    list->bytes += offered.block->bytes;
    while (list->count > 1 && list->bytes - list->entries[0].block->bytes >= list->wanted)
        lose(list, cebus_shortlist_pop(list));
}
