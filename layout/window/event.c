#include "layout/window/event.h"

#include "layout/clones.h"

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

static cebus_seat seat_below(const cebus_chunks *chunks, cebus_seat at)
{
    if (at.chunk == CEBUS_CHUNK_NONE || at.place > 0)
        return (cebus_seat){at.chunk, at.place - 1};
    uint32_t before = chunks->at[at.chunk].prev;
    return (cebus_seat){before, before != CEBUS_CHUNK_NONE ? chunks->at[before].count - 1 : 0};
}

static cebus_seat seat_above(const cebus_chunks *chunks, cebus_seat at)
{
    if (at.chunk == CEBUS_CHUNK_NONE || at.place + 1 < chunks->at[at.chunk].count)
        return (cebus_seat){at.chunk, at.place + 1};
    return (cebus_seat){chunks->at[at.chunk].next, 0};
}

static part below(const cebus_chunks *chunks, cebus_seat at)
{
    return part_at(chunks, seat_below(chunks, at));
}

static part above(const cebus_chunks *chunks, cebus_seat at)
{
    return part_at(chunks, seat_above(chunks, at));
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

static void tell_table(const event *e, cebus_table *table)
{
    around run = {e->low, e->high, time_of(&e->self, table->level)};
    go_around(e, table->bytes, table->level, &run);
    cebus_table_expect(table, e->self.at.chunk, run.time - e->epoch);
    if (may_begin_below(e, table))
        tell_chunks_below(e, table, time_below(e, table->level, &run) - e->epoch);
}

static void tell_tables(event *e, cebus_tables *tables, cebus_seat at, uint32_t told)
{
    e->self = part_at(e->chunks, at);
    e->low = below(e->chunks, at);
    e->high = above(e->chunks, at);
    for (; told != 0; told &= told - 1)
        tell_table(e, &tables->table[__builtin_ctz(told)]);
}

/* All tables at once: most of them know of nothing new. */

/** What vectors need of a block. */
typedef struct brief {
    float since, heavy;
} brief;

/** A block, and two on either side. */
typedef struct scene {
    brief self, low, lower, high, higher;
    uint64_t own, with_low, with_high; /**< bytes of it, and of one beside it, too */
} scene;

/** What a change means to each table, a bit or a time for each. */
typedef struct verdict {
    uint32_t served;           /**< the block alone is enough */
    uint32_t sooner;           /**< its windows are, than the chunk is due */
    float at[CEBUS_TABLES];    /**< when they may be at the level */
    float below[CEBUS_TABLES]; /**< those that hold the block below, too */
} verdict;

CEBUS_CLONE_PART float brief_time(brief one, float level)
{
    float ages = one.heavy * level, t = one.since + ages;
    t = t > 0 ? t : 0;
    return ages > 1 ? t : 0;
}

CEBUS_CLONE_PART float sooner_of(float a, float b)
{
    return a < b ? a : b;
}

CEBUS_CLONE_PART float later_of(float a, float b)
{
    return a > b ? a : b;
}

CEBUS_CLONE_PART int32_t count_up_to(const uint64_t *bytes, uint64_t most)
{
    int32_t count = 0;
    for (int k = 0; k < CEBUS_COLUMNS; k++)
        count += bytes[k] <= most;
    return count;
}

CEBUS_CLONE_PART uint32_t first_bits(uint32_t count)
{
    return (uint32_t)((UINT64_C(1) << count) - 1);
}

/** For CEBUS_COLUMNS tables: a window is at the level when the block is, and where that is not
 * enough one beside it, and where those are not enough one more. Those sooner than `due`, a bit
 * each. */
CEBUS_CLONES static uint32_t judge(const float *restrict level, const uint64_t *restrict bytes,
                                   const float *restrict due, const scene *here,
                                   float *restrict out, float *restrict out_below,
                                   uint32_t *out_served)
{
    const brief self = here->self, low = here->low, lower = here->lower;
    const brief high = here->high, higher = here->higher;
    const int32_t served = count_up_to(bytes, here->own);
    const int32_t by_low = count_up_to(bytes, here->with_low);
    const int32_t by_high = count_up_to(bytes, here->with_high);
    uint32_t sooner = 0;
    for (int32_t k = 0; k < CEBUS_COLUMNS; k++) {
        float alone = brief_time(self, level[k]);
        float l = brief_time(low, level[k]), h = brief_time(high, level[k]);
        float down = later_of(l, sooner_of(brief_time(lower, level[k]), h));
        float up = later_of(h, sooner_of(brief_time(higher, level[k]), l));
        down = k < by_low ? l : down;
        up = k < by_high ? h : up;
        float more = later_of(alone, sooner_of(down, up));
        out[k] = k < served ? alone : more;
        out_below[k] = later_of(l, alone);
    }
    for (int32_t k = 0; k < CEBUS_COLUMNS; k++)
        sooner |= (uint32_t)(out[k] < due[k]) << k;
    *out_served = first_bits((uint32_t)served);
    return sooner;
}

/** The ends of the arena are walls. */
static brief brief_at(const cebus_chunks *chunks, cebus_seat at)
{
    if (at.chunk == CEBUS_CHUNK_NONE)
        return (brief){0, HUGE_VALF};
    return (brief){chunks->at[at.chunk].since[at.place], chunks->at[at.chunk].heavy[at.place]};
}

static uint64_t bytes_at(const cebus_chunks *chunks, cebus_seat at)
{
    return at.chunk != CEBUS_CHUNK_NONE ? chunks->at[at.chunk].bytes[at.place] : 0;
}

static scene look_around(const cebus_chunks *chunks, cebus_seat at)
{
    const cebus_seat low = seat_below(chunks, at), high = seat_above(chunks, at);
    const uint64_t own = bytes_at(chunks, at);
    return (scene){.self = brief_at(chunks, at),
                   .low = brief_at(chunks, low),
                   .lower = brief_at(chunks, seat_below(chunks, low)),
                   .high = brief_at(chunks, high),
                   .higher = brief_at(chunks, seat_above(chunks, high)),
                   .own = own,
                   .with_low = own + bytes_at(chunks, low),
                   .with_high = own + bytes_at(chunks, high)};
}

static void judge_all(const cebus_tables *tables, const cebus_chunks *chunks, cebus_seat at,
                      verdict *out)
{
    const float *due = cebus_tables_row(tables, at.chunk);
    const scene here = look_around(chunks, at);
    out->served = out->sooner = 0;
    for (uint32_t k = 0; k < tables->count; k += CEBUS_COLUMNS) {
        uint32_t served;
        out->sooner |= judge(&tables->level[k], &tables->bytes[k], &due[k], &here, &out->at[k],
                             &out->below[k], &served)
                       << k;
        out->served |= served << k;
    }
    out->sooner &= first_bits(tables->count);
}

/** The tables of which windows may begin in earlier chunks, and sooner than is known there. */
static uint32_t find_sooner_below(const event *e, const cebus_tables *tables, cebus_seat at,
                                  const verdict *all)
{
    const cebus_chunk *chunk = &e->chunks->at[at.chunk];
    uint64_t own = chunk->bytes[at.place], between = e->offset - e->start;
    uint64_t reach = own > between ? own : between;
    uint32_t sooner = 0, k = tables->count;
    if (tables->bytes[k - 1] <= reach || chunk->prev == CEBUS_CHUNK_NONE)
        return 0;
    uint64_t far = e->offset - start_of(e->chunks, chunk->prev);
    const float *due = cebus_tables_row(tables, chunk->prev);
    while (k-- > 0 && tables->bytes[k] > reach)
        sooner |= (uint32_t)(all->below[k] < due[k] || tables->bytes[k] > far) << k;
    return sooner;
}

/** Tells those of some tables for which a time worked out for all is enough; returns the others:
 * there all blocks that were looked at are at the level by now. */
static uint32_t tell_plainly(const event *e, cebus_tables *tables, cebus_seat at, uint32_t some,
                             const verdict *all)
{
    float now = cebus_bound_time(e->now - e->epoch);
    uint32_t others = 0;
    for (; some != 0; some &= some - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(some);
        if ((all->served >> k & 1) != 0 || all->at[k] > now)
            cebus_table_set_due(&tables->table[k], at.chunk, all->at[k]);
        else
            others |= UINT32_C(1) << k;
    }
    return others;
}

/** A hole that serves a size alone is in no window of that size that is searched for (I4). */
static void settle_block(cebus_window_search *search, event *e, cebus_seat at)
{
    cebus_tables *tables = &search->index->tables;
    const cebus_chunk *chunk = &e->chunks->at[at.chunk];
    verdict all;
    if ((chunk->walls >> at.place & 1) != 0)
        return;
    e->offset = chunk->blocks[at.place]->offset;
    e->start = start_of(e->chunks, at.chunk);
    search->index->count.events++;
    search->index->count.raises += tables->count;
    judge_all(tables, e->chunks, at, &all);
    if ((chunk->holes >> at.place & 1) != 0)
        all.sooner &= ~all.served;
    uint32_t others = find_sooner_below(e, tables, at, &all);
    others |= tell_plainly(e, tables, at, all.sooner & ~others, &all);
    if (others != 0)
        tell_tables(e, tables, at, others);
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
