#include "layout/window/level.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** A level that nothing is at any more is lowered to this part of it. */
#define LOWERED 0.6
/** Above this part of the one before, times when chunks are due cannot be told from one another. */
#define FAR 4.0
/** What costs 0, or 1, is at no level that is not at least so low. */
#define LOWEST_PRICE 0.5

/* Raising. */

static cebus_line line_of(const cebus_hot *hot, uint32_t i)
{
    return (cebus_line){hot->rise[i], hot->zero[i]};
}

/** What hot windows are worth. Floats above 0 are in the order of their bits, and compilers know
 * vectors for integers. */
typedef union worth {
    float value[CEBUS_HOT_MAX];
    int32_t bits[CEBUS_HOT_MAX];
} worth;

static uint32_t count_at(const worth *all, uint32_t count, int32_t bits)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += (uint32_t)(all->bits[i] >= bits);
    return n;
}

static uint32_t most_kept(const cebus_hot *hot)
{
    return hot->room - hot->room / 4;
}

/** What as many of the lines are worth as are kept, at least: from its highest bit to its lowest.
 */
static double worth_of_most(const cebus_hot *hot, double t)
{
    const float now = cebus_bound_time(t);
    worth all;
    int32_t bits = 0;
    float most;
    for (uint32_t i = 0; i < hot->count; i++)
        all.value[i] = hot->rise[i] * (now - hot->zero[i]);
    for (int32_t bit = INT32_C(1) << 30; bit > 0; bit >>= 1) {
        if (count_at(&all, hot->count, bits | bit) >= most_kept(hot))
            bits |= bit;
    }
    memcpy(&most, &bits, sizeof most);
    return (double)most;
}

/** What is below it costs more than `price`. */
static double level_of(uint64_t price)
{
    return price > 0 ? CEBUS_BOUND_SURE / (double)price : CEBUS_LEVEL_MAX;
}

/** How far a table is to know all, and what that takes. */
typedef struct reach {
    double level, strict;
    cebus_window_key known;
} reach;

/** By price alone, so that what is worth `most` is hot. */
static reach reach_of(double most)
{
    double price = most < CEBUS_LEVEL_MAX ? ceil(CEBUS_BOUND_SURE / most) : 0;
    uint64_t whole = price < (double)UINT64_MAX ? (uint64_t)price : UINT64_MAX;
    double level = level_of(whole);
    return (reach){level, level, {whole, UINT64_MAX, UINT64_MAX}};
}

/** Where a hot window starts; false if it is gone. */
static bool find_seat(const cebus_window_search *search, uint32_t i, cebus_seat *out)
{
    *out = cebus_window_seat(search, i);
    return out->place < search->index->chunks.at[out->chunk].count;
}

/** Of those that cost the same. */
static cebus_window_key key_of(const cebus_window_search *search, cebus_seat at, uint64_t price)
{
    const cebus_chunk *chunk = &search->index->chunks.at[at.chunk];
    return (cebus_window_key){price, cebus_window_evicted(search, at),
                              chunk->blocks[at.place]->offset};
}

static int by_key(const void *a, const void *b)
{
    return cebus_window_key_is_less(a, b) ? -1 : (int)cebus_window_key_is_less(b, a);
}

/** What all of a price are is too much: of those between two levels the better ones. */
static void cut_price(const cebus_window_search *search, double t, reach *to)
{
    const cebus_hot *hot = search->table->hot;
    cebus_window_key ties[CEBUS_HOT_MAX];
    uint32_t count = 0, cheaper = 0;
    to->strict = to->known.price > 0 ? level_of(to->known.price - 1) : HUGE_VAL;
    for (uint32_t i = 0; i < hot->count; i++) {
        cebus_line line = line_of(hot, i);
        cebus_seat at;
        double now = cebus_line_at(&line, t);
        cheaper += (uint32_t)(now >= to->strict);
        if (now >= to->level && now < to->strict && find_seat(search, i, &at))
            ties[count++] = key_of(search, at, to->known.price);
    }
    if (count == 0)
        return;
    uint32_t kept = most_kept(hot) > cheaper ? most_kept(hot) - cheaper : 1;
    qsort(ties, count, sizeof *ties, by_key);
    to->known = ties[(kept < count ? kept : count) - 1];
}

static uint32_t count_worth(const cebus_hot *hot, double t, double level)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < hot->count; i++) {
        cebus_line line = line_of(hot, i);
        n += (uint32_t)(cebus_line_at(&line, t) >= level);
    }
    return n;
}

