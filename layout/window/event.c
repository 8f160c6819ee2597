#include "layout/window/event.h"

#include <math.h>

/** Blocks on each side of a noted one that are looked at; a run that goes on beyond counts as long
 * enough. */
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
    double time; /**< when all of the run's are at the level */
} around;

/** Below, past blocks that are at the level by now, up to so many bytes, or REACH of them. */
static uint64_t go_below(const event *e, uint64_t wanted, double level, part *low)
{
    uint64_t passed = 0;
    for (int i = 0; passed < wanted && time_of(low, level) <= e->now; i++) {
        passed = i < REACH ? passed + low->bytes : wanted;
        *low = below(e->chunks, low->at);
    }
    return passed;
}

static uint64_t go_above(const event *e, uint64_t wanted, double level, part *high)
{
    uint64_t passed = 0;
    for (int i = 0; passed < wanted && time_of(high, level) <= e->now; i++) {
        passed = i < REACH ? passed + high->bytes : wanted;
        *high = above(e->chunks, high->at);
    }
    return passed;
}

/** By one block at least, until it has enough bytes, or the next on both sides are not at the level
 * yet: no window that holds the block is sooner there. */
static void go_around(const event *e, uint64_t bytes, double level, around *run)
{
    uint64_t passed = e->self.bytes;
    if (run->time <= e->now && passed < bytes)
        passed += go_below(e, bytes - passed, level, &run->low);
    if (run->time <= e->now && passed < bytes)
        passed += go_above(e, bytes - passed, level, &run->high);
    if (passed >= bytes)
        return;
    double low = time_of(&run->low, level), high = time_of(&run->high, level);
    double next = low < high ? low : high;
    run->time = next > run->time ? next : run->time;
}

/** When one may be that begins in an earlier chunk. */
static double time_below(const event *e, double level, around *run)
{
    double low = 0;
    while (run->low.at.chunk == e->self.at.chunk && (low = time_of(&run->low, level)) <= e->now)
        run->low = below(e->chunks, run->low.at);
    return low > run->time ? low : run->time;
}

static uint64_t start_of(const cebus_chunks *chunks, uint32_t id)
{
    return chunks->at[id].blocks[0]->offset;
}

/** May a window that holds the block begin in an earlier chunk? It holds all that lies between. */
static bool may_begin_below(const event *e, const cebus_table *table)
{
    return e->self.bytes < table->bytes && e->offset - e->start < table->bytes;
}

static void tell_chunks_below(const event *e, cebus_table *table, double t)
{
    uint32_t id = e->chunks->at[e->self.at.chunk].prev;
    for (uint32_t next; id != CEBUS_CHUNK_NONE; id = next) {
        cebus_table_expect(table, id, t);
        next = e->offset - start_of(e->chunks, id) < table->bytes ? e->chunks->at[id].prev
                                                                  : CEBUS_CHUNK_NONE;
    }
}

/** Mostly the chunk is due sooner anyway than the block is at the level. */
static void tell_table(const event *e, cebus_table *table)
{
    uint32_t id = e->self.at.chunk;
    bool below = may_begin_below(e, table);
    double time = time_of(&e->self, table->level);
    if (!below && time - e->epoch >= (double)table->due[id])
        return;
    around run = {e->low, e->high, time};
    go_around(e, table->bytes, table->level, &run);
    cebus_table_expect(table, id, run.time - e->epoch);
    if (below)
        tell_chunks_below(e, table, time_below(e, table->level, &run) - e->epoch);
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
        cebus_chunk_read(chunk, place, search->index->chunks.epoch);
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
