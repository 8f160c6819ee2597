#include "evict/choice/vacancy.h"

/** Holes that are kept in mind for what moves. With fewer, less may move. */
#define HOLES 64
/** By no more, as a part of them, bounds are off. */
#define ROUNDING 1e-12

/** Rows first..last and what they cost. */
typedef struct stretch {
    uint32_t first, last;
    double price, moving;
} stretch;

typedef struct search {
    const cebus_board *board;
    const cebus_market *market;
    const cebus_shares *shares;
    const cebus_stakes *stakes;
    double byte_worth; /**< cebus_market_byte_worth() */
    double best;       /**< or what it is no worse than */
    uint32_t last;     /**< of the best */
    double passed;     /**< none that would not matter is better than this */
    bool outdoes;      /**< looking for those, whether one is better than the best that matters */
    bool outdone;
    cebus_vacancy *out;
} search;

/* Whether what moves finds room. */

/** Holes that may take something; of others it is enough that there are so many. */
typedef struct holes {
    uint64_t bytes[HOLES];
    uint64_t least; /**< bytes that they are asked for, at least */
    size_t count, seen;
} holes;

static void keep_hole(holes *kept, uint64_t bytes)
{
    if (bytes == 0 || kept->seen == HOLES)
        return;
    kept->seen++;
    kept->bytes[kept->count] = bytes;
    kept->count += bytes >= kept->least;
}

/** The holes outside of rows first..last, or what is outside of them. */
static void list_holes(const cebus_board *board, uint32_t first, uint32_t last, holes *out)
{
    const uint64_t *offsets = board->offsets;
    for (uint32_t i = 0; i < board->n_holes && out->seen < HOLES; i++) {
        const cebus_board_hole *hole = &board->holes[i];
        if (hole->to < first || hole->from > last) {
            keep_hole(out, hole->bytes);
            continue;
        }
        keep_hole(out, hole->from < first ? offsets[first] - offsets[hole->from] : 0);
        keep_hole(out, hole->to > last ? offsets[hole->to + 1] - offsets[last + 1] : 0);
    }
}

/** Into the smallest hole that takes it; false: none does. */
static bool fill_hole(holes *kept, uint64_t bytes)
{
    size_t best = kept->count;
    for (size_t i = 0; i < kept->count; i++) {
        if (kept->bytes[i] >= bytes && (best == kept->count || kept->bytes[i] < kept->bytes[best]))
            best = i;
    }
    if (best == kept->count)
        return false;
    kept->bytes[best] -= bytes;
    return true;
}

/** The fewest bytes of a row that moves. */
static uint64_t least_moving(const cebus_board *board, double dearest, uint32_t first,
                             uint32_t last)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t row = first; row <= last; row++) {
        uint64_t bytes = cebus_board_bytes(board, row);
        if (bytes < least && !cebus_board_yields(board, row, dearest))
            least = bytes;
    }
    return least;
}

bool cebus_vacancy_settles(const cebus_board *board, double dearest, uint32_t first, uint32_t last)
{
    holes kept = {.least = least_moving(board, dearest, first, last)};
    if (kept.least == UINT64_MAX)
        return true;
    list_holes(board, first, last, &kept);
    for (uint32_t row = first; row <= last; row++) {
        if (!cebus_board_yields(board, row, dearest) &&
            !fill_hole(&kept, cebus_board_bytes(board, row)))
            return false;
    }
    return true;
}

/* Which stretch is best. */

bool cebus_stakes_matter(const cebus_stakes *stakes, const cebus_market *market, uint64_t limit,
                         double moving, uint64_t evicted)
{
    double cost = stakes->cost + moving;
    uint64_t bytes = evicted + stakes->bytes;
    return cost - cebus_market_worth(market, limit, bytes) < stakes->score ||
           (stakes->usable > 0 && cebus_market_usable(market, limit, cost, bytes) < stakes->usable);
}

