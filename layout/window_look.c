#include "layout/window_look.h"

/** Sums are differences of sums that may be so many times larger; or else they are added up. */
#define LARGER 1048576.0
/** What a price is taken for at least. */
#define LEAST_PRICE (1 / CEBUS_BOUND_OPEN)
/** What sums may lose of a price. */
#define SURE_PRICE (1 - 1e-6)

/** Chunks follow each other: the place of a block. */
typedef struct spot {
    uint32_t chunk, place;
} spot;

static void weigh(const cebus_window_search *search, cebus_block *block)
{
    if (search->weigher.weigh != NULL && block->state != CEBUS_BLOCK_FREE)
        search->weigher.weigh(search->weigher.context, block);
}

/* Prices by what is kept. */

/** w/a and w/a^2. */
static inline void price_of(const cebus_chunk *chunk, uint32_t place, double now, double *price,
                            double *slope)
{
    double age = now - chunk->tick[place];
    double rate = 1 / (age > 1 ? age : 1), p = chunk->weight[place] * rate;
    p = p < (double)CEBUS_PRICE_MAX ? p : (double)CEBUS_PRICE_MAX;
    *price = p;
    *slope = p * rate;
}

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

static void price_own(const cebus_chunk *chunk, double now, own *out)
{
    for (uint32_t i = 0; i < CEBUS_CHUNK_MAX; i++)
        price_of(chunk, i, now, &out->price[i], &out->slope[i]);
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
    spot next;
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
    price_of(chunk, place, now, &price, &slope);
    run->price += price;
    run->slope += slope;
    run->bytes += chunk->bytes[place];
    run->blocks++;
    if (++run->next.place == chunk->count)
        run->next = (spot){chunk->next, 0};
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
static bool offer(cebus_window_search *search, spot at, uint32_t blocks)
{
    cebus_chunks *chunks = &search->index->chunks;
    cebus_window window = {.first = chunks->at[at.chunk].blocks[at.place]};
    bool stale = false, barred = false;
    for (uint32_t i = 0; i < blocks; i++) {
        cebus_chunk *chunk = &chunks->at[at.chunk];
        cebus_block *block = chunk->blocks[at.place];
        window.last = block;
        weigh(search, block);
        stale |= cebus_chunk_read(chunk, at.place);
        barred |= block->state == CEBUS_BLOCK_BARRIER || is_taken(search, block);
        if (block->state != CEBUS_BLOCK_FREE) {
            window.price += cebus_block_price(block, search->now);
            window.evicted_bytes += block->bytes;
            window.evicted_blocks++;
        }
        if (++at.place == chunk->count)
            at = (spot){chunk->next, 0};
    }
    if (barred)
        return stale;
    if (search->pool != NULL)
        cebus_window_pool_offer(search->pool, &window);
    else if (search->best.first == NULL || cebus_window_is_better(&window, &search->best))
        search->best = window;
    return stale;
}

static bool may_win(const cebus_window_search *search, double price)
{
    return price * SURE_PRICE <= (double)cebus_window_search_most(search);
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
    uint32_t tried = 0, i;
    while ((i = least_of(all, tried)) < all->count && may_win(search, all->price[i])) {
        if (offer(search, (spot){id, all->first[i]}, all->blocks[i]))
            return true;
        tried |= UINT32_C(1) << i;
    }
    return false;
}

/** 1/price of each run is a line over time; the chord is until the first of them gets to where
 * answers are. */
static void bound_runs(const runs *all, cebus_table *table, uint32_t id, uint64_t now)
{
    double value[CEBUS_CHUNK_MAX], rise[CEBUS_CHUNK_MAX], most = 0, steepest = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        double price = all->price[i] > LEAST_PRICE ? all->price[i] : LEAST_PRICE;
        value[i] = 1 / price;
        rise[i] = all->slope[i] * value[i] * value[i];
        most = value[i] > most ? value[i] : most;
        steepest = rise[i] > steepest ? rise[i] : steepest;
    }
    double horizon = CEBUS_BOUND_LONGEST, later = most, level = most * CEBUS_BOUND_CHEAPER;
    level = level > table->level ? level : table->level;
    for (uint32_t i = 0; i < all->count; i++) {
        double gap = level - value[i];
        horizon = gap < horizon * rise[i] ? gap / rise[i] : horizon;
    }
    horizon = horizon > 1 ? horizon : 1;
    for (uint32_t i = 0; i < all->count; i++) {
        double end = value[i] + rise[i] * horizon;
        later = end > later ? end : later;
    }
    cebus_bound bound =
        cebus_bound_of(cebus_table_time(table, now), most, horizon, later, steepest);
    cebus_bounds_set(table->chunks, id, &bound);
}

void cebus_window_look(cebus_window_search *search, uint32_t id)
{
    const cebus_chunk *chunk = &search->index->chunks.at[id];
    bool stale;
    own mine;
    runs all;
    do {
        all.count = 0;
        price_own(chunk, cebus_time_after(search->now), &mine);
        uint32_t first = find_inside(chunk, &mine, search->bytes, &all);
        if (first < chunk->count)
            find_outside(search, chunk, &mine, first, &all);
        stale = offer_runs(search, id, &all);
    } while (stale);
    if (search->table == NULL)
        return;
    bound_runs(&all, search->table, id, search->now);
    search->index->count.looks++;
}

