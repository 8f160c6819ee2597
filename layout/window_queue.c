#include "layout/window_queue.h"

#include "layout/window_chunk.h"

void cebus_queue_begin(cebus_queue *queue, cebus_tables *tables, cebus_table *table, uint64_t now)
{
    *queue = (cebus_queue){tables, table, cebus_table_time(table, now), 0};
    cebus_table_scratch *scratch = &tables->scratch;
    scratch->search++;
    for (uint32_t g = 0; g < tables->groups; g += CEBUS_GROUP) {
        cebus_bounds_value(&table->groups[g / CEBUS_GROUP], queue->t, &scratch->groups[g]);
        scratch->tops[g / CEBUS_GROUP] = cebus_bounds_most(&scratch->groups[g]);
    }
}

static uint32_t place_of(const double *terms, double value)
{
    uint32_t place = 0;
    while (terms[place] != value)
        place++;
    return place;
}

/** A group counts as much as the likeliest of its chunks, a group of groups as its likeliest. */
static void count_anew(cebus_table_scratch *scratch, uint32_t group)
{
    uint32_t above = group / CEBUS_GROUP;
    scratch->groups[group] = cebus_bounds_most(&scratch->chunks[(size_t)group * CEBUS_GROUP]);
    scratch->tops[above] = cebus_bounds_most(&scratch->groups[above * CEBUS_GROUP]);
}

static void open_group(cebus_queue *queue, uint32_t group)
{
    cebus_table_scratch *scratch = &queue->tables->scratch;
    scratch->opened_by[group] = scratch->search;
    scratch->opened[queue->opened++] = group;
    cebus_bounds_value(&queue->table->chunks[group], queue->t,
                       &scratch->chunks[(size_t)group * CEBUS_GROUP]);
    count_anew(scratch, group);
}

static uint32_t likeliest_group(const cebus_queue *queue)
{
    const cebus_table_scratch *scratch = &queue->tables->scratch;
    uint32_t best = 0;
    for (uint32_t i = 1; i * CEBUS_GROUP < queue->tables->groups; i++)
        best = scratch->tops[i] > scratch->tops[best] ? i : best;
    best *= CEBUS_GROUP;
    return best + place_of(&scratch->groups[best], scratch->tops[best / CEBUS_GROUP]);
}

uint32_t cebus_queue_next(cebus_queue *queue, double least)
{
    cebus_table_scratch *scratch = &queue->tables->scratch;
    if (queue->tables->groups == 0)
        return CEBUS_CHUNK_NONE;
    for (;;) {
        uint32_t group = likeliest_group(queue);
        double value = scratch->groups[group];
        if (value < least || value <= 0)
            return CEBUS_CHUNK_NONE;
        if (scratch->opened_by[group] != scratch->search) {
            open_group(queue, group);
            continue;
        }
        double *chunks = &scratch->chunks[(size_t)group * CEBUS_GROUP];
        uint32_t place = place_of(chunks, value);
        chunks[place] = 0;
        count_anew(scratch, group);
        return group * CEBUS_GROUP + place;
    }
}

void cebus_queue_end(cebus_queue *queue)
{
    for (uint32_t i = 0; i < queue->opened; i++)
        cebus_table_tighten(queue->table, queue->tables->scratch.opened[i], queue->t);
}
