#include "evict/choice/choose.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "evict/choice/contest.h"
#include "evict/choice/lowest.h"
#include "layout/window/index.h"

/** How many of the lowest prices are worked out exactly. */
#define REFINED 8
/** Sizes of windows: the request, twice, four times. */
#define SIZES 3
/** Larger sizes beside these, doubled each time, where searches have a price. */
#define MORE_SIZES 4
#define CANDIDATES (2 * REFINED + MORE_SIZES)
/** What a search takes, in ns a block that is read; and how many times the price of what goes that
 * must be for the search to have a price. */
#define SEARCH_NS 16
#define SEARCH_COUNTS 8
/** Prices promise twice what is paid in the end: what several values need is made again once, and
 * some of it nobody misses. On ResNet-50 2.2 to 2.5 times. A copy is paid in full. */
#define PROMISED 2.0

/* Offers that stand may be of blocks that are gone: whoever takes part beside windows reads them.
 */
_Static_assert(CEBUS_CLEARING_BLOCKS <= CEBUS_STANDING_BLOCKS, "clearings read offered blocks");

/** Up to `enough`. */
static uint64_t find_room(const cebus_chooser *chooser, uint64_t enough)
{
    uint64_t found = cebus_arena_free_bytes(chooser->arena);
    if (chooser->policy->unit == CEBUS_UNIT_NONE)
        return found;
    for (const cebus_block *block = chooser->arena->first; block != NULL && found < enough;
         block = block->next) {
        if (block->state != CEBUS_BLOCK_FREE && block->owner != NULL &&
            cebus_pricing_may_go(chooser, block->owner))
            found += block->bytes;
    }
    return found;
}

bool cebus_choose_suffices(const cebus_chooser *chooser, uint64_t bytes)
{
    return find_room(chooser, bytes) >= bytes;
}

uint64_t cebus_choose_room(const cebus_chooser *chooser)
{
    return find_room(chooser, UINT64_MAX);
}

static uint64_t price_now(const cebus_chooser *chooser, const cebus_block *block)
{
    return block != NULL ? cebus_block_price(block, chooser->now) : 0;
}

/** Single victims, the lowest first, each with the price of the one that comes next. */
static size_t take_victims(const cebus_chooser *chooser, cebus_shortlist *list, cebus_victims *out)
{
    size_t count = list->count;
    const cebus_block *next = list->lost.block;
    for (size_t i = count; i-- > 0;) {
        cebus_block *block = cebus_shortlist_pop(list).block;
        out[i] = (cebus_victims){.first = block,
                                 .last = block,
                                 .price = price_now(chooser, block),
                                 .next_price = price_now(chooser, next)};
        next = block;
    }
    return count;
}

static size_t choose_lowest(const cebus_chooser *chooser, bool keep_prices, uint64_t bytes,
                            cebus_victims *out, size_t limit)
{
    cebus_shortlist list;
    cebus_shortlist_init(&list, bytes, limit);
    cebus_lowest_list(chooser, keep_prices, &list);
    return take_victims(chooser, &list, out);
}

#if CEBUS_CHECKS >= 2
/** A sweep finds the same. */
static void check_windows(const cebus_chooser *chooser, uint64_t bytes, const cebus_window *found,
                          size_t count, size_t limit)
{
    cebus_window swept[REFINED] = {{0}};
    assert(cebus_window_find_best(chooser->arena, bytes, chooser->now, swept, limit) == count);
    for (size_t i = 0; i < count; i++) {
        assert(swept[i].first == found[i].first && swept[i].last == found[i].last);
        assert(swept[i].price == found[i].price);
    }
    assert(chooser->arena->index == NULL ||
           cebus_window_index_check(chooser->arena->index, NULL, 0));
}
#endif

/** Prices blocks as a search reads them. */
typedef struct pricer {
    const cebus_chooser *chooser;
    bool fell; /**< one of them costs less than was known: what was skipped may win now */
} pricer;

static void price_read(void *context, cebus_block *block)
{
    pricer *reads = context;
    uint64_t before = block->weight;
    cebus_pricing_block(reads->chooser, block);
    reads->fell |=
        block->weight < before && before != CEBUS_WEIGHT_WALL; /* no search reads those */
}

