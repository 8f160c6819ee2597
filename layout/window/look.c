#include "layout/window/look.h"

#include <math.h>
#include <string.h>

#include "layout/clones.h"
#include "layout/window/early.h"
#include "layout/window/level.h"

/** Sums are differences of sums that may be so many times larger; or else they are added up. */
#define LARGER 1048576.0
/** Windows of more blocks than this are worked out together. */
#define FEW 6
/** What sums may lose of a price. */
#define SURE_PRICE (1 - 1e-6)

/* The windows of a chunk. */

/** The minimal runs that start in a chunk. */
typedef struct runs {
    uint32_t count;
    double price[CEBUS_CHUNK_MAX], slope[CEBUS_CHUNK_MAX];
    uint32_t first[CEBUS_CHUNK_MAX], blocks[CEBUS_CHUNK_MAX];
} runs;

/** Of the chunk's own blocks, and the sums of those before each. */
typedef struct own {
    double price[CEBUS_CHUNK_MAX], slope[CEBUS_CHUNK_MAX];
    double prices[CEBUS_CHUNK_MAX + 1], slopes[CEBUS_CHUNK_MAX + 1];
    uint64_t bytes[CEBUS_CHUNK_MAX + 1];
} own;

CEBUS_CLONES static void price_blocks(const cebus_chunk *chunk, double now, own *restrict out)
{
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++)
        cebus_chunk_price(chunk, i, now, &out->price[i], &out->slope[i]);
}

static void price_own(const cebus_chunk *chunk, double now, own *out)
{
    price_blocks(chunk, now, out);
    out->prices[0] = out->slopes[0] = 0;
    out->bytes[0] = 0;
    for (uint32_t i = 0; i < chunk->count; i++) {
        out->prices[i + 1] = out->prices[i] + out->price[i];
        out->slopes[i + 1] = out->slopes[i] + out->slope[i];
        out->bytes[i + 1] = out->bytes[i] + chunk->bytes[i];
    }
}

static double add_up(const double *terms, uint32_t from, uint32_t to)
{
    double sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum += terms[i];
    return sum;
}

/** Of [from, to). What was subtracted must not have been much more. */
static inline double sum_of(const double *sums, const double *terms, uint32_t from, uint32_t to)
{
    double sum = sums[to] - sums[from];
    return sum * LARGER >= sums[to] ? sum : add_up(terms, from, to);
}

static inline void add_run(runs *out, const own *mine, uint32_t first, uint32_t end)
{
    uint32_t i = out->count++;
    out->price[i] = sum_of(mine->prices, mine->price, first, end);
    out->slope[i] = sum_of(mine->slopes, mine->slope, first, end);
    out->first[i] = first;
    out->blocks[i] = end - first;
}

/** Those that end in the chunk. Answers the first block whose runs do not; `count` where no run
 * leaves the chunk. */
static uint32_t find_inside(const cebus_chunk *chunk, const own *mine, uint64_t bytes, runs *out)
{
    uint32_t first = 0, end = 0, n = chunk->count;
    if (mine->bytes[n] < bytes)
        return chunk->walls != 0 ? CEBUS_CHUNK_MAX - (uint32_t)__builtin_clz(chunk->walls) : 0;
    while (first < n) {
        while (end < n && mine->bytes[end] - mine->bytes[first] < bytes &&
               (chunk->walls >> end & 1) == 0)
            end++;
        if (mine->bytes[end] - mine->bytes[first] >= bytes) {
            if (mine->bytes[end] - mine->bytes[first + 1] < bytes)
                add_run(out, mine, first, end);
            first++;
        } else if (end < n) { /* a wall */
            first = ++end;
        } else {
            break;
        }
    }
    return first;
}

/** The next block after those of a run that has left its chunk. */
typedef struct tail {
    cebus_seat next;
    double price, slope; /**< of those that the run has there */
    uint64_t bytes;
    uint32_t blocks;
} tail;

/** False at a wall, or at the end. */
static bool lengthen(const cebus_chunks *chunks, double now, tail *run)
{
    if (run->next.chunk == CEBUS_CHUNK_NONE)
        return false;
    const cebus_chunk *chunk = &chunks->at[run->next.chunk];
    uint32_t place = run->next.place;
    double price, slope;
    if ((chunk->walls >> place & 1) != 0)
        return false;
    cebus_chunk_price(chunk, place, now, &price, &slope);
    run->price += price;
    run->slope += slope;
    run->bytes += chunk->bytes[place];
    run->blocks++;
    if (++run->next.place == chunk->count)
        run->next = (cebus_seat){chunk->next, 0};
    return true;
}