/* What was noted. */

/** So many blocks on either side of a noted one are looked at; a run that reaches farther counts as
 * long enough. */
#define REACH 16

/** Sums of the blocks on one side of a noted one, nearest first; [0]: of none. */
typedef struct side {
    uint32_t count; /**< of blocks, or one more: all that is beyond the reach, for nothing */
    bool cut;       /**< it is one more */
    double price[REACH + 2], slope[REACH + 2];
    uint64_t bytes[REACH + 2];
    uint32_t chunk[REACH + 2];
} side;

static spot next_spot(const cebus_chunks *chunks, spot at)
{
    const cebus_chunk *chunk = &chunks->at[at.chunk];
    return at.place + 1 < chunk->count ? (spot){at.chunk, at.place + 1} : (spot){chunk->next, 0};
}

static spot spot_before(const cebus_chunks *chunks, spot at)
{
    if (at.place > 0)
        return (spot){at.chunk, at.place - 1};
    uint32_t before = chunks->at[at.chunk].prev;
    return before == CEBUS_CHUNK_NONE ? (spot){before, 0}
                                      : (spot){before, chunks->at[before].count - 1};
}

/** As far as `bytes`. */
static void look_aside(const cebus_window_search *search, spot at, bool up, uint64_t bytes,
                       side *out)
{
    const cebus_chunks *chunks = &search->index->chunks;
    double now = cebus_time_after(search->now);
    uint32_t n = 0;
    out->price[0] = out->slope[0] = 0;
    out->bytes[0] = 0;
    out->chunk[0] = at.chunk;
    out->cut = false;
    while (out->bytes[n] < bytes) {
        double price, slope;
        at = up ? next_spot(chunks, at) : spot_before(chunks, at);
        if (at.chunk == CEBUS_CHUNK_NONE || (chunks->at[at.chunk].walls >> at.place & 1) != 0)
            break;
        out->cut = n == REACH;
        if (out->cut)
            break;
        price_of(&chunks->at[at.chunk], at.place, now, &price, &slope);
        out->price[n + 1] = out->price[n] + price;
        out->slope[n + 1] = out->slope[n] + slope;
        out->bytes[n + 1] = out->bytes[n] + chunks->at[at.chunk].bytes[at.place];
        out->chunk[++n] = at.chunk;
    }
    if (out->cut) {
        out->price[n + 1] = out->price[n];
        out->slope[n + 1] = out->slope[n];
        out->bytes[n + 1] = UINT64_MAX / 4;
        out->chunk[++n] = CEBUS_CHUNK_NONE;
    }
    out->count = n;
}

/** The greatest values and rises of some runs. */
typedef struct peak {
    double value, rise;
} peak;

/** So many neighbours, on both sides together, tell most tables that they know of nothing dearer.
 */
#define FEW 3

/** A block that may have become cheaper. */
typedef struct event {
    spot at;
    const cebus_block *block;
    bool hole;
    double price, slope;
    uint64_t bytes;
    side low, high;
    uint32_t n_few;            /**< of the following */
    peak few[FEW + 1];         /**< runs that hold it and 0, 1, ... neighbours */
    uint64_t longest[FEW + 1]; /**< of them, in bytes */
} event;

static void raise_peak(peak *top, double price, double slope)
{
    double value = 1 / (price > LEAST_PRICE ? price : LEAST_PRICE), rise = slope * value * value;
    top->value = value > top->value ? value : top->value;
    top->rise = rise > top->rise ? rise : top->rise;
}

static void raise_chunk(cebus_table *table, uint32_t id, const peak *top, uint64_t now)
{
    double t = cebus_table_time(table, now);
    cebus_line line = cebus_line_through(t, top->value, top->rise);
    if (top->value > 0)
        cebus_table_raise(table, id, &line, t);
}

/** Chunks before `id`, too, where a run of the table's size that holds the block may start. */
static void raise_before(const cebus_window_search *search, cebus_table *table, uint32_t id,
                         const event *e, const peak *top)
{
    const cebus_chunks *chunks = &search->index->chunks;
    while (e->block->offset - chunks->at[id].blocks[0]->offset < table->bytes) {
        id = chunks->at[id].prev;
        if (id == CEBUS_CHUNK_NONE)
            return;
        raise_chunk(table, id, top, search->now);
    }
}

/** The runs that hold the block: from each start the shortest. Each counts for the chunk in which
 * it starts. */