/** Where prices stand, what would win is priced first. */
static size_t find_indexed(const cebus_chooser *chooser, uint64_t bytes, bool stands,
                           cebus_window *out, size_t limit)
{
    pricer reads = {.chooser = chooser};
    cebus_weigher weigher = {price_read, &reads};
    size_t count;
    do {
        reads.fell = false;
        count = cebus_window_index_find(chooser->arena->index, bytes, chooser->now,
                                        stands ? &weigher : NULL, out, limit);
    } while (reads.fell);
    return count;
}

/** Up to `limit` (at most REFINED), through the index where there are blocks enough and host
 * memory. */
static size_t find_windows(const cebus_chooser *chooser, uint64_t bytes, bool stands,
                           cebus_window *out, size_t limit)
{
    cebus_arena *arena = chooser->arena;
    bool many = arena->blocks >= CEBUS_WINDOW_INDEX_BLOCKS;
    if (arena->index == NULL && many)
        (void)cebus_window_index_create(arena);
    if (stands && arena->index == NULL)
        cebus_lowest_price(chooser);
    size_t count = arena->index != NULL && many
                       ? find_indexed(chooser, bytes, stands, out, limit)
                       : cebus_window_find_best(arena, bytes, chooser->now, out, limit);
#if CEBUS_CHECKS >= 2
    check_windows(chooser, bytes, out, count, limit);
#endif
    return count;
}

static cebus_victims best_window(const cebus_chooser *chooser, uint64_t bytes, bool stands)
{
    cebus_window best[2] = {{0}};
    if (!stands)
        cebus_lowest_price(chooser);
    find_windows(chooser, bytes, stands, best, chooser->compare ? 2 : 1);
    return (cebus_victims){.first = best[0].first,
                           .last = best[0].last,
                           .price = best[0].price,
                           .next_price = best[1].first != NULL ? best[1].price : 0};
}

/** A weight above this has a price above `units`. */
static uint64_t most_weight(const cebus_chooser *chooser, const cebus_block *block, double units)
{
    if (units >= (double)(CEBUS_PRICE_MAX >> CEBUS_PRICE_SHIFT))
        return UINT64_MAX; /* no block's price is more than that */
    uint64_t age = chooser->now > block->tick ? chooser->now - block->tick : 1;
    double weight = units * (double)age * (1 + 1e-9) + 1;
    return weight < 0x1p63 ? (uint64_t)fmax(weight, 0) : UINT64_MAX;
}

/** What all that goes of a window really costs, and the ns to make it again. False: more than
 * `most`; walks end as soon as that is clear. */
static bool find_exact_sum(const cebus_chooser *chooser, const cebus_window *window, double most,
                           uint64_t *out_price, double *out_ns)
{
    double units = (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT);
    *out_price = 0;
    *out_ns = 0;
    for (const cebus_block *block = window->first;; block = block->next) {
        if (block->state == CEBUS_BLOCK_EVICTABLE) {
            cebus_block exact = *block;
            double left = most - (double)*out_price / units;
            if (!cebus_pricing_exact_within(chooser, block, most_weight(chooser, block, left),
                                            &exact.weight))
                return false;
            *out_price += cebus_block_price(&exact, chooser->now);
            *out_ns += (double)exact.weight;
        }
        if (block == window->last)
            return true;
    }
}

/** The best of the few lowest scores by what they really are. */
static cebus_victims refine_lowest(const cebus_chooser *chooser)
{
    cebus_shortlist list;
    double best = 0, second = 0;
    cebus_block *chosen = NULL, *next = NULL;
    cebus_shortlist_init(&list, UINT64_MAX, REFINED);
    cebus_lowest_list_alone(chooser, &list);
    while (list.count > 0) {
        cebus_block *block = cebus_shortlist_pop(&list).block;
        double score = cebus_pricing_exact_score(chooser, block);
        if (chosen == NULL || score <= best) { /* popped last first: at a tie the lower */
            next = chosen;
            second = best;
            chosen = block;
            best = score;
        } else if (next == NULL || score <= second) {
            next = block;
            second = score;
        }
    }
    return (cebus_victims){.first = chosen,
                           .last = chosen,
                           .price = chosen != NULL ? cebus_pricing_exact_price(chooser, chosen) : 0,
                           .next_price =
                               next != NULL ? cebus_pricing_exact_price(chooser, next) : 0};
}