/** Those that end in later chunks, from block `first` on. */
static void find_outside(const cebus_window_search *search, const cebus_chunk *chunk,
                         const own *mine, uint32_t first, runs *out)
{
    uint32_t n = chunk->count;
    double now = cebus_time_after(search->now);
    tail run = {.next = {chunk->next, 0}};
    for (; first < n; first++) {
        uint64_t inside = mine->bytes[n] - mine->bytes[first];
        while (inside + run.bytes < search->bytes) {
            if (!lengthen(&search->index->chunks, now, &run))
                return;
        }
        if (mine->bytes[n] - mine->bytes[first + 1] + run.bytes >= search->bytes)
            continue; /* not minimal: it begins later */
        add_run(out, mine, first, n);
        out->price[out->count - 1] += run.price;
        out->slope[out->count - 1] += run.slope;
        out->blocks[out->count - 1] += run.blocks;
    }
}

/* Windows proper. */

uint64_t cebus_window_evicted(const cebus_window_search *search, cebus_seat at)
{
    const cebus_chunk *chunks = search->index->chunks.at;
    uint64_t bytes = 0, evicted = 0;
    while (bytes < search->bytes && at.chunk != CEBUS_CHUNK_NONE) {
        const cebus_chunk *chunk = &chunks[at.chunk];
        bytes += chunk->bytes[at.place];
        evicted += (chunk->holes >> at.place & 1) == 0 ? chunk->bytes[at.place] : 0;
        if (++at.place == chunk->count)
            at = (cebus_seat){chunk->next, 0};
    }
    return evicted;
}

static bool is_taken(const cebus_window_search *search, const cebus_block *block)
{
    for (size_t i = 0; i < search->n_taken; i++) {
        if (block->offset >= search->taken[i].first->offset &&
            block->offset <= search->taken[i].last->offset)
            return true;
    }
    return false;
}

/** Reads the blocks of a run, in integers; true if one of them had been kept too cheap. */
static bool offer(cebus_window_search *search, cebus_seat at, uint32_t blocks)
{
    cebus_chunks *chunks = &search->index->chunks;
    cebus_window window = {.first = chunks->at[at.chunk].blocks[at.place]};
    bool stale = false, barred = false;
    for (uint32_t i = 0; i < blocks; i++) {
        cebus_chunk *chunk = &chunks->at[at.chunk];
        cebus_block *block = chunk->blocks[at.place];
        window.last = block;
        cebus_window_weigh(search, block);
        stale |= cebus_chunk_read(chunk, at.place, chunks->epoch);
        barred |= block->state == CEBUS_BLOCK_BARRIER || is_taken(search, block);
        if (block->state != CEBUS_BLOCK_FREE) {
            window.price += cebus_block_price(block, search->now);
            window.evicted_bytes += block->bytes;
            window.evicted_blocks++;
        }
        if (++at.place == chunk->count)
            at = (cebus_seat){chunk->next, 0};
    }
    if (barred)
        return stale;
    if (search->pool != NULL)
        cebus_window_pool_offer(search->pool, &window);
    else if (search->best.first == NULL || cebus_window_is_better(&window, &search->best))
        search->best = window;
    return stale;
}

/** Of what costs as much as the last that counts. */
static bool wins_tie(const cebus_window_search *search, cebus_seat at)
{
    const cebus_window *last = cebus_window_search_last(search);
    const cebus_window_key one = {last->price, cebus_window_evicted(search, at),
                                  search->index->chunks.at[at.chunk].blocks[at.place]->offset};
    const cebus_window_key other = cebus_window_key_of(last);
    return cebus_window_key_is_less(&one, &other);
}

/** Of a window that costs no less than `price`, by what is kept, where `most` is what the last one
 * costs. Prices are integers, rounded up. */
static inline bool may_beat(const cebus_window_search *search, cebus_seat at, double price,
                            double most)
{
    double least = price * SURE_PRICE;
    return least <= most && (least <= most - 1 || wins_tie(search, at));
}

static bool may_win(const cebus_window_search *search, cebus_seat at, double price)
{
    const cebus_window *last = cebus_window_search_last(search);
    return last == NULL || may_beat(search, at, price, (double)last->price);
}

/** Those that cannot win, a bit each. */
static uint32_t find_losers(const cebus_window_search *search, uint32_t id, const runs *all)
{
    const cebus_window *last = cebus_window_search_last(search);
    uint32_t losers = 0;
    for (uint32_t i = 0; last != NULL && i < all->count; i++) {
        cebus_seat at = {id, all->first[i]};
        losers |= (uint32_t)!may_beat(search, at, all->price[i], (double)last->price) << i;
    }
    return losers;
}

