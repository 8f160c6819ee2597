#include "layout/window_event.h"

#include <string.h>

/** So many blocks on either side of noted ones are looked at; a run that reaches farther counts as
 * long enough. */
#define REACH 24
/** Noted blocks of a chunk that have no more between them are told together, up to so many. */
#define APART 3
#define TOGETHER 16
#define MOST (TOGETHER + 2 * REACH)
_Static_assert(MOST <= 64, "a bit for each");

/** Noted blocks of one chunk and what lies around them, in address order, up to walls. */
typedef struct scene {
    cebus_window_search *search;
    double t, now; /**< the tables' time; that of ticks */
    uint32_t count;
    uint32_t first, last;   /**< the noted ones, and what is between them */
    bool cut_low, cut_high; /**< there is more than the reach */
    uint64_t walls, holes;  /**< bits */
    cebus_seat at[MOST];
    double price[MOST], slope[MOST];
    uint64_t bytes[MOST + 1]; /**< of those before each */
} scene;

static cebus_seat seat_before(const cebus_chunks *chunks, cebus_seat at)
{
    if (at.place > 0)
        return (cebus_seat){at.chunk, at.place - 1};
    uint32_t before = chunks->at[at.chunk].prev;
    return before == CEBUS_CHUNK_NONE ? (cebus_seat){before, 0}
                                      : (cebus_seat){before, chunks->at[before].count - 1};
}

static bool is_wall(const cebus_chunks *chunks, cebus_seat at)
{
    return at.chunk == CEBUS_CHUNK_NONE || (chunks->at[at.chunk].walls >> at.place & 1) != 0;
}

/** The lowest block of the scene: down from a noted one, as far as `bytes`. */
static cebus_seat go_down(scene *s, cebus_seat at, uint64_t bytes)
{
    const cebus_chunks *chunks = &s->search->index->chunks;
    uint64_t passed = 0;
    s->first = 0;
    s->cut_low = false;
    for (cebus_seat below; passed < bytes; at = below, s->first++) {
        below = seat_before(chunks, at);
        if (is_wall(chunks, below))
            break;
        s->cut_low = s->first == REACH;
        if (s->cut_low)
            break;
        passed += chunks->at[below.chunk].bytes[below.place];
    }
    return at;
}

/** Of the blocks from a seat on in its chunk, at most `limit`, those up to a wall that are the
 * first to have `bytes`. */
static uint32_t count_up(const cebus_chunk *chunk, uint32_t place, uint32_t limit, uint64_t bytes)
{
    uint32_t n = 0, end = chunk->count - place;
    uint64_t passed = 0;
    for (end = end < limit ? end : limit; n < end && passed < bytes; n++) {
        if ((chunk->walls >> (place + n) & 1) != 0)
            break;
        passed += chunk->bytes[place + n];
    }
    return n;
}

/** Adds n blocks of a chunk; answers the seat after them. */
static cebus_seat add_blocks(scene *s, cebus_seat at, uint32_t n)
{
    const cebus_chunk *chunk = &s->search->index->chunks.at[at.chunk];
    uint64_t bits = (UINT64_C(1) << n) - 1;
    uint32_t from = s->count;
    s->walls |= (chunk->walls >> at.place & bits) << from;
    s->holes |= (chunk->holes >> at.place & bits) << from;
    for (uint32_t i = 0; i < n; i++) {
        s->at[from + i] = (cebus_seat){at.chunk, at.place + i};
        s->bytes[from + i + 1] = s->bytes[from + i] + chunk->bytes[at.place + i];
    }
    for (uint32_t i = 0; i < n; i++)
        cebus_chunk_price(chunk, at.place + i, s->now, &s->price[from + i], &s->slope[from + i]);
    s->count += n;
    return at.place + n < chunk->count ? (cebus_seat){at.chunk, at.place + n}
                                       : (cebus_seat){chunk->next, 0};
}

