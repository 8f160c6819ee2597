#include "layout/window/event.h"

#include "layout/clones.h"

#include <math.h>
#include <string.h>

/** Chunks beyond the block's own that are looked at; a run that goes on longer counts as long
 * enough. */
#define CHUNKS_ABOVE 4

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

/* All tables at once: most of them know of nothing new. */

/** What vectors need of a block. */
typedef struct brief {
    float since, heavy;
} brief;

#define BETWEEN 2

/** A block, and two on either side. */
typedef struct scene {
    brief self, low, lower, high, higher;
    brief between[BETWEEN]; /**< more of its chunk that windows from earlier ones have; 0: none */
    uint64_t own, with_low, with_high; /**< bytes of it, and of one beside it, too */
} scene;

/** What a change means to each table, a bit or a time for each. */
typedef struct verdict {
    uint32_t served;           /**< the block alone is enough */
    uint32_t sooner;           /**< its windows are, than the chunk is due */
    float at[CEBUS_TABLES];    /**< when they may be at the level */
    float below[CEBUS_TABLES]; /**< those that begin in an earlier chunk */
} verdict;

CEBUS_CLONE_PART float brief_time(brief one, float level)
{
    return cebus_chunk_time(one.since, one.heavy, level);
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
        float all = later_of(l, alone);
        for (int i = 0; i < BETWEEN; i++)
            all = later_of(all, brief_time(here->between[i], level[k]));
        out_below[k] = all;
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

/** What costs nothing, where the chunk has no such block. */
static brief brief_before(const cebus_chunks *chunks, cebus_seat at, uint32_t distance)
{
    if (at.place < distance)
        return (brief){0, 0};
    return brief_at(chunks, (cebus_seat){at.chunk, at.place - distance});
}

/** What changed above it, too, counts as a wall: `others`. */
static cebus_seat seat_above_but(const cebus_chunks *chunks, cebus_seat at, uint32_t others)
{
    if (((uint64_t)others >> (at.place + 1) & 1) != 0)
        return (cebus_seat){CEBUS_CHUNK_NONE, 0};
    return seat_above(chunks, at);
}

static scene look_around(const cebus_chunks *chunks, cebus_seat at, uint32_t others)
{
    const cebus_seat low = seat_below(chunks, at), high = seat_above_but(chunks, at, others);
    const uint64_t own = bytes_at(chunks, at);
    return (scene){.self = brief_at(chunks, at),
                   .low = brief_at(chunks, low),
                   .lower = brief_at(chunks, seat_below(chunks, low)),
                   .high = brief_at(chunks, high),
                   .higher = brief_at(chunks, seat_above(chunks, high)),
                   .between = {brief_before(chunks, at, 2), brief_before(chunks, at, 3)},
                   .own = own,
                   .with_low = own + bytes_at(chunks, low),
                   .with_high = own + bytes_at(chunks, high)};
}

static void judge_all(const cebus_tables *tables, const cebus_chunks *chunks, cebus_seat at,
                      uint32_t others, verdict *out)
{
    const float *due = cebus_tables_row(tables, at.chunk);
    const scene here = look_around(chunks, at, others);
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

/* Those that may: as far as blocks are at the level before a chunk is due. */

/** A block that changed. Windows that hold others above it that did are told with the last of them.
 */
typedef struct event {
    const cebus_chunks *chunks;
    cebus_seat at;
    uint64_t offset, bytes;
    uint32_t others; /**< of its chunk, a bit each */
} event;

/** The blocks of a chunk that are not at the level before `due`, a bit each. */
CEBUS_CLONE_PART uint32_t find_late(const cebus_chunk *chunk, float level, float due)
{
    uint32_t late = 0;
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++) {
        float time = cebus_chunk_time(chunk->since[i], chunk->heavy[i], level);
        late |= (uint32_t)(time >= due) << i;
    }
    return late & first_bits(chunk->count);
}

/** Where the first of those starts, or the chunk ends. */
CEBUS_CLONE_PART uint64_t end_before(const cebus_chunk *chunk, uint32_t late)
{
    if (late != 0)
        return chunk->offset[__builtin_ctz(late)];
    return chunk->offset[chunk->count - 1] + chunk->bytes[chunk->count - 1];
}

/** Where the last of those before a spot ends, or the chunk starts. */
CEBUS_CLONE_PART uint64_t start_after(const cebus_chunk *chunk, uint32_t late, uint32_t place)
{
    uint32_t below = late & first_bits(place);
    return chunk->offset[below != 0 ? 32 - (uint32_t)__builtin_clz(below) : 0];
}

/** Where a run starts that begins in chunk `first`, holds the block and has no late one;
 * UINT64_MAX: there is none. */
CEBUS_CLONE_PART uint64_t start_in(const event *e, uint32_t first, uint32_t late, float level,
                                   float due)
{
    const cebus_chunk *at = e->chunks->at;
    uint32_t id = e->at.chunk, place = e->at.place;
    while (id != first) {
        if ((late & first_bits(place + 1)) != 0)
            return UINT64_MAX;
        id = at[id].prev;
        place = at[id].count - 1;
        late = find_late(&at[id], level, due);
    }
    if ((late >> place & 1) != 0)
        return UINT64_MAX;
    return start_after(&at[id], late, place);
}

/** Does a run from the block on come so far without a late one? */
CEBUS_CLONE_PART bool goes_up_to(const event *e, uint64_t end, uint32_t late, float level,
                                 float due)
{
    const cebus_chunk *at = e->chunks->at, *chunk = &at[e->at.chunk];
    late = (late & ~first_bits(e->at.place + 1)) | e->others;
    for (int i = 0; i <= CHUNKS_ABOVE; i++) {
        if (end_before(chunk, late) >= end)
            return true;
        if (late != 0 || chunk->next == CEBUS_CHUNK_NONE)
            return false;
        chunk = &at[chunk->next];
        late = find_late(chunk, level, due);
    }
    return true;
}

/** The tables, of some, where a window that begins in chunk `first` and holds the block may be at
 * the level before that is due, a bit each; `out_barred`: those where none is since what it must
 * have is not. */
CEBUS_CLONES static uint32_t find_reached(const event *e, const cebus_tables *tables,
                                          uint32_t first, uint32_t some, uint32_t *out_barred)
{
    const float *row = cebus_tables_row(tables, first);
    const cebus_chunk *own = &e->chunks->at[e->at.chunk];
    uint32_t reached = 0, barred = 0;
    for (; some != 0; some &= some - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(some);
        float level = tables->level[k], due = row[k];
        uint32_t late = find_late(own, level, due);
        uint64_t start = start_in(e, first, late, level, due);
        if (start != UINT64_MAX && goes_up_to(e, start + tables->bytes[k], late, level, due))
            reached |= UINT32_C(1) << k;
        barred |= (uint32_t)(start == UINT64_MAX) << k;
    }
    *out_barred = barred;
    return reached;
}

/** When the first blocks of a chunk are all at the level. Times are not below 0, so they are in the
 * order of their bits. */
CEBUS_CLONES static float latest_of(const cebus_chunk *chunk, uint32_t count, float level)
{
    int32_t latest = 0;
    float time;
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++) {
        float t = cebus_chunk_time(chunk->since[i], chunk->heavy[i], level);
        int32_t bits;
        memcpy(&bits, &t, sizeof bits);
        bits = i < count ? bits : 0;
        latest = bits > latest ? bits : latest;
    }
    memcpy(&time, &latest, sizeof time);
    return time;
}

