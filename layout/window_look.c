#include "layout/window_look.h"

/** So many blocks on either side of a noted one are looked at; a run that reaches farther counts as
 * long enough. */
#define REACH 8
/** A horizon is so much of an age: longer ones loosen bounds at once, shorter ones soon. */
#define HORIZON_PART 0.25
/** What sums of doubles may have lost, of the largest sum there was. */
#define LOST 1e-12

/** What a block adds to a run's line at the time of the search. */
typedef struct term {
    double price, slope; /* w/a, w/a^2 */
    uint64_t bytes;
    uint32_t wall;    /* in no run, whatever its owner does without a word */
    uint32_t barrier; /* in no window now */
} term;

static bool is_taken(const cebus_window_search *search, const cebus_block *block)
{
    for (size_t i = 0; i < search->n_taken; i++) {
        if (block->offset >= search->taken[i].first->offset &&
            block->offset <= search->taken[i].last->offset)
            return true;
    }
    return false;
}

/** Written in place: a copy would wait for its parts to be stored. */
static inline void write_term(const cebus_window_search *search, cebus_block *block, term *out)
{
    out->bytes = block->bytes;
    out->price = out->slope = 0;
    out->barrier = out->wall = false;
    if (block->state != CEBUS_BLOCK_FREE) {
        if (search->weigher.weigh != NULL)
            search->weigher.weigh(search->weigher.context, block);
        out->barrier = block->state == CEBUS_BLOCK_BARRIER;
        out->wall = out->barrier && block->weight == CEBUS_WEIGHT_WALL;
        double age = search->now > block->tick ? (double)(search->now - block->tick) : 1;
        double rate = 1 / age;
        double price = (double)block->weight * (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT) * rate;
        price = price < (double)CEBUS_PRICE_MAX ? price : (double)CEBUS_PRICE_MAX;
        out->price = price;
        out->slope = price * rate;
    }
    if (search->n_taken > 0 && is_taken(search, block))
        out->barrier = true;
}

/** Where a walk along the chunks is. */
typedef struct walk {
    const cebus_chunks *chunks;
    uint32_t chunk, place;
} walk;

static cebus_block *block_at(const walk *at)
{
    return at->chunk != CEBUS_CHUNK_NONE ? at->chunks->at[at->chunk].blocks[at->place] : NULL;
}

static void fetch_chunk(const cebus_chunk *chunk, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < chunk->count; i++)
        __builtin_prefetch(chunk->blocks[i]);
}

static void advance(walk *at)
{
    const cebus_chunk *chunk = &at->chunks->at[at->chunk];
    if (++at->place < chunk->count)
        return;
    at->chunk = chunk->next;
    at->place = 0;
    if (at->chunk != CEBUS_CHUNK_NONE)
        fetch_chunk(&at->chunks->at[at->chunk], REACH);
}

/* Runs. */

/** Of the blocks of a run. */
typedef struct sums {
    double price, slope, peak_price, peak_slope; /* the peaks: what they have been at most */
    uint64_t bytes;
    uint32_t blocks, barriers;
} sums;

static void add(sums *run, const term *t)
{
    run->price += t->price;
    run->slope += t->slope;
    run->bytes += t->bytes;
    run->barriers += t->barrier;
    run->blocks++;
    run->peak_price = run->price > run->peak_price ? run->price : run->peak_price;
    run->peak_slope = run->slope > run->peak_slope ? run->slope : run->peak_slope;
}

static void subtract(sums *run, const term *t)
{
    run->price -= t->price;
    run->slope -= t->slope;
    run->bytes -= t->bytes;
    run->barriers -= t->barrier;
    run->blocks--;
}

/** Not above the price of the run, as a real number. */
static double least_price(const sums *run)
{
    return run->price - LOST * run->peak_price;
}

/** The greatest lines of many runs. */
typedef struct lines {
    double now, later;
    uint32_t blocks;
} lines;