/** The likeliest of those that were not tried; `count`: none. */
static uint32_t least_of(const runs *all, uint32_t tried)
{
    uint32_t least = all->count;
    for (uint32_t i = 0; i < all->count; i++) {
        if ((tried >> i & 1) == 0 && (least == all->count || all->price[i] < all->price[least]))
            least = i;
    }
    return least;
}

/** Offers what may win, the likeliest first; true if something had been kept too cheap. */
static bool offer_runs(cebus_window_search *search, uint32_t id, const runs *all)
{
    uint32_t tried = find_losers(search, id, all), i;
    while ((i = least_of(all, tried)) < all->count) {
        cebus_seat at = {id, all->first[i]};
        if (may_win(search, at, all->price[i]) && offer(search, at, all->blocks[i]))
            return true;
        tried |= UINT32_C(1) << i;
    }
    return false;
}

/** The runs that start in a chunk, by what is kept. */
static void find_runs(const cebus_window_search *search, uint32_t id, runs *out)
{
    const cebus_chunk *chunk = &search->index->chunks.at[id];
    own mine;
    out->count = 0;
    price_own(chunk, cebus_time_after(search->now), &mine);
    uint32_t first = find_inside(chunk, &mine, search->bytes, out);
    if (first < chunk->count)
        find_outside(search, chunk, &mine, first, out);
}

/** Betters search->best by the runs of at least search->bytes that start in a chunk. O(blocks of
 * the chunk
 * + of one window). */
static void look(cebus_window_search *search, uint32_t id)
{
    runs all;
    do
        find_runs(search, id, &all);
    while (offer_runs(search, id, &all));
}

/* All chunks, without a table. */

/** Blocks that follow each other, none of which alone costs what a window may. */
typedef struct sieve {
    uint32_t
        first; /**< chunk that they begin in, or one before it; none before it is of interest */
    uint64_t bytes; /**< up to where the search is */
} sieve;

/** What each block costs more than `most`, times its age: above 0, no window has it that does not
 * cost more. By what is kept, and an age of up to 1 more: such loops know vectors. */
static void find_excess(const cebus_chunk *chunk, double now, double most, double *restrict out)
{
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++)
        out[i] = chunk->weight[i] * SURE_PRICE - most * (fabs(now - chunk->tick[i]) + 1);
    for (uint32_t bits = chunk->walls; bits != 0; bits &= bits - 1)
        out[__builtin_ctz(bits)] = 1;
}

/** Goes on through a chunk. True if some of its blocks are the last of a run of so many bytes. */
static bool pass(const cebus_window_search *search, uint32_t id, double most, sieve *run)
{
    const cebus_chunk *chunk = &search->index->chunks.at[id];
    double excess[CEBUS_CHUNK_MAX];
    uint64_t bytes = run->bytes, longest = 0, least = UINT64_MAX;
    find_excess(chunk, cebus_time_after(search->now), most, excess);
    for (uint32_t i = 0; i < chunk->count; i++) {
        bytes = excess[i] <= 0 ? bytes + chunk->bytes[i] : 0;
        longest = bytes > longest ? bytes : longest;
        least = bytes < least ? bytes : least;
    }
    run->bytes = bytes;
    if (longest >= search->bytes)
        return true;
    run->first = least > 0 ? run->first : id;
    return false;
}

/** A window's blocks cost no more than it does, each: only where such lie side by side for long
 * enough may it be. */
void cebus_window_look_all(cebus_window_search *search)
{
    const cebus_chunks *chunks = &search->index->chunks;
    sieve run = {chunks->first, 0};
    for (uint32_t id = chunks->first; id != CEBUS_CHUNK_NONE; id = chunks->at[id].next) {
        uint64_t most = cebus_window_search_most(search);
        if (!pass(search, id, most < CEBUS_PRICE_MAX ? (double)most : HUGE_VAL, &run))
            continue;
        for (; run.first != chunks->at[id].next; run.first = chunks->at[run.first].next)
            look(search, run.first);
    }
}

/* With a table. */

/** The run that starts at a spot, by what is kept; no blocks: none. */
static tail run_from(const cebus_window_search *search, cebus_seat at)
{
    const cebus_chunks *chunks = &search->index->chunks;
    double now = cebus_time_after(search->now);
    tail run = {.next = at};
    while (run.bytes < search->bytes) {
        if (!lengthen(chunks, now, &run))
            return (tail){0};
    }
    bool minimal = run.bytes - chunks->at[at.chunk].bytes[at.place] < search->bytes;
    return minimal ? run : (tail){0};
}

/** For floats. */
static float level_of(const cebus_window_search *search)
{
    const cebus_tables *tables = &search->index->tables;
    return tables->level[search->table - tables->table];
}

/** What 1/price of a window is at most from time `t` on: there it is 1/price, and falls by slope,
 * the sum of w/a^2. */