/** When the block is at the level, and all between it and the last of chunk `first`, and that. */
static float time_down_to(const event *e, uint32_t first, float level)
{
    const cebus_chunk *at = e->chunks->at;
    uint32_t id = e->at.chunk, count = e->at.place + 1;
    float time = 0;
    for (; id != first; count = at[id].count) {
        time = later_of(time, latest_of(&at[id], count, level));
        id = at[id].prev;
    }
    return later_of(time, brief_time(brief_at(e->chunks, (cebus_seat){id, count - 1}), level));
}

/* A change. */

static uint64_t start_of(const cebus_chunks *chunks, uint32_t id)
{
    return chunks->at[id].offset[0];
}

/** Of windows that begin in the block's own chunk. A hole that serves a size alone is in no window
 * of that size that is searched for (I4). */
static void tell_chunk(const event *e, cebus_tables *tables, const verdict *all)
{
    const cebus_chunk *chunk = &e->chunks->at[e->at.chunk];
    bool hole = (chunk->holes >> e->at.place & 1) != 0;
    uint32_t sooner = all->sooner & ~all->served, barred;
    if (sooner != 0)
        sooner = find_reached(e, tables, e->at.chunk, sooner, &barred);
    for (sooner |= hole ? 0 : all->sooner & all->served; sooner != 0; sooner &= sooner - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(sooner);
        cebus_table_set_due(&tables->table[k], e->at.chunk, all->at[k]);
    }
}

