#include "layout/window_queue.h"

void cebus_queue_begin(cebus_queue *queue, cebus_tables *tables, cebus_table *table, uint64_t now)
{
    *queue = (cebus_queue){tables, table, cebus_tables_time(tables, now), 0, 0};
    cebus_table_scratch *scratch = &tables->scratch;
    float t = cebus_bound_time(queue->t);
    scratch->search++;
    for (uint32_t g = 0; g < tables->groups; g += CEBUS_GROUP) {
        cebus_bounds_value(&table->groups[g / CEBUS_GROUP], t, &scratch->groups[g]);
        scratch->tops[g / CEBUS_GROUP] = cebus_most_of_group(&scratch->groups[g]);
    }
}

static float *lines_of(const cebus_table_scratch *scratch, uint32_t chunk)
{
    return &scratch->lines[(size_t)chunk * CEBUS_CHUNK_MAX];
}

/** A group counts as much as the likeliest of its chunks, a group of groups as its likeliest. */
static void count_group(cebus_table_scratch *scratch, uint32_t group)
{
    uint32_t above = group / CEBUS_GROUP;
    scratch->groups[group] = cebus_most_of_group(&scratch->chunks[(size_t)group * CEBUS_GROUP]);
    scratch->tops[above] = cebus_most_of_group(&scratch->groups[above * CEBUS_GROUP]);
}

static void count_chunk(cebus_table_scratch *scratch, uint32_t chunk)
{
    scratch->chunks[chunk] = cebus_most_of_chunk(lines_of(scratch, chunk));
    count_group(scratch, chunk / CEBUS_GROUP);
}

static void open_group(cebus_queue *queue, uint32_t group)
{
    cebus_table_scratch *scratch = &queue->tables->scratch;
    scratch->group_opened_by[group] = scratch->search;
    scratch->opened_groups[queue->groups++] = (cebus_opened){group, scratch->groups[group]};
    cebus_bounds_value(&queue->table->chunks[group], cebus_bound_time(queue->t),
                       &scratch->chunks[(size_t)group * CEBUS_GROUP]);
    count_group(scratch, group);
}

static void open_chunk(cebus_queue *queue, uint32_t chunk)
{
    cebus_table_scratch *scratch = &queue->tables->scratch;
    scratch->chunk_opened_by[chunk] = scratch->search;
    scratch->opened_chunks[queue->chunks++] = (cebus_opened){chunk, scratch->chunks[chunk]};
    cebus_lines_value(&queue->table->lines[chunk], cebus_bound_time(queue->t),
                      lines_of(scratch, chunk));
    count_chunk(scratch, chunk);
}

static uint32_t likeliest_group(const cebus_queue *queue)
{
    const cebus_table_scratch *scratch = &queue->tables->scratch;
    uint32_t best = 0;
    for (uint32_t i = 1; i * CEBUS_GROUP < queue->tables->groups; i++)
        best = scratch->tops[i] > scratch->tops[best] ? i : best;
    best *= CEBUS_GROUP;
    return best + cebus_place_in_group(&scratch->groups[best], scratch->tops[best / CEBUS_GROUP]);
}

cebus_seat cebus_queue_next(cebus_queue *queue, double least)
{
    const cebus_seat none = {CEBUS_CHUNK_NONE, 0};
    cebus_table_scratch *scratch = &queue->tables->scratch;
    if (queue->tables->groups == 0)
        return none;
    for (;;) {
        uint32_t group = likeliest_group(queue);
        float value = scratch->groups[group];
        if ((double)value < least || value <= 0)
            return none;
        if (scratch->group_opened_by[group] != scratch->search) {
            open_group(queue, group);
            continue;
        }
        uint32_t chunk = group * CEBUS_GROUP;
        chunk += cebus_place_in_group(&scratch->chunks[chunk], value);
        if (cebus_table_is_loose(queue->table, chunk))
            return (cebus_seat){chunk, CEBUS_QUEUE_LOOSE};
        if (scratch->chunk_opened_by[chunk] != scratch->search) {
            open_chunk(queue, chunk);
            continue;
        }
        float *lines = lines_of(scratch, chunk);
        uint32_t place = cebus_place_in_chunk(lines, value);
        lines[place] = 0;
        count_chunk(scratch, chunk);
        return (cebus_seat){chunk, place};
    }
}

void cebus_queue_end(cebus_queue *queue)
{
    const cebus_table_scratch *scratch = &queue->tables->scratch;
    for (uint32_t i = 0; i < queue->chunks; i++)
        cebus_table_tighten_chunk(queue->table, scratch->opened_chunks[i], queue->t);
    for (uint32_t i = 0; i < queue->groups; i++)
        cebus_table_tighten_group(queue->table, scratch->opened_groups[i], queue->t);
}
