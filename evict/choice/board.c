#include "evict/choice/board.h"

#include <float.h>
#include <string.h>

#include "layout/clones.h"

/** Runs are compared in groups of so many. */
#define GROUP 32
#define NONE CEBUS_BOARD_NONE

/* Rows. */

static size_t groups_of(uint32_t count)
{
    return ((size_t)count + GROUP - 1) / GROUP;
}

/** Lays the board's arrays out in memory, those of the widest items first, and answers how much
 * they take. With NULL only that. */
static size_t lay_out(cebus_board *board, void *memory, uint32_t count)
{
    size_t rows = count, bytes = 0;
    char *at = memory;
#define PLACE(array, items)                                                                        \
    do {                                                                                           \
        if (at != NULL)                                                                            \
            board->array = (void *)(at + bytes);                                                   \
        bytes += (items) * sizeof *board->array;                                                   \
    } while (0)
    PLACE(blocks, rows);
    PLACE(rates, rows);
    PLACE(widths, rows);
    PLACE(offsets, rows + 1);
    PLACE(prices, rows + 1);
    PLACE(evicted, rows + 1);
    PLACE(scratch.paid, rows);
    PLACE(scratch.moved, rows + 1);
    PLACE(scratch.sums, 4 * (rows + 1));
    PLACE(scratch.bounds, (rows + 7) / 8 * 4);
    PLACE(scratch.gained, rows + 1);
    PLACE(scratch.evicted, rows + 1);
    PLACE(holes, rows);
    PLACE(runs, rows);
    PLACE(scratch.sale, rows + 1);
    PLACE(scratch.left, rows + 1);
    PLACE(best, groups_of(count));
    PLACE(starts, rows);
    PLACE(scratch.firsts, rows + 1);
    PLACE(states, rows);
    PLACE(stays, rows);
    PLACE(scratch.yields, rows);
    PLACE(scratch.marks, rows);
#undef PLACE
    return bytes;
}

bool cebus_board_create(cebus_board *board, const cebus_arena *arena)
{
    uint64_t blocks = arena->blocks;
    *board = (cebus_board){0};
    void *memory = blocks < NONE
                       ? cebus_pool_alloc(arena->pool, lay_out(board, NULL, (uint32_t)blocks))
                       : NULL;
    if (memory == NULL)
        return false;
    (void)lay_out(board, memory, (uint32_t)blocks);
    board->pool = arena->pool;
    board->limit = arena->limit;
    board->count = (uint32_t)blocks;
    board->offsets[0] = board->prices[0] = board->evicted[0] = 0;
    return true;
}

static uint8_t stays_of(const cebus_block *block)
{
    bool fixed = block->immovable || block->unmapped;
    bool settled = fixed || block->owner == NULL || block->zone == CEBUS_ZONE_PERSISTENT;
    return (uint8_t)((fixed ? CEBUS_BOARD_FIXED : 0) | (settled ? CEBUS_BOARD_SETTLED : 0));
}

void cebus_board_read(cebus_board *board, uint32_t row, cebus_block *block, uint64_t now)
{
    board->blocks[row] = block;
    board->states[row] = block->state;
    board->stays[row] = stays_of(block);
    board->offsets[row + 1] = block->offset + block->bytes;
    board->scratch.gained[row] = block->weight;
    board->scratch.evicted[row] = now > block->tick ? now - block->tick : 1;
}

/** Of what may go. */
CEBUS_CLONES
static void find_rates(cebus_board *board)
{
    const uint64_t *restrict weights = board->scratch.gained, *restrict ages =
                                                                  board->scratch.evicted;
    const uint64_t *restrict offsets = board->offsets;
    const uint8_t *restrict states = board->states;
    double *restrict rates = board->rates, *restrict widths = board->widths;
    const uint32_t count = board->count;
    for (uint32_t row = 0; row < count; row++) {
        double rate = (double)weights[row] / (double)ages[row];
        double other = states[row] == CEBUS_BLOCK_FREE ? -HUGE_VAL : HUGE_VAL;
        rates[row] = states[row] == CEBUS_BLOCK_EVICTABLE ? rate : other;
        widths[row] = (double)(offsets[row + 1] - offsets[row]);
    }
}

void cebus_board_complete(cebus_board *board, uint64_t now)
{
    uint64_t price = 0, evicted = 0;
    find_rates(board);
    for (uint32_t row = 0; row < board->count; row++) {
        if (board->states[row] == CEBUS_BLOCK_EVICTABLE) {
            price += cebus_block_price(board->blocks[row], now);
            evicted += cebus_board_bytes(board, row);
        }
        board->prices[row + 1] = price;
        board->evicted[row + 1] = evicted;
    }
    cebus_board_list_holes(board);
}

bool cebus_board_make(cebus_board *board, const cebus_arena *arena, uint64_t now)
{
    uint32_t row = 0;
    if (!cebus_board_create(board, arena))
        return false;
    for (cebus_block *block = arena->first; block != NULL; block = block->next)
        cebus_board_read(board, row++, block, now);
    cebus_board_complete(board, now);
    return true;
}