/** Those that may begin in an earlier chunk, with so many bytes between that and the block, sooner
 * than it is due. */
static uint32_t find_sooner_below(const cebus_tables *tables, uint32_t id, uint64_t between,
                                  const verdict *all)
{
    const float *due = cebus_tables_row(tables, id);
    uint32_t sooner = 0;
    for (uint32_t k = tables->count; k-- > 0 && tables->bytes[k] > between;)
        sooner |= (uint32_t)(all->below[k] < due[k]) << k;
    return sooner;
}

/** Of windows that begin in one earlier chunk: they hold all that lies between. What is found not
 * to be at a level before that chunk is due is not before then for those before it either. */
static void tell_earlier(const event *e, cebus_tables *tables, uint32_t id, uint64_t between,
                         verdict *all)
{
    uint32_t barred = 0, sooner = find_sooner_below(tables, id, between, all);
    if (sooner != 0)
        sooner = find_reached(e, tables, id, sooner, &barred);
    for (; barred != 0; barred &= barred - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(barred);
        all->below[k] = *cebus_table_due(&tables->table[k], id);
    }
    for (; sooner != 0; sooner &= sooner - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(sooner);
        cebus_table_set_due(&tables->table[k], id, time_down_to(e, id, tables->level[k]));
    }
}

static void tell_chunks_below(const event *e, cebus_tables *tables, verdict *all)
{
    const uint64_t longest = tables->bytes[tables->count - 1];
    uint32_t id = e->at.chunk;
    uint64_t between = e->offset - start_of(e->chunks, id);
    between = between > e->bytes ? between : e->bytes;
    while (longest > between && (id = e->chunks->at[id].prev) != CEBUS_CHUNK_NONE) {
        tell_earlier(e, tables, id, between, all);
        uint64_t passed = e->offset - start_of(e->chunks, id);
        between = passed > between ? passed : between;
    }
}

static void settle_block(cebus_window_search *search, cebus_seat at)
{
    cebus_tables *tables = &search->index->tables;
    const cebus_chunks *chunks = &search->index->chunks;
    const cebus_chunk *chunk = &chunks->at[at.chunk];
    if ((chunk->walls >> at.place & 1) != 0)
        return;
    const event e = {chunks, at, chunk->offset[at.place], chunk->bytes[at.place],
                     chunk->news & ~first_bits(at.place + 1)};
    verdict all;
    search->index->count.events++;
    search->index->count.raises += tables->count;
    judge_all(tables, chunks, at, e.others, &all);
    tell_chunk(&e, tables, &all);
    tell_chunks_below(&e, tables, &all);
}

static void settle_chunk(cebus_window_search *search, uint32_t id)
{
    for (uint32_t bits = search->index->chunks.at[id].news; bits != 0; bits &= bits - 1)
        settle_block(search, (cebus_seat){id, (uint32_t)__builtin_ctz(bits)});
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
    for (uint32_t id = chunks->noted; id != CEBUS_CHUNK_NONE; id = chunks->at[id].next_noted)
        read_noted(search, &chunks->at[id]);
    uint32_t id;
    while ((id = cebus_chunks_next_noted(chunks)) != CEBUS_CHUNK_NONE) {
        if (search->index->tables.count > 0)
            settle_chunk(search, id);
        chunks->at[id].noted = chunks->at[id].news = 0;
    }
}