static void raise_table(const cebus_window_search *search, cebus_table *table, const event *e)
{
    const side *low = &e->low, *high = &e->high;
    uint32_t end = high->count, id = e->at.chunk;
    peak top = {0};
    for (uint32_t start = 0; start <= low->count; start++) {
        uint64_t held = low->bytes[start] + e->bytes;
        bool beyond = low->cut && start == low->count;
        while (end > 0 && held + high->bytes[end - 1] >= table->bytes)
            end--;
        if (low->chunk[start] != id && !beyond) {
            raise_chunk(table, id, &top, search->now);
            top = (peak){0};
            id = low->chunk[start];
        }
        if (held + high->bytes[end] >= table->bytes)
            raise_peak(&top, low->price[start] + e->price + high->price[end],
                       low->slope[start] + e->slope + high->slope[end]);
        if (beyond)
            raise_before(search, table, id, e, &top);
        if (end == 0 && held >= table->bytes)
            break; /* starts farther down only add to it */
    }
    raise_chunk(table, id, &top, search->now);
}

/** A longer run costs no less than what it holds of these. */
static void find_few(event *e)
{
    const side *low = &e->low, *high = &e->high;
    uint32_t most = low->count + high->count;
    for (e->n_few = 0; e->n_few <= FEW && e->n_few <= most; e->n_few++) {
        uint32_t n = e->n_few, below = n > high->count ? n - high->count : 0;
        peak top = {0};
        uint64_t longest = 0;
        for (; below <= n && below <= low->count; below++) {
            uint64_t bytes = e->bytes + low->bytes[below] + high->bytes[n - below];
            raise_peak(&top, e->price + low->price[below] + high->price[n - below],
                       e->slope + low->slope[below] + high->slope[n - below]);
            longest = bytes > longest ? bytes : longest;
        }
        e->few[n] = top;
        e->longest[n] = longest;
    }
}

/** The group, too, which may be the tighter bound of the two. */
static bool covers(const cebus_table *table, uint32_t id, const peak *top, double t)
{
    cebus_bound bound = cebus_bounds_get(table->chunks, id);
    cebus_bound group = cebus_bounds_get(table->groups, id / CEBUS_GROUP);
    cebus_line line = cebus_line_through(t, top->value, top->rise);
    return cebus_bound_covers(&bound, &line, t) && cebus_bound_covers(&group, &line, t);
}

/** Does what the few neighbours cost show that the table knows of nothing dearer, in any chunk in
 * which a run that holds the block may start? */
static bool is_known(const cebus_table *table, const event *e, uint64_t now)
{
    const side *low = &e->low;
    uint64_t missing = table->bytes > e->bytes ? table->bytes - e->bytes : 0;
    double t = cebus_table_time(table, now);
    uint32_t n = 0;
    while (n + 1 < e->n_few && e->longest[n] < table->bytes)
        n++;
    if (!covers(table, e->at.chunk, &e->few[n], t))
        return false;
    for (uint32_t s = 1; s <= low->count && low->bytes[s - 1] < missing; s++) {
        bool beyond = low->cut && s == low->count;
        if (beyond ||
            (low->chunk[s] != low->chunk[s - 1] && !covers(table, low->chunk[s], &e->few[n], t)))
            return false;
    }
    return true;
}

static void settle_block(cebus_window_search *search, spot at, uint64_t reach)
{
    cebus_tables *tables = &search->index->tables;
    const cebus_chunk *chunk = &search->index->chunks.at[at.chunk];
    double now = cebus_time_after(search->now);
    event e = {.at = at,
               .block = chunk->blocks[at.place],
               .bytes = chunk->bytes[at.place],
               .hole = chunk->holes >> at.place & 1};
    if ((chunk->walls >> at.place & 1) != 0)
        return;
    search->index->count.events++;
    price_of(chunk, at.place, now, &e.price, &e.slope);
    look_aside(search, at, false, reach, &e.low);
    look_aside(search, at, true, reach, &e.high);
    find_few(&e);
    for (uint32_t i = 0; i < tables->count; i++) {
        cebus_table *table = &tables->table[i];
        if ((e.hole && table->bytes <= e.bytes) || is_known(table, &e, search->now))
            continue; /* a hole serves the size without a search (I4) */
        search->index->count.raises++;
        raise_table(search, table, &e);
    }
}

static uint64_t largest_of(const cebus_tables *tables)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < tables->count; i++)
        most = tables->table[i].bytes > most ? tables->table[i].bytes : most;
    return most;
}

void cebus_window_settle(cebus_window_search *search)
{
    cebus_chunks *chunks = &search->index->chunks;
    uint64_t reach = largest_of(&search->index->tables);
    for (uint32_t id = chunks->noted; id != CEBUS_CHUNK_NONE; id = chunks->at[id].next_noted) {
        cebus_chunk *chunk = &chunks->at[id];
        for (uint32_t bits = chunk->noted; bits != 0; bits &= bits - 1) {
            uint32_t place = (uint32_t)__builtin_ctz(bits);
            weigh(search, chunk->blocks[place]);
            cebus_chunk_read(chunk, place);
        }
    }
    uint32_t id;
    while ((id = cebus_chunks_next_noted(chunks)) != CEBUS_CHUNK_NONE) {
        uint32_t bits = chunks->at[id].noted;
        chunks->at[id].noted = 0;
        for (; bits != 0 && reach > 0; bits &= bits - 1)
            settle_block(search, (spot){id, (uint32_t)__builtin_ctz(bits)}, reach);
    }
}