/** Whether scores are prices by the byte, so that the board tells about which are low. */
static bool scores_by_rate(const cebus_chooser *chooser)
{
    return chooser->policy->score == NULL;
}

/** Offers what may be among the lowest. By its rate a score is known up to rounding. */
static void offer_board(const cebus_chooser *chooser, cebus_board *board, cebus_shortlist *list)
{
    const uint32_t *rows;
    uint32_t count = cebus_board_list_cheap(board, (uint32_t)list->limit, &rows);
    for (uint32_t i = 0; i < count; i++) {
        double score = cebus_pricing_score_now(chooser, board->blocks[rows[i]]);
        cebus_shortlist_offer(list, (cebus_scored){score, board->blocks[rows[i]]});
    }
}

/** The lowest scores, lowest first; the first few exact. */
static size_t list_offers(const cebus_chooser *chooser, cebus_board *board,
                          cebus_offer out[CEBUS_SHORTLIST_MAX])
{
    cebus_shortlist list;
    cebus_shortlist_init(&list, UINT64_MAX, CEBUS_SHORTLIST_MAX);
    if (board->pool != NULL && scores_by_rate(chooser))
        offer_board(chooser, board, &list);
    else
        cebus_lowest_sweep(chooser, &list);
    size_t count = list.count;
    for (size_t i = count; i-- > 0;) {
        cebus_scored one = cebus_shortlist_pop(&list);
        if (i < REFINED)
            one.score = cebus_pricing_exact_score(chooser, one.block);
        out[i] = (cebus_offer){one.score, one.block->bytes, one.block->tick, one.block};
    }
    for (size_t i = 1; i < count && i < REFINED; i++) {
        cebus_offer one = out[i];
        size_t at = i;
        for (; at > 0 && out[at - 1].score > one.score; at--)
            out[at] = out[at - 1];
        out[at] = one;
    }
    return count;
}

/** Those of the last sweep while its prices stand. */
static size_t find_offers(const cebus_chooser *chooser, cebus_board *board, bool stands,
                          cebus_offer out[CEBUS_SHORTLIST_MAX])
{
    cebus_standing *standing = chooser->standing;
    if (!stands || standing->n_offers == 0) {
        size_t count = list_offers(chooser, board, out);
        if (standing != NULL) {
            standing->n_offers = count;
            memcpy(standing->offers, out, count * sizeof *out);
        }
        return count;
    }
    memcpy(out, standing->offers, standing->n_offers * sizeof *out);
    return standing->n_offers;
}

/** The price of one search, `ns_price` for each ns of it; 0 where it is too little to count, or the
 * device computes meanwhile. */
static double search_price(const cebus_chooser *chooser, const cebus_market *market,
                           double ns_price)
{
    const cebus_arena *arena = chooser->arena;
    double blocks = fmin((double)(arena->blocks), CEBUS_CLEARING_BLOCKS);
    double price = PROMISED * SEARCH_NS * blocks * ns_price;
    bool counts =
        chooser->waits && price > SEARCH_COUNTS * market->byte_price * (double)market->bytes;
    return counts ? price : 0;
}

/** Whether more than windows competes. */
static bool are_few(const cebus_arena *arena)
{
    return arena->blocks < CEBUS_CLEARING_BLOCKS;
}

/** The market's price: what a byte would cost if addresses did not matter, that of the last of the
 * lowest scores that together have what is missing. The time of a move is turned into a price as if
 * a value of their age took it to make again; times PROMISED, since a move is paid in full. */
static void find_market(cebus_contest *contest, uint64_t bytes, bool stands)
{
    const cebus_chooser *chooser = contest->chooser;
    const cebus_move_terms *moves = &chooser->moves;
    uint64_t found = cebus_arena_free_bytes(chooser->arena);
    bool joins = moves->rate > 0 && are_few(chooser->arena);
    cebus_market market = {.now = chooser->now,
                           .bytes = bytes,
                           .idle = joins ? found : 0,
                           .passing = chooser->replaying,
                           .moves = moves->rate > 0};
    double weight = 0, price = 0;
    contest->count = find_offers(chooser, &contest->board, stands, contest->lowest);
    for (size_t i = 0; i < contest->count && (i == 0 || found < bytes); i++) {
        const cebus_offer *offer = &contest->lowest[i];
        uint64_t age = chooser->now > offer->tick ? chooser->now - offer->tick : 1;
        double one = offer->score * (double)offer->bytes;
        market.byte_price = offer->score;
        weight += one * (double)age;
        price += one;
        found += offer->bytes;
    }
    market.ns = weight;
    if (market.moves && price > 0) {
        market.move_byte = PROMISED * 1e9 / (double)moves->rate * price / weight;
        market.move_block = PROMISED * (double)moves->ns * price / weight;
    }
    if (price > 0)
        market.search = search_price(chooser, &market, price / weight);
    contest->market = market;
}

