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
    uint32_t lowest[MOST]; /**< of the scene in the same chunk */
    double price[MOST], slope[MOST];
    uint64_t bytes[MOST + 1]; /**< of those before each */
    /** Of the run that was last asked for, by where it starts. */
    uint32_t end[MOST]; /**< the block after it; 0: none was */
    cebus_line line[MOST];
    double value[MOST]; /**< now */
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
        s->lowest[from + i] = from;
        s->end[from + i] = 0;
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

/** Works out the line of a run; most tables want the same. */
static void price_run(scene *s, uint32_t start, uint32_t end)
{
    double price = 0, slope = 0;
    if (s->end[start] == end)
        return;
    for (uint32_t i = start; i < end; i++) {
        price += s->price[i];
        slope += s->slope[i];
    }
    s->end[start] = end;
    s->line[start] = cebus_window_line(s->t, price, slope);
    s->value[start] = cebus_line_at(&s->line[start], s->t);
}

/** What is told a table, from the highest start down. */
typedef struct telling {
    cebus_table *table;
    uint32_t end;       /**< the run of the start above ends before this; one more than there are:
                           it has none */
    int64_t reached;    /**< the bytes up to where a run must begin to end earlier */
    double value, rise; /**< the greatest of the runs that start in the chunk */
} telling;

static void tell_line(scene *s, telling *told, uint32_t start, uint32_t end)
{
    price_run(s, start, end);
    cebus_line line = s->line[start];
    cebus_table_set_line(told->table, s->at[start], line);
    told->value = s->value[start] > told->value ? s->value[start] : told->value;
    told->rise = (double)line.rise > told->rise ? (double)line.rise : told->rise;
}

static void set_end(const scene *s, telling *told, uint32_t end)
{
    told->end = end;
    told->reached = (int64_t)(s->bytes[end - 1] - told->table->bytes);
}

/** The run ends earlier than that of the start above, so it is minimal. */
static void tell_run(scene *s, telling *told, uint32_t start)
{
    uint32_t end = told->end - 1;
    while (s->bytes[end - 1] - s->bytes[start] >= told->table->bytes)
        end--;
    set_end(s, told, end);
    if (end > start + 1 || (s->holes >> start & 1) == 0) /* else served without a search (I4) */
        tell_line(s, told, start, end);
}

/** Starts from one down to another, of one chunk. */
static void tell_chunk(scene *s, telling *told, uint32_t start, uint32_t least)
{
    cebus_seat at = s->at[least];
    memset(&told->table->lines[at.chunk].at[at.place], 0, (start + 1 - least) * sizeof(cebus_line));
    told->value = told->rise = 0;
    for (uint32_t i = start + 1; i-- > least;) {
        if ((s->walls >> i & 1) != 0)
            set_end(s, told, i + 1);
        else if ((int64_t)s->bytes[i] <= told->reached)
            tell_run(s, told, i);
        else if (told->end > s->count && s->cut_high)
            tell_line(s, told, i, s->count);
    }
    if (told->value > 0)
        cebus_table_raise(told->table, at.chunk, s->t, told->value, told->rise);
}

/** From each start there is one run; those that hold a noted block are told anew: starts from
 * `least` up. `end`: of the first run above them. */
static void tell_table(scene *s, cebus_table *table, uint32_t least, uint32_t end)
{
    telling told = {.table = table};
    set_end(s, &told, end);
    for (uint32_t start = s->last;; start--) {
        uint32_t lowest = s->lowest[start] > least ? s->lowest[start] : least;
        tell_chunk(s, &told, start, lowest);
        start = lowest;
        if (start == least)
            return;
    }
}

/** Runs that start below the scene: of those all that is known is what they hold of it. */
static void raise_below(scene *s, cebus_table *table)
{
    const cebus_chunks *chunks = &s->search->index->chunks;
    cebus_seat at = s->at[s->first];
    uint64_t offset = chunks->at[at.chunk].blocks[at.place]->offset;
    price_run(s, 0, s->first);
    at = seat_before(chunks, s->at[0]);
    for (uint32_t id = at.chunk; id != CEBUS_CHUNK_NONE; id = chunks->at[id].prev) {
        const cebus_chunk *chunk = &chunks->at[id];
        const cebus_block *highest = chunk->blocks[chunk->count - 1];
        if (id != at.chunk && offset - highest->offset - highest->bytes >= table->bytes)
            return;
        cebus_table_raise(table, id, s->t, s->value[0], (double)s->line[0].rise);
        cebus_table_set_loose(table, id, true);
    }
}

static void settle_blocks(scene *s, uint32_t id, uint32_t from, uint32_t to)
{
    cebus_tables *tables = &s->search->index->tables;
    s->search->index->count.events++;
    s->search->index->count.raises += tables->count;
    set_scene(s, id, from, to, tables->table[tables->count - 1].bytes);
    uint32_t end = s->last + 1, least = s->first;
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_table *table = &tables->table[i];
        while (end <= s->count && s->bytes[end] - s->bytes[s->last + 1] < table->bytes)
            end++;
        while (least > 0 && s->bytes[s->first] - s->bytes[least] < table->bytes)
            least--;
        tell_table(s, table, least, end);
        if (s->cut_low && s->bytes[s->first] < table->bytes)
            raise_below(s, table);
    }
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