static void raise_level(cebus_window_search *search, double t)
{
    cebus_table *table = search->table;
    reach to = reach_of(worth_of_most(table->hot, t));
    if (count_worth(table->hot, t, to.level) > table->hot->count / 8 * 7)
        cut_price(search, t, &to);
    if (to.level < CEBUS_LEVEL_MIN || !cebus_window_key_is_less(&to.known, &table->known))
        return;
    table->level = to.level;
    table->strict = to.strict;
    table->known = to.known;
    cebus_table_tell_level(&search->index->tables, table);
    for (uint32_t i = table->hot->count; i-- > 0;) {
        cebus_seat at;
        if (!find_seat(search, i, &at) || !cebus_level_keeps(search, at, line_of(table->hot, i)))
            cebus_table_remove_hot(table, i);
    }
}

/* One window. */

bool cebus_level_keeps(cebus_window_search *search, cebus_seat at, cebus_line line)
{
    cebus_table *table = search->table;
    double now = cebus_line_at(&line, cebus_tables_time(&search->index->tables, search->now));
    double needed = table->level;
    if (now >= table->strict)
        return true;
    if (now >= table->level) {
        cebus_window_key key = key_of(search, at, table->known.price);
        if (!cebus_window_key_is_less(&table->known, &key))
            return true;
        needed = table->strict;
    }
    cebus_table_expect_line(table, at.chunk, line, needed);
    return false;
}

bool cebus_level_add(cebus_window_search *search, cebus_seat at, cebus_line line)
{
    cebus_hot *hot = search->table->hot;
    if (!cebus_level_keeps(search, at, line))
        return true;
    if (hot->count == hot->room) {
        raise_level(search, cebus_tables_time(&search->index->tables, search->now));
        if (!cebus_level_keeps(search, at, line))
            return true;
        if (hot->count == hot->room)
            return false;
    }
    uint32_t i = hot->count++;
    hot->rise[i] = line.rise;
    hot->zero[i] = line.zero;
    hot->chunk[i] = at.chunk;
    hot->first[i] = search->index->chunks.at[at.chunk].blocks[at.place];
    hot->place[i] = (uint8_t)at.place;
    hot->in[at.chunk]++;
    return true;
}

/* Lowering. */

/** The oldest tick in the windows of a size that start in a chunk; -HUGE_VAL: maybe one of them is
 * in the future. */
static double oldest_from(const cebus_window_search *search, uint32_t id)
{
    cebus_chunk *at = search->index->chunks.at;
    double oldest = HUGE_VAL, now = cebus_time_before(search->now);
    uint64_t beyond = 0; /* bytes of the chunks after the first */
    for (uint32_t own = id; id != CEBUS_CHUNK_NONE && beyond < search->bytes; id = at[id].next) {
        cebus_chunk_date(&at[id]);
        if (at[id].newest > now)
            return -HUGE_VAL;
        oldest = at[id].oldest < oldest ? at[id].oldest : oldest;
        beyond += id != own ? at[id].total : 0;
    }
    return oldest;
}

/** When windows may be at a part of a level none of which has a tick before `zero`, or is at the
 * level before `due`: up to then their blocks' ages grow by no less a factor than the time since
 * `zero`, so their prices fall by no less. An age counts as 1 at least: hence 1 sooner. */
static float sooner(double zero, double due, double part)
{
    if (zero <= -HUGE_VAL || zero >= due)
        return CEBUS_DUE_NOW;
    return cebus_bound_time_before(zero + part * (due - zero) - 1);
}

void cebus_level_lower(const cebus_window_search *search)
{
    cebus_tables *tables = &search->index->tables;
    cebus_table *table = search->table;
    double level = LOWERED * fmin(table->level, LOWEST_PRICE);
    double part = level / table->strict, epoch = cebus_time_after(tables->epoch);
    search->index->count.falls++;
    if (level < CEBUS_LEVEL_MIN || part * FAR < LOWERED) {
        cebus_table_set_level(tables, table, level);
        return;
    }
    table->level = table->strict = level;
    table->known = (cebus_window_key){cebus_level_price(level), UINT64_MAX, UINT64_MAX};
    cebus_table_tell_level(tables, table);
    for (uint32_t id = 0; id < tables->chunks; id++) {
        float *due = cebus_table_due(table, id);
        if (*due < CEBUS_DUE_NEVER)
            *due = sooner(oldest_from(search, id) - epoch, (double)*due, part);
    }
    for (uint32_t first = 0; first < tables->chunks; first += CEBUS_GROUP)
        cebus_table_regroup(table, first / CEBUS_GROUP);
}