static cebus_line line_of(double t, double price, double slope)
{
    double value = 1 / (price > 1 / CEBUS_BOUND_OPEN ? price : 1 / CEBUS_BOUND_OPEN);
    return cebus_line_through(t, value, slope * value * value);
}

/** The window that starts at a spot may be at the level. False: there is no room for it. */
static bool add_window(cebus_window_search *search, cebus_seat at)
{
    double t = cebus_tables_time(&search->index->tables, search->now);
    tail run = run_from(search, at);
    if (run.blocks == 0)
        return true;
    return cebus_level_add(search, at, line_of(t, run.price, run.slope));
}

/** All windows that start in a chunk, at once: adds those at the level. The tangent of another is
 * there later by (level - 1/P) / (Q/P^2) (bound.h); the chunk is due at the first of those. False:
 * there was no room for all. */
static bool add_all_windows(cebus_window_search *search, uint32_t id)
{
    cebus_table *table = search->table;
    const double t = cebus_tables_time(&search->index->tables, search->now);
    double next = HUGE_VAL;
    bool added = true;
    runs all;
    cebus_table_forget(table, id);
    find_runs(search, id, &all);
    for (uint32_t i = 0; i < all.count; i++) {
        const double price = all.price[i], slope = all.slope[i];
        const double excess = table->level * price - 1, later = price * excess / slope;
        if (excess <= 0)
            added &=
                cebus_level_add(search, (cebus_seat){id, all.first[i]}, line_of(t, price, slope));
        else
            next = later < next ? later : next;
    }
    cebus_table_expect(table, id, t + next * (1 - 0x1p-20));
    return added;
}

/** Are there more than FEW bits? They are counted without an instruction that not all know. */
static bool are_many(uint32_t bits)
{
    for (uint32_t i = 0; i < FEW && bits != 0; i++)
        bits &= bits - 1;
    return bits != 0;
}

/** The windows that start at some blocks of a chunk, a bit each. False: there was no room for all.
 */
static bool add_those(cebus_window_search *search, uint32_t id, uint32_t bits)
{
    if (are_many(bits))
        return add_all_windows(search, id);
    for (; bits != 0; bits &= bits - 1) {
        if (!add_window(search, (cebus_seat){id, (uint32_t)__builtin_ctz(bits)}))
            return false;
    }
    return true;
}

/** The same, all at once. False where windows are too long for that. */
static bool add_windows_at_once(cebus_window_search *search, uint32_t id, bool *out_added)
{
    const cebus_tables *tables = &search->index->tables;
    const cebus_early what = {.chunks = &search->index->chunks,
                              .bytes = search->bytes,
                              .level = level_of(search),
                              .now = cebus_bound_time(cebus_tables_time(tables, search->now))};
    uint32_t bits;
    float next;
    if (!cebus_early_find(&what, id, &bits, &next))
        return false;
    *out_added = add_those(search, id, bits);
    cebus_table_set_due(search->table, id, next);
    return true;
}

bool cebus_window_learn(cebus_window_search *search, uint32_t id)
{
    cebus_table *table = search->table;
    bool added;
    search->index->count.looks++;
    cebus_table_forget(table, id);
    *cebus_table_due(table, id) = CEBUS_DUE_NEVER;
    if (!search->brief || !add_windows_at_once(search, id, &added)) {
        added = add_all_windows(search, id);
    }
    if (!added)
        cebus_table_set_due(table, id, CEBUS_DUE_NOW);
    return added;
}

cebus_seat cebus_window_seat(const cebus_window_search *search, uint32_t hot)
{
    const cebus_block *first = search->table->hot->first[hot];
    cebus_seat at = {search->table->hot->chunk[hot], search->table->hot->place[hot]};
    const cebus_chunk *chunk = &search->index->chunks.at[at.chunk];
    if (at.place < chunk->count && chunk->blocks[at.place] == first)
        return at;
    at.place = 0;
    while (at.place < chunk->count && chunk->blocks[at.place] != first)
        at.place++;
    return at;
}

bool cebus_window_try(cebus_window_search *search, uint32_t i)
{
    cebus_hot *hot = search->table->hot;
    double t = cebus_tables_time(&search->index->tables, search->now);
    cebus_seat at = cebus_window_seat(search, i);
    search->index->count.tries++;
    if (at.place == search->index->chunks.at[at.chunk].count)
        return false;
    tail run = run_from(search, at);
    if (run.blocks > 0 && may_win(search, at, run.price) && offer(search, at, run.blocks))
        run = run_from(search, at);
    if (run.blocks == 0)
        return false;
    cebus_line line = line_of(t, run.price, run.slope);
    hot->rise[i] = line.rise;
    hot->zero[i] = line.zero;
    return cebus_level_keeps(search, at, line);
}