static void raise_lines(lines *best, const sums *run, double horizon)
{
    double price = least_price(run), slope = run->slope + LOST * run->peak_slope;
    slope = slope > 0 ? slope * horizon : 0;
    best->blocks = run->blocks > best->blocks ? run->blocks : best->blocks;
    if (best->now * price >= 1 && best->later * price * price >= price + slope)
        return; /* without a division: most runs raise nothing */
    double now = price * CEBUS_BOUND_OPEN > 1 ? 1 / price : CEBUS_BOUND_OPEN;
    double later = now + slope * now * now;
    best->now = now > best->now ? now : best->now;
    best->later = later > best->later ? later : best->later;
}

static cebus_bound bound_of(const lines *best, uint64_t at, double horizon)
{
    cebus_bound bound = cebus_bound_of(at, best->now, best->later, horizon);
    bound.blocks = best->blocks;
    return bound;
}

/* The windows of a chunk. */

/** A run that slides over the chunk: it starts in it, and may end in a later one. */
typedef struct slider {
    sums sums;
    lines lines;
    walk end; /* the block after it */
    cebus_block *last;
    term terms[CEBUS_CHUNK_MAX + 1]; /* of the chunk's own blocks, as far as the run came */
} slider;

bool cebus_window_is_better(const cebus_window *a, const cebus_window *b)
{
    if (b->first == NULL || a->price != b->price)
        return b->first == NULL || a->price < b->price;
    if (a->evicted_bytes != b->evicted_bytes)
        return a->evicted_bytes < b->evicted_bytes;
    return a->first->offset < b->first->offset;
}

/** In integers, block by block. */
static void offer(cebus_window_search *search, cebus_block *first, cebus_block *last)
{
    cebus_window window = {.first = first, .last = last};
    for (const cebus_block *block = first;; block = block->next) {
        if (block->state != CEBUS_BLOCK_FREE) {
            window.price += cebus_block_price(block, search->now);
            window.evicted_bytes += block->bytes;
            window.evicted_blocks++;
        }
        if (block == last)
            break;
    }
    if (cebus_window_is_better(&window, &search->best))
        search->best = window;
}

/** The run is long enough, and no shorter one starts where it does. */
static void consider(cebus_window_search *search, const slider *run, cebus_block *first)
{
    bool minimal = run->sums.bytes - first->bytes < search->bytes;
    double least = least_price(&run->sums) - (double)run->sums.blocks;
    bool may_win = search->best.first == NULL || least <= (double)search->best.price;
    if (minimal && may_win && run->sums.barriers == 0)
        offer(search, first, run->last);
}

/** Lengthens the run by its next block. Answers the place in the chunk from which runs can start
 * again: past a wall, or `left` where there was none. */
static uint32_t lengthen(cebus_window_search *search, uint32_t chunk, slider *run, uint32_t left)
{
    cebus_block *block = block_at(&run->end);
    /* One more than a chunk has: for blocks of later ones. */
    uint32_t place = run->end.chunk == chunk ? run->end.place : CEBUS_CHUNK_MAX;
    term *t = &run->terms[place];
    write_term(search, block, t);
    if (t->wall) {
        left = place == CEBUS_CHUNK_MAX ? CEBUS_CHUNK_MAX : place + 1;
        run->sums = (sums){0};
    } else {
        add(&run->sums, t);
        run->last = block;
    }
    advance(&run->end);
    return left;
}

static double age_of_start(const cebus_window_search *search, const cebus_chunk *chunk)
{
    const cebus_block *block = chunk->blocks[chunk->count / 2];
    bool used = block->state != CEBUS_BLOCK_FREE && search->now > block->tick;
    return used ? (double)(search->now - block->tick) : 1;
}

void cebus_window_look(cebus_window_search *search, uint32_t id)
{
    cebus_window_index *index = search->index;
    cebus_chunk *chunk = &index->chunks.at[id];
    slider run;
    run.end = (walk){&index->chunks, id, 0};
    run.sums = (sums){0};
    run.lines = (lines){0};
    chunk->query = index->query;
    index->count.looks++;
    fetch_chunk(chunk, chunk->count);
    if (search->table->horizon <= 0 && chunk->count > 0)
        search->table->horizon = 1 + HORIZON_PART * age_of_start(search, chunk);
    double horizon = search->table->horizon > 0 ? search->table->horizon : 1;
    for (uint32_t left = 0; left < chunk->count;) {
        if (run.sums.bytes < search->bytes) {
            if (run.end.chunk == CEBUS_CHUNK_NONE)
                break;
            left = lengthen(search, id, &run, left);
            continue;
        }
        raise_lines(&run.lines, &run.sums, horizon);
        consider(search, &run, chunk->blocks[left]);
        subtract(&run.sums, &run.terms[left++]);
    }
    search->table->bounds[id] = bound_of(&run.lines, search->now, horizon);
}