/** The same by bounds, without a division: false where that leaves it open. */
static bool is_idle_at_once(const search *s, double moving, uint64_t evicted)
{
    const cebus_stakes *stakes = s->stakes;
    double cost = stakes->cost + moving;
    uint64_t bytes = evicted + stakes->bytes;
    return cost - s->byte_worth * (double)bytes >= stakes->score &&
           cost >= stakes->usable * (double)(bytes > s->market->bytes ? bytes : s->market->bytes);
}

/** Of two that are as good the lower is better. */
static bool is_better(const search *s, double net, uint32_t last)
{
    return net < s->best || (net == s->best && last < s->last);
}

/** Bounds first: they spare most stretches the divisions of cebus_market_worth(), and whether one
 * settles is asked last. */
static void weigh(search *s, stretch at)
{
    const cebus_board *board = s->board;
    uint64_t evicted = s->shares->evicted[at.last + 1] - s->shares->evicted[at.first];
    double cost = at.price + at.moving, least = cost - s->byte_worth * (double)evicted;
    if (least > s->best)
        return;
    if (!s->outdoes && is_idle_at_once(s, at.moving, evicted)) {
        s->passed = fmin(s->passed, least);
        return;
    }
    double net = cost - cebus_market_worth(s->market, board->limit, evicted);
    if (!is_better(s, net, at.last))
        return;
    if (!s->outdoes &&
        !cebus_stakes_matter(s->stakes, s->market, board->limit, at.moving, evicted)) {
        s->passed = fmin(s->passed, net);
        return;
    }
    if (!cebus_vacancy_settles(board, s->shares->dearest, at.first, at.last))
        return;
    if (s->outdoes) {
        s->outdone = true;
        return;
    }
    s->best = net;
    s->last = at.last;
    *s->out = (cebus_vacancy){board->blocks[at.first], board->blocks[at.last], evicted, at.price,
                              at.moving};
}

/** For each row the shortest stretch that ends with it. What moves finds room only if there is as
 * much outside. */
static void weigh_all(search *s)
{
    const cebus_board *board = s->board;
    const cebus_shares by = *s->shares;
    const uint64_t *offsets = board->offsets, wanted = s->market->bytes, idle = board->idle;
    stretch at = {.first = by.from, .last = by.from};
    for (; at.last < by.to && !s->outdone; at.last++) {
        if (cebus_shares_wall(board, &by, at.last, CEBUS_BOARD_SETTLED | CEBUS_BOARD_LARGE)) {
            at = (stretch){.first = at.last + 1, .last = at.last};
            continue;
        }
        at.price += by.paid[at.last];
        at.moving += by.moved[at.last];
        uint64_t end = offsets[at.last + 1];
        for (; end - offsets[at.first + 1] >= wanted; at.first++) {
            at.price -= by.paid[at.first];
            at.moving -= by.moved[at.first];
        }
        uint64_t bytes = end - offsets[at.first];
        if (bytes >= wanted && bytes - (by.evicted[at.last + 1] - by.evicted[at.first]) <= idle)
            weigh(s, at);
    }
}

bool cebus_vacancy_find(const cebus_board *board, const cebus_market *market,
                        const cebus_shares *shares, const cebus_stakes *stakes, double most,
                        cebus_vacancy *out)
{
    search s = {.board = board,
                .market = market,
                .shares = shares,
                .stakes = stakes,
                .byte_worth = (1 + ROUNDING) * cebus_market_byte_worth(market),
                .best = most,
                .last = CEBUS_BOARD_NONE,
                .passed = HUGE_VAL,
                .out = out};
    *out = (cebus_vacancy){0};
    if (!market->moves)
        return false;
    weigh_all(&s);
    if (out->first == NULL)
        return false;
    s.outdoes = true;
    if (s.passed <= s.best)
        weigh_all(&s);
    if (s.outdone)
        *out = (cebus_vacancy){0};
    return out->first != NULL;
}