/** The blocks from one place to another of a chunk, and those around them as far as `bytes`. */
static void set_scene(scene *s, uint32_t id, uint32_t from, uint32_t to, uint64_t bytes)
{
    const cebus_chunks *chunks = &s->search->index->chunks;
    cebus_seat at = go_down(s, (cebus_seat){id, from}, bytes);
    s->last = s->first + to - from;
    s->count = 0;
    s->walls = s->holes = 0;
    s->bytes[0] = 0;
    while (s->count <= s->last) {
        uint32_t left = s->last + 1 - s->count, n = chunks->at[at.chunk].count - at.place;
        at = add_blocks(s, at, n < left ? n : left);
    }
    uint64_t reached = s->bytes[s->count] + bytes;
    uint32_t most = s->count + REACH;
    while (s->count < most && s->bytes[s->count] < reached && !is_wall(chunks, at)) {
        uint32_t n = count_up(&chunks->at[at.chunk], at.place, most - s->count,
                              reached - s->bytes[s->count]);
        at = add_blocks(s, at, n);
    }
    s->cut_high = s->bytes[s->count] < reached && !is_wall(chunks, at);
}

/** What is told the tables, from the highest start down: by table, they are in the order of their
 * sizes. */
typedef struct telling {
    uint32_t end[CEBUS_TABLES];    /**< the run of the start above ends before this; one more than
                                      there are: it has none */
    int64_t reached[CEBUS_TABLES]; /**< the bytes up to where a run must begin to end earlier */
    double value[CEBUS_TABLES], rise[CEBUS_TABLES]; /**< the greatest in the chunk */
} telling;

/** A run that grows from one table to the next. */
typedef struct growing {
    uint32_t end;
    bool known; /**< the line is that of the run up to there */
    double price, slope;
    cebus_line line;
    double value; /**< of the line, now */
} growing;

/** Works out the line once for all tables whose runs end there. */
static void grow(const scene *s, growing *run, uint32_t end)
{
    for (; run->end < end; run->end++) {
        run->price += s->price[run->end];
        run->slope += s->slope[run->end];
        run->known = false;
    }
    if (run->known)
        return;
    run->known = true;
    run->line = cebus_window_line(s->t, run->price, run->slope);
    run->value = cebus_line_at(&run->line, s->t);
}

static void set_end(const scene *s, telling *told, uint32_t k, uint32_t end)
{
    told->end[k] = end;
    told->reached[k] = (int64_t)(s->bytes[end - 1] - s->search->index->tables.table[k].bytes);
}

/** Where the run ends that starts at a place, or what the scene has of one that leaves it; 0: none,
 * or it need not begin there, or a hole that serves without a search (I4). */
static uint32_t find_end(const scene *s, telling *told, uint32_t k, uint32_t start)
{
    uint64_t bytes = s->search->index->tables.table[k].bytes;
    uint32_t end = told->end[k] - 1;
    if ((int64_t)s->bytes[start] > told->reached[k])
        return end == s->count && s->cut_high ? end : 0;
    while (s->bytes[end - 1] - s->bytes[start] >= bytes)
        end--;
    set_end(s, told, k, end);
    return end > start + 1 || (s->holes >> start & 1) == 0 ? end : 0;
}

/** Tells the tables from one on what starts at a place. */
static void tell_start(const scene *s, telling *told, uint32_t from, uint32_t start)
{
    cebus_tables *tables = &s->search->index->tables;
    growing run = {.end = start};
    for (uint32_t k = from; k < tables->count; k++) {
        uint32_t end = find_end(s, told, k, start);
        if (end == 0) {
            cebus_table_set_line(&tables->table[k], s->at[start], (cebus_line){0, 0});
            continue;
        }
        grow(s, &run, end);
        double rise = (double)run.line.rise;
        cebus_table_set_line(&tables->table[k], s->at[start], run.line);
        told->value[k] = run.value > told->value[k] ? run.value : told->value[k];
        told->rise[k] = rise > told->rise[k] ? rise : told->rise[k];
    }
}

/** No run goes on here. */
static void tell_wall(const scene *s, telling *told, uint32_t from, uint32_t place)
{
    cebus_tables *tables = &s->search->index->tables;
    for (uint32_t k = from; k < tables->count; k++) {
        cebus_table_set_line(&tables->table[k], s->at[place], (cebus_line){0, 0});
        set_end(s, told, k, place + 1);
    }
}