/* What was noted. */

/** The blocks around a noted one, nearest first. */
typedef struct flank {
    term terms[REACH + 1];
    size_t count;
} flank;

static void look_aside(const cebus_window_search *search, cebus_block *block, bool up, flank *out)
{
    out->count = 0;
    for (block = up ? block->next : block->prev; block != NULL && out->count < REACH;
         block = up ? block->next : block->prev) {
        term *t = &out->terms[out->count];
        write_term(search, block, t);
        if (t->wall)
            return;
        out->count++;
    }
    if (block != NULL) /* farther than the reach: long enough, for nothing */
        out->terms[out->count++] = (term){.bytes = UINT64_MAX / 4};
}

/** The greatest lines of the runs around a block with at least `bytes`: from each start the
 * shortest run that holds the block. */
static cebus_bound bound_around(const term *middle, const flank *low, const flank *high,
                                uint64_t bytes, uint64_t at, double horizon)
{
    sums run = {0};
    lines best = {0};
    size_t end = 0;
    add(&run, middle);
    while (end < high->count && run.bytes < bytes)
        add(&run, &high->terms[end++]);
    for (size_t start = 0; start <= low->count; start++) {
        while (end > 0 && run.bytes - high->terms[end - 1].bytes >= bytes)
            subtract(&run, &high->terms[--end]);
        if (run.bytes >= bytes)
            raise_lines(&best, &run, horizon);
        if (run.bytes >= bytes && end == 0)
            break; /* starts farther down only add to it */
        if (start < low->count)
            add(&run, &low->terms[start]);
    }
    return bound_of(&best, at, horizon);
}

/** The event counts for each chunk in which a run of the table's size that holds it may start. */
static void raise_table(cebus_window_search *search, cebus_table *table, const cebus_block *block,
                        const cebus_bound *bound)
{
    const cebus_chunks *chunks = &search->index->chunks;
    uint32_t id = block->chunk;
    for (;;) {
        cebus_tables_raise(&search->index->tables, table, id, bound, search->now);
        uint64_t start = chunks->at[id].blocks[0]->offset;
        id = chunks->at[id].prev;
        if (id == CEBUS_CHUNK_NONE || block->offset - start >= table->bytes)
            return;
    }
}

static void settle_block(cebus_window_search *search, cebus_block *block)
{
    cebus_tables *tables = &search->index->tables;
    term middle;
    flank low, high;
    write_term(search, block, &middle);
    if (middle.wall)
        return;
    search->index->count.events++;
    search->index->count.raises += tables->count;
    look_aside(search, block, false, &low);
    look_aside(search, block, true, &high);
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_table *table = &tables->table[i];
        uint64_t bytes = table->bytes;
        /* A hole alone is no window (I4). */
        if (block->state == CEBUS_BLOCK_FREE && bytes <= block->bytes)
            bytes = block->bytes + 1;
        double horizon = table->horizon > 0 ? table->horizon : 1;
        cebus_bound bound = bound_around(&middle, &low, &high, bytes, search->now, horizon);
        if (bound.later > 0)
            raise_table(search, table, block, &bound);
    }
}

void cebus_window_settle(cebus_window_search *search)
{
    cebus_chunks *chunks = &search->index->chunks;
    uint32_t id;
    while ((id = cebus_chunks_next_noted(chunks)) != CEBUS_CHUNK_NONE) {
        cebus_chunk *chunk = &chunks->at[id];
        uint32_t bits = chunk->noted;
        chunk->noted = 0;
        for (; bits != 0 && search->index->tables.count > 0; bits &= bits - 1)
            settle_block(search, chunk->blocks[__builtin_ctz(bits)]);
    }
}
