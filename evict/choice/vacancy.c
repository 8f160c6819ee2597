#include "evict/choice/vacancy.h"

/** Holes that are kept in mind for what moves. With fewer, less may move. */
#define HOLES 64

/** What a block adds to a stretch. */
typedef struct share {
    double price, moving;
    uint64_t bytes, idle, evicted; /**< idle: free before */
} share;

typedef struct search {
    const cebus_board *board;
    const cebus_market *market;
    double dearest;
} search;

/** False: neither goes nor moves. */
static bool share_of(const search *s, const cebus_board_row *row, share *out)
{
    *out = (share){.bytes = row->bytes};
    if (row->state == CEBUS_BLOCK_FREE) {
        out->idle = row->bytes;
    } else if (cebus_market_sells_row(row, s->dearest)) {
        out->price = row->rate;
        out->evicted = row->bytes;
    } else {
        if (row->settled || row->bytes > s->board->largest)
            return false;
        out->moving = s->market->move_byte * (double)row->bytes + s->market->move_block;
    }
    return true;
}

static void add(share *sum, const share *one)
{
    sum->price += one->price;
    sum->moving += one->moving;
    sum->bytes += one->bytes;
    sum->idle += one->idle;
    sum->evicted += one->evicted;
}

static void take_away(share *sum, const share *one)
{
    sum->price -= one->price;
    sum->moving -= one->moving;
    sum->bytes -= one->bytes;
    sum->idle -= one->idle;
    sum->evicted -= one->evicted;
}

/** The holes outside of rows first..last, or what is outside of them. */
static size_t list_holes(const cebus_board *board, uint32_t first, uint32_t last,
                         uint64_t out[HOLES])
{
    const cebus_board_row *rows = board->rows;
    size_t count = 0;
    for (uint32_t i = 0; i < board->n_holes && count < HOLES; i++) {
        const cebus_board_hole *hole = &board->holes[i];
        uint64_t below = hole->from < first && hole->to >= first
                             ? rows[first].offset - rows[hole->from].offset
                             : 0;
        uint64_t above = hole->to > last && hole->from <= last
                             ? rows[hole->to].offset + rows[hole->to].bytes - rows[last].offset -
                                   rows[last].bytes
                             : 0;
        if (hole->to < first || hole->from > last)
            out[count++] = hole->bytes;
        if (below > 0)
            out[count++] = below;
        if (above > 0 && count < HOLES)
            out[count++] = above;
    }
    return count;
}

/** Whether what moves finds holes outside. */
static bool settles(const search *s, uint32_t first, uint32_t last)
{
    uint64_t holes[HOLES];
    size_t count = list_holes(s->board, first, last, holes);
    for (uint32_t k = first; k <= last; k++) {
        const cebus_board_row *row = &s->board->rows[k];
        if (row->state == CEBUS_BLOCK_FREE || cebus_market_sells_row(row, s->dearest))
            continue;
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            if (holes[i] >= row->bytes && (best == count || holes[i] < holes[best]))
                best = i;
        }
        if (best == count)
            return false;
        holes[best] -= row->bytes;
    }
    return true;
}

bool cebus_vacancy_find(const cebus_board *board, const cebus_market *market, double dearest,
                        cebus_vacancy *out)
{
    search s = {board, market, dearest};
    const cebus_board_row *rows = board->rows;
    share sum = {0}, one;
    double best = 0;
    *out = (cebus_vacancy){0};
    for (uint32_t k = 0, first = 0; k < board->count && market->moves; k++) {
        if (!share_of(&s, &rows[k], &one)) {
            sum = (share){0};
            first = k + 1;
            continue;
        }
        add(&sum, &one);
        while (share_of(&s, &rows[first], &one) && sum.bytes - one.bytes >= market->bytes) {
            take_away(&sum, &one);
            first++;
        }
        double net = sum.price + sum.moving - cebus_market_worth(market, board->limit, sum.evicted);
        if (sum.bytes < market->bytes || (out->first != NULL && net >= best) ||
            sum.bytes - sum.idle - sum.evicted > board->idle - sum.idle || !settles(&s, first, k))
            continue;
        *out =
            (cebus_vacancy){rows[first].block, rows[k].block, sum.evicted, sum.price, sum.moving};
        best = net;
    }
    return out->first != NULL;
}