/** Nothing is told yet; `end`: of the first run above the noted blocks. */
static void begin_telling(const scene *s, telling *out)
{
    const cebus_tables *tables = &s->search->index->tables;
    uint32_t end = s->last + 1;
    for (uint32_t k = 0; k < tables->count; k++) {
        while (end <= s->count && s->bytes[end] - s->bytes[s->last + 1] < tables->table[k].bytes)
            end++;
        set_end(s, out, k, end);
        out->value[k] = out->rise[k] = 0;
    }
}

/** Bounds of a chunk hold for what was told of it. */
static void tell_chunk(const scene *s, telling *told, uint32_t chunk)
{
    cebus_tables *tables = &s->search->index->tables;
    for (uint32_t k = 0; k < tables->count; k++) {
        if (told->value[k] > 0)
            cebus_table_raise(&tables->table[k], chunk, s->t, told->value[k], told->rise[k]);
        told->value[k] = told->rise[k] = 0;
    }
}

/** From each start there is one run for each table; those that hold a noted block are told anew. */
static void tell_starts(const scene *s)
{
    const cebus_tables *tables = &s->search->index->tables;
    uint32_t from = 0, chunk = s->at[s->last].chunk;
    telling told;
    begin_telling(s, &told);
    for (uint32_t start = s->last + 1; start-- > 0;) {
        uint64_t between = start < s->first ? s->bytes[s->first] - s->bytes[start] : 0;
        while (from < tables->count && tables->table[from].bytes <= between)
            from++;
        if (from == tables->count)
            break;
        if (s->at[start].chunk != chunk)
            tell_chunk(s, &told, chunk);
        chunk = s->at[start].chunk;
        if ((s->walls >> start & 1) != 0)
            tell_wall(s, &told, from, start);
        else
            tell_start(s, &told, from, start);
    }
    tell_chunk(s, &told, chunk);
}

/** Runs that start below the scene: of those all that is known is what they hold of it. */
static void raise_below(const scene *s, cebus_table *table, const growing *run)
{
    const cebus_chunks *chunks = &s->search->index->chunks;
    cebus_seat at = s->at[s->first];
    uint64_t offset = chunks->at[at.chunk].blocks[at.place]->offset;
    at = seat_before(chunks, s->at[0]);
    for (uint32_t id = at.chunk; id != CEBUS_CHUNK_NONE; id = chunks->at[id].prev) {
        const cebus_chunk *chunk = &chunks->at[id];
        const cebus_block *highest = chunk->blocks[chunk->count - 1];
        if (id != at.chunk && offset - highest->offset - highest->bytes >= table->bytes)
            return;
        cebus_table_raise(table, id, s->t, run->value, (double)run->line.rise);
        cebus_table_set_loose(table, id, true);
    }
}

static void settle_blocks(scene *s, uint32_t id, uint32_t from, uint32_t to)
{
    cebus_tables *tables = &s->search->index->tables;
    s->search->index->count.events++;
    s->search->index->count.raises += tables->count;
    set_scene(s, id, from, to, tables->table[tables->count - 1].bytes);
    tell_starts(s);
    if (!s->cut_low)
        return;
    growing below = {0};
    grow(s, &below, s->first);
    for (uint32_t i = tables->count; i-- > 0 && s->bytes[s->first] < tables->table[i].bytes;)
        raise_below(s, &tables->table[i], &below);
}

static void settle_chunk(scene *s, uint32_t id)
{
    uint32_t bits = s->search->index->chunks.at[id].noted;
    while (bits != 0) {
        uint32_t from = (uint32_t)__builtin_ctz(bits), to = from;
        for (bits &= bits - 1; bits != 0; bits &= bits - 1) {
            uint32_t next = (uint32_t)__builtin_ctz(bits);
            if (next - to > APART + 1 || next - from >= TOGETHER)
                break;
            to = next;
        }
        settle_blocks(s, id, from, to);
    }
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
    const cebus_tables *tables = &search->index->tables;
    scene s;
    s.search = search;
    s.t = cebus_tables_time(tables, search->now);
    s.now = cebus_time_after(search->now);
    for (uint32_t id = chunks->noted; id != CEBUS_CHUNK_NONE; id = chunks->at[id].next_noted)
        read_noted(search, &chunks->at[id]);
    uint32_t id;
    while ((id = cebus_chunks_next_noted(chunks)) != CEBUS_CHUNK_NONE) {
        if (tables->count > 0)
            settle_chunk(&s, id);
        chunks->at[id].noted = 0;
    }
}
