#include "evict/choice/board.h"

/** Runs are compared in groups of so many. */
#define GROUP 64
#define NONE UINT32_MAX

/* Rows. */

static size_t groups_of(uint32_t count)
{
    return ((size_t)count + GROUP - 1) / GROUP;
}

static size_t bytes_of(uint32_t count)
{
    return count * (sizeof(cebus_board_row) + sizeof(cebus_board_hole) + sizeof(cebus_board_run)) +
           groups_of(count) * sizeof(uint32_t);
}

static cebus_board_row row_of(cebus_block *block, uint64_t now)
{
    cebus_board_row row = {.block = block,
                           .offset = block->offset,
                           .bytes = block->bytes,
                           .state = block->state,
                           .fixed = block->immovable || block->unmapped};
    row.settled = row.fixed || block->owner == NULL || block->zone == CEBUS_ZONE_PERSISTENT;
    if (block->state != CEBUS_BLOCK_EVICTABLE)
        return row;
    row.price = cebus_block_price(block, now);
    row.rate = (double)block->weight / (double)(now > block->tick ? now - block->tick : 1);
    return row;
}

bool cebus_board_make(cebus_board *board, const cebus_arena *arena, uint64_t now)
{
    uint64_t blocks = arena->used_blocks + arena->free_blocks;
    *board = (cebus_board){0};
    board->rows = blocks < NONE ? cebus_pool_alloc(arena->pool, bytes_of((uint32_t)blocks)) : NULL;
    if (board->rows == NULL)
        return false;
    board->pool = arena->pool;
    board->limit = arena->limit;
    board->holes = (cebus_board_hole *)(board->rows + blocks);
    board->runs = (cebus_board_run *)(board->holes + blocks);
    board->best = (uint32_t *)(board->runs + blocks);
    for (cebus_block *block = arena->first; block != NULL; block = block->next) {
        __builtin_prefetch(block->next);
        board->rows[board->count++] = row_of(block, now);
    }
    cebus_board_list_holes(board);
    return true;
}

void cebus_board_free(cebus_board *board)
{
    if (board->pool != NULL)
        cebus_pool_free_object(board->pool, board->rows, bytes_of(board->count));
    board->pool = NULL;
}

cebus_board_row *cebus_board_find(const cebus_board *board, const cebus_block *block)
{
    uint32_t low = 0, high = board->count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (board->rows[middle].offset <= block->offset)
            low = middle;
        else
            high = middle;
    }
    return &board->rows[low];
}

void cebus_board_list_holes(cebus_board *board)
{
    cebus_board_hole *hole = NULL;
    board->n_holes = 0;
    board->idle = board->largest = 0;
    for (uint32_t i = 0; i < board->count; i++) {
        const cebus_board_row *row = &board->rows[i];
        if (row->state != CEBUS_BLOCK_FREE) {
            hole = NULL;
            continue;
        }
        if (hole == NULL) {
            hole = &board->holes[board->n_holes++];
            *hole = (cebus_board_hole){.from = i};
        }
        hole->to = i;
        hole->bytes += row->bytes;
        board->idle += row->bytes;
        board->largest = hole->bytes > board->largest ? hole->bytes : board->largest;
    }
}

/* Windows. */

static void push(cebus_board_run *sum, uint64_t *bytes, const cebus_board_row *row)
{
    *bytes += row->bytes;
    sum->price += row->price;
    sum->evicted_bytes += row->state != CEBUS_BLOCK_FREE ? row->bytes : 0;
}

static void pop(cebus_board_run *sum, uint64_t *bytes, const cebus_board_row *row)
{
    *bytes -= row->bytes;
    sum->price -= row->price;
    sum->evicted_bytes -= row->state != CEBUS_BLOCK_FREE ? row->bytes : 0;
}

/** All runs none of whose ends could be left out. */
static void find_runs(cebus_board *board, uint64_t wanted)
{
    cebus_board_run sum = {0};
    uint64_t bytes = 0;
    for (uint32_t i = 0, first = 0; i < board->count; i++) {
        const cebus_board_row *row = &board->rows[i];
        board->runs[i].price = UINT64_MAX;
        if (row->state == CEBUS_BLOCK_BARRIER) {
            sum = (cebus_board_run){0};
            bytes = 0;
            first = i + 1;
            continue;
        }
        push(&sum, &bytes, row);
        while (bytes - board->rows[first].bytes >= wanted)
            pop(&sum, &bytes, &board->rows[first++]);
        sum.last = i;
        if (bytes >= wanted && bytes - row->bytes < wanted)
            board->runs[first] = sum;
    }
}

static bool is_better(const cebus_board_run *a, const cebus_board_run *b)
{
    return a->price != b->price ? a->price < b->price : a->evicted_bytes < b->evicted_bytes;
}

static void find_best(const cebus_board *board, uint32_t group)
{
    uint32_t end = (group + 1) * GROUP, best = NONE;
    end = end < board->count ? end : board->count;
    for (uint32_t i = group * GROUP; i < end; i++) {
        const cebus_board_run *run = &board->runs[i];
        if (run->price != UINT64_MAX && (best == NONE || is_better(run, &board->runs[best])))
            best = i;
    }
    board->best[group] = best;
}

/** The lowest of equals. */
static uint32_t best_of_all(const cebus_board *board)
{
    uint32_t best = NONE;
    for (uint32_t group = 0; group < groups_of(board->count); group++) {
        uint32_t one = board->best[group];
        if (one != NONE && (best == NONE || is_better(&board->runs[one], &board->runs[best])))
            best = one;
    }
    return best;
}

/** Runs that share a block with this one are none any more. Of two, that which starts later ends
 * later. */
static void take(cebus_board *board, uint32_t first)
{
    uint32_t last = board->runs[first].last, low = first;
    for (; low > 0 && board->rows[low - 1].state != CEBUS_BLOCK_BARRIER &&
           (board->runs[low - 1].price == UINT64_MAX || board->runs[low - 1].last >= first);
         low--)
        board->runs[low - 1].price = UINT64_MAX;
    for (uint32_t i = first; i <= last; i++)
        board->runs[i].price = UINT64_MAX;
    for (uint32_t group = low / GROUP; group <= last / GROUP; group++)
        find_best(board, group);
}

static cebus_window window_of(const cebus_board *board, uint32_t first)
{
    const cebus_board_run *run = &board->runs[first];
    cebus_window window = {.first = board->rows[first].block,
                           .last = board->rows[run->last].block,
                           .price = run->price,
                           .evicted_bytes = run->evicted_bytes};
    for (uint32_t i = first; i <= run->last; i++)
        window.evicted_blocks += board->rows[i].state != CEBUS_BLOCK_FREE;
    return window;
}

size_t cebus_board_find_windows(cebus_board *board, uint64_t bytes, cebus_window *out, size_t limit)
{
    size_t count = 0;
    uint32_t first;
    find_runs(board, bytes != 0 ? bytes : 1);
    for (uint32_t group = 0; group < groups_of(board->count); group++)
        find_best(board, group);
    while (count < limit && (first = best_of_all(board)) != NONE) {
        out[count++] = window_of(board, first);
        take(board, first);
    }
    return count;
}
