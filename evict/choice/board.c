#include "evict/choice/board.h"

#include <string.h>

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
    PLACE(scratch.moved, rows);
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
    PLACE(scratch.firsts, rows);
    PLACE(states, rows);
    PLACE(stays, rows);
    PLACE(scratch.yields, rows);
    PLACE(scratch.marks, rows);
#undef PLACE
    return bytes;
}

static uint8_t stays_of(const cebus_block *block)
{
    bool fixed = block->immovable || block->unmapped;
    bool settled = fixed || block->owner == NULL || block->zone == CEBUS_ZONE_PERSISTENT;
    return (uint8_t)((fixed ? CEBUS_BOARD_FIXED : 0) | (settled ? CEBUS_BOARD_SETTLED : 0));
}

static void add_row(cebus_board *board, cebus_block *block, uint64_t now)
{
    uint32_t row = board->count++;
    bool goes = block->state == CEBUS_BLOCK_EVICTABLE;
    board->blocks[row] = block;
    board->states[row] = block->state;
    board->stays[row] = stays_of(block);
    board->offsets[row + 1] = block->offset + block->bytes;
    board->widths[row] = (double)block->bytes;
    board->prices[row + 1] = board->prices[row];
    board->evicted[row + 1] = board->evicted[row];
    board->rates[row] = block->state == CEBUS_BLOCK_FREE ? -HUGE_VAL : HUGE_VAL;
    if (!goes)
        return;
    board->prices[row + 1] += cebus_block_price(block, now);
    board->evicted[row + 1] += block->bytes;
    board->rates[row] = (double)block->weight / (double)(now > block->tick ? now - block->tick : 1);
}

bool cebus_board_make(cebus_board *board, const cebus_arena *arena, uint64_t now)
{
    uint64_t blocks = arena->used_blocks + arena->free_blocks;
    *board = (cebus_board){0};
    void *memory = blocks < NONE
                       ? cebus_pool_alloc(arena->pool, lay_out(board, NULL, (uint32_t)blocks))
                       : NULL;
    if (memory == NULL)
        return false;
    (void)lay_out(board, memory, (uint32_t)blocks);
    board->pool = arena->pool;
    board->limit = arena->limit;
    board->offsets[0] = board->prices[0] = board->evicted[0] = 0;
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        __builtin_prefetch(block->next);
        add_row(board, block, now);
    }
    cebus_board_list_holes(board);
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

static void mark_large(cebus_board *board)
{
    for (uint32_t i = 0; i < board->count; i++) {
        bool large = cebus_board_bytes(board, i) > board->largest;
        board->stays[i] =
            (uint8_t)((board->stays[i] & ~CEBUS_BOARD_LARGE) | (large ? CEBUS_BOARD_LARGE : 0));
    }
}

void cebus_board_list_holes(cebus_board *board)
{
    cebus_board_hole *hole = NULL;
    board->n_holes = 0;
    board->idle = board->largest = 0;
    for (uint32_t i = 0; i < board->count; i++) {
        if (board->states[i] != CEBUS_BLOCK_FREE) {
            hole = NULL;
            continue;
        }
        uint64_t bytes = cebus_board_bytes(board, i);
        if (hole == NULL) {
            hole = &board->holes[board->n_holes++];
            *hole = (cebus_board_hole){.from = i};
        }
        hole->to = i;
        hole->bytes += bytes;
        board->idle += bytes;
        board->largest = hole->bytes > board->largest ? hole->bytes : board->largest;
    }
    mark_large(board);
}

void cebus_board_find_starts(cebus_board *board, uint64_t bytes)
{
    const uint64_t *offsets = board->offsets;
    uint32_t first = 0;
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