void cebus_board_free(cebus_board *board)
{
    if (board->pool != NULL)
        cebus_pool_free_object(board->pool, board->blocks, lay_out(board, NULL, board->count));
    board->pool = NULL;
}

uint32_t cebus_board_find(const cebus_board *board, const cebus_block *block)
{
    uint32_t low = 0, high = board->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (board->offsets[middle] <= block->offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void cebus_board_open(cebus_board *board, uint32_t row)
{
    board->states[row] = CEBUS_BLOCK_FREE;
    board->rates[row] = -HUGE_VAL;
}

CEBUS_CLONES
static void mark_large(cebus_board *board)
{
    const uint64_t *restrict offsets = board->offsets, largest = board->largest;
    uint8_t *restrict stays = board->stays;
    const uint32_t count = board->count;
    for (uint32_t i = 0; i < count; i++) {
        bool large = offsets[i + 1] - offsets[i] > largest;
        stays[i] = (uint8_t)((stays[i] & ~CEBUS_BOARD_LARGE) | (large ? CEBUS_BOARD_LARGE : 0));
    }
}

void cebus_board_list_holes(cebus_board *board)
{
    const uint8_t *states = board->states, *end = states + board->count, *at = states;
    board->n_holes = 0;
    board->idle = board->largest = 0;
    _Static_assert(CEBUS_BLOCK_FREE == 0, "memchr() looks for what is free");
    while ((at = memchr(at, CEBUS_BLOCK_FREE, (size_t)(end - at))) != NULL) {
        cebus_board_hole *hole = &board->holes[board->n_holes++];
        hole->from = (uint32_t)(at - states);
        while (at < end && *at == CEBUS_BLOCK_FREE)
            at++;
        hole->to = (uint32_t)(at - states) - 1;
        hole->bytes = board->offsets[hole->to + 1] - board->offsets[hole->from];
        board->idle += hole->bytes;
        board->largest = hole->bytes > board->largest ? hole->bytes : board->largest;
    }
    mark_large(board);
}

/* What is cheap. */

/** Rows are looked at in groups of so many. */
#define FEW 8
/** So often a range of numbers is halved: 62 times would make it one. */
#define HALVES 24
/** Prices by the byte are off by less, as a part of them. */
#define ROUNDING 1e-9

/** Prices by the byte of what may go, and of each group of rows the least. */
CEBUS_CLONES
static void find_least(const cebus_board *board, double *restrict byte_prices,
                       double *restrict least)
{
    const double *restrict rates = board->rates, *restrict widths = board->widths;
    const uint32_t count = board->count;
    for (uint32_t row = 0; row < count; row++)
        byte_prices[row] = rates[row] < 0 ? HUGE_VAL : rates[row] / widths[row];
    for (uint32_t group = 0; group < (count + FEW - 1) / FEW; group++) {
        double one = HUGE_VAL;
        uint32_t end = (group + 1) * FEW < count ? (group + 1) * FEW : count;
        for (uint32_t row = group * FEW; row < end; row++)
            one = byte_prices[row] < one ? byte_prices[row] : one;
        least[group] = one;
    }
}

CEBUS_CLONES
static uint32_t count_up_to(const double *numbers, uint32_t count, double most)
{
    int64_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += numbers[i] <= most;
    return (uint32_t)found;
}

/** A number that so many of these, none of them below 0, are no greater than, and few more;
 * DBL_MAX: they are fewer. */
static double bound_least(const double *numbers, uint32_t count, uint32_t wanted)
{
    /* In halves by the digits of a double, which are in its order. */
    union {
        double number;
        uint64_t digits;
    } low = {.number = 0}, high = {.number = DBL_MAX}, middle;
    if (count_up_to(numbers, count, high.number) < wanted)
        return high.number;
    for (int i = 0; i < HALVES; i++) {
        middle.digits = low.digits + (high.digits - low.digits) / 2;
        uint32_t found = count_up_to(numbers, count, middle.number);
        if (found < wanted)
            low = middle;
        else
            high = middle;
        if (found >= wanted && found <= wanted + wanted / 4)
            break;
    }
    return high.number;
}

/** Those of the rows that cost no more, of which each group of rows has its least. */
static uint32_t list_rows(const cebus_board *board, const double *least, double most,
                          double *prices, uint32_t *out)
{
    const double *byte_prices = board->scratch.paid;
    uint32_t n = 0;
    for (uint32_t from = 0, group = 0; from < board->count; from += FEW, group++) {
        const uint32_t end = from + FEW < board->count ? from + FEW : board->count;
        for (uint32_t row = from; least[group] <= most && row < end; row++) {
            out[n] = row;
            prices[n] = byte_prices[row];
            n += byte_prices[row] <= most;
        }
    }
    return n;
}

/** A limit that none of them passes by rounding. */
static double beyond(double most)
{
    return fmin(most * (1 + ROUNDING), DBL_MAX);
}

uint32_t cebus_board_list_cheap(cebus_board *board, uint32_t limit, const uint32_t **out)
{
    const uint32_t groups = (board->count + FEW - 1) / FEW;
    double *least = board->scratch.bounds, *prices = board->scratch.moved;
    uint32_t *rows = board->scratch.firsts, count, n = 0;
    find_least(board, board->scratch.paid, least);
    count = list_rows(board, least, beyond(bound_least(least, groups, limit)), prices, rows);
    const double most = beyond(bound_least(prices, count, limit));
    for (uint32_t i = 0; i < count; i++) {
        rows[n] = rows[i];
        n += prices[i] <= most;
    }
    *out = rows;
    return n;
}

void cebus_board_find_starts(cebus_board *board, uint64_t bytes)
{
    const uint64_t *offsets = board->offsets;
    uint32_t first = 0;
    bytes = bytes != 0 ? bytes : 1;
    if (board->started == bytes)
        return;
    for (uint32_t row = 0; row < board->count; row++) {
        while (offsets[row + 1] - offsets[first + 1] >= bytes)
            first++;
        board->starts[row] = first;
    }
    board->started = bytes;
}

/* Windows. */

static uint64_t evicted_of(const cebus_board *board, const cebus_board_run *run)
{
    return board->evicted[run->last + 1] - board->evicted[run->first];
}

static bool is_better(const cebus_board *board, const cebus_board_run *a, const cebus_board_run *b)
{
    return a->price < b->price ||
           (a->price == b->price && evicted_of(board, a) < evicted_of(board, b));
}

static void find_runs(cebus_board *board, uint64_t wanted)
{
    const uint64_t *offsets = board->offsets, *prices = board->prices;
    uint32_t count = 0, first = 0;
    for (uint32_t i = 0; i < board->count; i++) {
        if (board->states[i] == CEBUS_BLOCK_BARRIER) {
            first = i + 1;
            continue;
        }
        while (offsets[i + 1] - offsets[first + 1] >= wanted)
            first++;
        board->runs[count] = (cebus_board_run){prices[i + 1] - prices[first], first, i};
        count += offsets[i + 1] - offsets[first] >= wanted && offsets[i] - offsets[first] < wanted;
    }
    board->n_runs = count;
}

/** The lowest of equals. */
static void find_best(const cebus_board *board, uint32_t group)
{
    const cebus_board_run *runs = board->runs;
    uint32_t end = (group + 1) * GROUP, best = group * GROUP;
    end = end < board->n_runs ? end : board->n_runs;
    for (uint32_t i = best + 1; i < end; i++) {
        if (runs[i].price <= runs[best].price && is_better(board, &runs[i], &runs[best]))
            best = i;
    }
    board->best[group] = best;
}

/** NONE: all are taken. */
static uint32_t best_of_all(const cebus_board *board)
{
    const cebus_board_run *runs = board->runs;
    uint32_t best = NONE;
    for (uint32_t group = 0; group < groups_of(board->n_runs); group++) {
        uint32_t one = board->best[group];
        if (best == NONE || is_better(board, &runs[one], &runs[best]))
            best = one;
    }
    return best != NONE && runs[best].price != UINT64_MAX ? best : NONE;
}

/** Runs that share a row with this one are none any more. Of two, that which starts later ends
 * later. */
static void take(cebus_board *board, uint32_t run)
{
    cebus_board_run *runs = board->runs;
    const uint32_t from = runs[run].first, to = runs[run].last;
    uint32_t low = run, high = run + 1;
    while (low > 0 && runs[low - 1].last >= from)
        low--;
    while (high < board->n_runs && runs[high].first <= to)
        high++;
    for (uint32_t i = low; i < high; i++)
        runs[i].price = UINT64_MAX;
    for (uint32_t group = low / GROUP; group <= (high - 1) / GROUP; group++)
        find_best(board, group);
}

static cebus_window window_of(const cebus_board *board, const cebus_board_run *run)
{
    cebus_window window = {.first = board->blocks[run->first],
                           .last = board->blocks[run->last],
                           .price = run->price,
                           .evicted_bytes = evicted_of(board, run)};
    for (uint32_t i = run->first; i <= run->last; i++)
        window.evicted_blocks += board->states[i] != CEBUS_BLOCK_FREE;
    return window;
}

size_t cebus_board_find_windows(cebus_board *board, uint64_t bytes, cebus_window *out, size_t limit)
{
    size_t count = 0;
    uint32_t best;
    find_runs(board, bytes != 0 ? bytes : 1);
    for (uint32_t group = 0; group < groups_of(board->n_runs); group++)
        find_best(board, group);
    while (count < limit && (best = best_of_all(board)) != NONE) {
        out[count++] = window_of(board, &board->runs[best]);
        take(board, best);
    }
    return count;
}