/** Windows, from the board where there is one. */
static size_t find_priced(cebus_contest *contest, uint64_t bytes, bool stands, cebus_window *out,
                          size_t limit)
{
    if (contest->board.pool == NULL)
        return find_windows(contest->chooser, bytes, stands, out, limit);
    size_t count = cebus_board_find_windows(&contest->board, bytes, out, limit);
#if CEBUS_CHECKS >= 2
    cebus_window others[REFINED];
    assert(find_windows(contest->chooser, bytes, stands, others, limit) == count);
    check_windows(contest->chooser, bytes, out, count, limit);
#endif
    return count;
}

/** The best windows of the size and, since a larger hole may be cheaper by the byte, some of its
 * multiples. */
static size_t find_candidates(cebus_contest *contest, bool stands, cebus_window out[CANDIDATES])
{
    uint64_t bytes = contest->market.bytes;
    int sizes = contest->market.search > 0 ? SIZES + MORE_SIZES : SIZES;
    size_t count = 0;
    for (int i = 0; i < sizes && bytes <= contest->chooser->arena->capacity >> i; i++)
        count +=
            find_priced(contest, bytes << i, stands, out + count, i < SIZES ? REFINED >> i : 1);
    return count;
}

#if CEBUS_CHECKS >= 2
/** It does not matter what a window costs in full that costs too much. */
static void check_lost(const cebus_contest *contest, const cebus_window *w)
{
    cebus_contest other = *contest;
    cebus_victims victims = {w->first, w->last};
    double ns;
    (void)find_exact_sum(contest->chooser, w, HUGE_VAL, &victims.price, &ns);
    cebus_contest_enter_window(&other, &victims, w->evicted_bytes, ns);
    assert(other.winner.victims.first == contest->winner.victims.first);
    assert(other.best == contest->best);
    assert(!contest->chooser->compare ||
           other.winner.victims.next_price == contest->winner.victims.next_price);
    assert(contest->board.pool == NULL || other.usable == contest->usable ||
           contest->market.idle >= contest->market.bytes || !contest->market.moves);
}
#endif

/** Windows all of which goes. */
static void enter_windows(cebus_contest *contest, bool stands)
{
    cebus_window windows[CANDIDATES];
    size_t count = find_candidates(contest, stands, windows);
    for (size_t i = 0; i < count; i++) {
        const cebus_window *w = &windows[i];
        double ns, most = cebus_contest_most(contest, w->evicted_bytes);
        cebus_victims victims = {w->first, w->last};
        if (find_exact_sum(contest->chooser, w, most, &victims.price, &ns))
            cebus_contest_enter_window(contest, &victims, w->evicted_bytes, ns);
#if CEBUS_CHECKS >= 2
        else
            check_lost(contest, w);
#endif
    }
}

/** Windows, and what is cleared otherwise where that may save as much time as it takes to look for.
 * Without a board windows alone. */
static cebus_victims hold_contest(cebus_contest *contest, bool stands)
{
    const cebus_victims *winner = &contest->winner.victims;
    const cebus_arena *arena = contest->chooser->arena;
    bool more = contest->board.pool != NULL;
    double least = (double)(arena->blocks) * CEBUS_CLEARING_NS;
    if (more && contest->market.ns >= least && cebus_contest_only_moves(contest))
        return cebus_contest_settle(contest);
    enter_windows(contest, stands);
    if (!more || (winner->first != NULL && contest->winner.ns < least))
        return *winner;
    cebus_contest_enter_rest(contest);
    return cebus_contest_settle(contest);
}

