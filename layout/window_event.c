#include "layout/window_event.h"

#include <math.h>

/** So many blocks beside a noted one are looked at; a run that goes on counts as long enough. */
#define REACH 64

/** A block, as far as a window that holds it is concerned. */
typedef struct part {
    cebus_seat at;
    double tick, weight; /**< HUGE_VAL: a wall */
    uint64_t bytes;
} part;

static part part_at(const cebus_chunks *chunks, cebus_seat at)
{
    if (at.chunk == CEBUS_CHUNK_NONE || (chunks->at[at.chunk].walls >> at.place & 1) != 0)
        return (part){at, HUGE_VAL, HUGE_VAL, 0};
    const cebus_chunk *chunk = &chunks->at[at.chunk];
    return (part){at, chunk->tick[at.place], chunk->weight[at.place], chunk->bytes[at.place]};
}

static part below(const cebus_chunks *chunks, cebus_seat at)
{
    if (at.place > 0)
        return part_at(chunks, (cebus_seat){at.chunk, at.place - 1});
    uint32_t before = chunks->at[at.chunk].prev;
    uint32_t count = before != CEBUS_CHUNK_NONE ? chunks->at[before].count : 1;
    return part_at(chunks, (cebus_seat){before, count - 1});
}

static part above(const cebus_chunks *chunks, cebus_seat at)
{
    const cebus_chunk *chunk = &chunks->at[at.chunk];
    bool inside = at.place + 1 < chunk->count;
    return part_at(chunks,
                   inside ? (cebus_seat){at.chunk, at.place + 1} : (cebus_seat){chunk->next, 0});
}

static inline double time_of(const part *one, double level)
{
    double ages = one->weight * level;
    return ages > 1 ? one->tick + ages : 0;
}

/** A noted block, and those beside it. */
typedef struct event {
    const cebus_chunks *chunks;
    part self, low, high;
    uint64_t offset, start; /**< of the block, and its chunk */
    double now, epoch;      /**< the time of ticks; where that of tables begins */
} event;

/** A run around the block, and the next blocks. */
typedef struct around {
    part low, high;
    double low_time, high_time; /**< when those get to the level */
    double time;                /**< when all of the run's are there */
} around;

static void take_low(const event *e, double level, around *run)
{
    run->low = below(e->chunks, run->low.at);
    run->low_time = time_of(&run->low, level);
}

static void take_high(const event *e, double level, around *run)
{
    run->high = above(e->chunks, run->high.at);
    run->high_time = time_of(&run->high, level);
}

/** To the side where the next block is sooner, until it has enough bytes, or is not at the level
 * yet, or has many blocks: no window that holds the block is sooner there. */
static around go_around(const event *e, uint64_t bytes, double level)
{
    around run = {e->low, e->high, time_of(&e->low, level), time_of(&e->high, level),
                  time_of(&e->self, level)};
    uint64_t passed = e->self.bytes;
    for (int i = 0; i < REACH && run.time <= e->now && passed < bytes; i++) {
        bool lower = run.low_time < run.high_time;
        double next = lower ? run.low_time : run.high_time;
        run.time = next > run.time ? next : run.time;
        passed += lower ? run.low.bytes : run.high.bytes;
        if (run.time > e->now)
            break;
        if (lower)
            take_low(e, level, &run);
        else
            take_high(e, level, &run);
    }
    return run;
}

/** When one may be that begins in an earlier chunk. */
static double time_below(const event *e, double level, around *run)
{
    while (run->low_time <= e->now && run->low.at.chunk == e->self.at.chunk)
        take_low(e, level, run);
    bool inside = run->low.at.chunk == e->self.at.chunk;
    return inside && run->low_time > run->time ? run->low_time : run->time;
}

static uint64_t start_of(const cebus_chunks *chunks, uint32_t id)
{
    return chunks->at[id].blocks[0]->offset;
}

/** What begins in an earlier chunk holds all that lies between. */
static void tell_table(const event *e, cebus_table *table)
{
    uint32_t id = e->self.at.chunk;
    around run = go_around(e, table->bytes, table->level);
    cebus_table_expect(table, id, run.time - e->epoch);
    if (e->offset - e->start >= table->bytes)
        return;
    double before = time_below(e, table->level, &run) - e->epoch;
    do {
        id = e->chunks->at[id].prev;
        if (id == CEBUS_CHUNK_NONE)
            return;
        cebus_table_expect(table, id, before);
    } while (e->offset - start_of(e->chunks, id) < table->bytes);
}

/** A hole that serves a size alone is in no window of that size that is searched for (I4). */
static void settle_block(cebus_window_search *search, event *e, cebus_seat at)
{
    cebus_tables *tables = &search->index->tables;
    const cebus_chunk *chunk = &e->chunks->at[at.chunk];
    uint32_t k = 0;
    if ((chunk->walls >> at.place & 1) != 0)
        return;
    e->self = part_at(e->chunks, at);
    e->low = below(e->chunks, at);
    e->high = above(e->chunks, at);
    e->offset = chunk->blocks[at.place]->offset;
    e->start = start_of(e->chunks, at.chunk);
    while ((chunk->holes >> at.place & 1) != 0 && k < tables->count &&
           tables->table[k].bytes <= e->self.bytes)
        k++;
    search->index->count.events++;
    search->index->count.raises += tables->count - k;
    for (; k < tables->count; k++)
        tell_table(e, &tables->table[k]);
}

static void settle_chunk(cebus_window_search *search, event *e, uint32_t id)
{
    for (uint32_t bits = search->index->chunks.at[id].noted; bits != 0; bits &= bits - 1)
        settle_block(search, e, (cebus_seat){id, (uint32_t)__builtin_ctz(bits)});
}

static void read_noted(cebus_window_search *search, cebus_chunk *chunk)
{
    for (uint32_t bits = chunk->noted; bits != 0; bits &= bits - 1) {
        uint32_t place = (uint32_t)__builtin_ctz(bits);
        cebus_window_weigh(search, chunk->blocks[place]);
        cebus_chunk_read(chunk, place);
    }
}

void cebus_window_settle(cebus_window_search *search)
{
    cebus_chunks *chunks = &search->index->chunks;
    event e = {.chunks = chunks,
               .now = cebus_time_after(search->now),
               .epoch = cebus_time_after(search->index->tables.epoch)};
    for (uint32_t id = chunks->noted; id != CEBUS_CHUNK_NONE; id = chunks->at[id].next_noted)
        read_noted(search, &chunks->at[id]);
    uint32_t id;
    while ((id = cebus_chunks_next_noted(chunks)) != CEBUS_CHUNK_NONE) {
        if (search->index->tables.count > 0)
            settle_chunk(search, &e, id);
        chunks->at[id].noted = 0;
    }
}