/** Prices all blocks, unless prices stand, and reads them where they are few. */
static void price_all(cebus_contest *contest, bool stands)
{
    const cebus_chooser *chooser = contest->chooser;
    if (are_few(chooser->arena) && cebus_board_create(&contest->board, chooser->arena))
        cebus_lowest_price_board(chooser, &contest->board);
    else if (!stands)
        cebus_lowest_price(chooser);
}

static cebus_victims refine_window(const cebus_chooser *chooser, uint64_t bytes, bool stands)
{
    cebus_contest contest = {.chooser = chooser, .usable = HUGE_VAL};
    price_all(&contest, stands);
    find_market(&contest, bytes, stands);
    cebus_victims victims = hold_contest(&contest, stands);
    cebus_board_free(&contest.board);
    return victims;
}

/** Where addresses do not matter, or what lies between victims will be read soon, there are no
 * windows: one victim at a time. */
static bool wants_one(const cebus_chooser *chooser)
{
    if (chooser->policy->unit == CEBUS_UNIT_WINDOW)
        return !cebus_arena_has_windows(chooser->arena) || chooser->rebuild != NULL ||
               chooser->strained;
    return chooser->policy->unit == CEBUS_UNIT_ONE;
}

/** Where the lowest score is that of what it really costs, there is nothing to refine. */
static cebus_victims choose_exact(const cebus_chooser *chooser)
{
    cebus_shortlist list;
    cebus_victims victims = {0};
    cebus_shortlist_init(&list, UINT64_MAX, 1);
    cebus_lowest_list_alone(chooser, &list);
    take_victims(chooser, &list, &victims);
#if CEBUS_CHECKS >= 2
    cebus_victims others = refine_lowest(chooser);
    assert(victims.first == others.first && victims.price == others.price);
    assert(victims.next_price == others.next_price);
#endif
    return victims;
}

static cebus_victims choose_one(const cebus_chooser *chooser, uint64_t bytes, bool refine)
{
    cebus_victims victims = {0};
    if (refine && cebus_pricing_scores_exactly(chooser))
        return choose_exact(chooser);
    if (refine)
        return refine_lowest(chooser);
    choose_lowest(chooser, false, bytes, &victims, 1);
    return victims;
}

/** By prices that stand, or after pricing all. */
static cebus_victims choose_window(const cebus_chooser *chooser, uint64_t bytes, bool stands)
{
    return chooser->policy->weight == cebus_policy_weight_neighbourhood
               ? refine_window(chooser, bytes, stands)
               : best_window(chooser, bytes, stands);
}

cebus_victims cebus_choose_victims(const cebus_chooser *chooser, uint64_t bytes)
{
    bool refine = chooser->policy->weight == cebus_policy_weight_neighbourhood;
    if (wants_one(chooser))
        return choose_one(chooser, bytes, refine);
    if (chooser->policy->unit != CEBUS_UNIT_WINDOW)
        return (cebus_victims){0};
    bool stands = cebus_lowest_stands(chooser);
    cebus_victims victims = choose_window(chooser, bytes, stands);
    return victims.first != NULL || !stands ? victims : choose_window(chooser, bytes, false);
}

size_t cebus_choose_cheapest(const cebus_chooser *chooser, uint64_t bytes, cebus_victims *out,
                             size_t limit)
{
    if (chooser->policy->unit == CEBUS_UNIT_NONE || limit == 0)
        return 0;
    /* A policy's own score may look at what is free beside a block: each victim changes that. */
    if (chooser->policy->score != NULL)
        limit = 1;
    limit = limit < CEBUS_SHORTLIST_MAX ? limit : CEBUS_SHORTLIST_MAX;
    return choose_lowest(chooser, chooser->keep_prices, bytes, out, limit);
}

size_t cebus_choose_next(const cebus_chooser *chooser, uint64_t bytes, cebus_victims *out,
                         size_t limit)
{
    if (chooser->policy->unit == CEBUS_UNIT_NONE || limit == 0)
        return 0;
    return choose_lowest(chooser, false, bytes, out,
                         limit < CEBUS_SHORTLIST_MAX ? limit : CEBUS_SHORTLIST_MAX);
}

cebus_victims cebus_choose_one(const cebus_chooser *chooser)
{
    cebus_victims victims = {0};
    cebus_choose_cheapest(chooser, 1, &victims, 1);
    return victims;
}
