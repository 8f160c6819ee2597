#include "evict/choice/contest.h"

#include <math.h>

#include "evict/choice/pricing.h"
#include "evict/choice/vacancy.h"
#include "layout/window/window.h"

/** What a scattered byte is worth: this part of what a byte of a hole costs by the cheapest way. */
#define SCATTERED 0.9
/** Scores are off by no more, as a part of what they are worked out from. */
#define ROUNDING 1e-9

static double units_of(uint64_t price)
{
    return (double)price / (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT);
}

static uint64_t price_of(double units)
{
    double most = (double)CEBUS_PRICE_MAX,
           price = units * (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT);
    return price < most ? (uint64_t)price : CEBUS_PRICE_MAX;
}

/** What a byte of a hole costs this way. */
static void note_usable(cebus_contest *contest, const cebus_entry *entry, double cost)
{
    contest->usable =
        fmin(contest->usable, cebus_market_usable(&contest->market, contest->chooser->arena->limit,
                                                  cost, entry->evicted_bytes));
}

static void enter(cebus_contest *c, const cebus_entry *entry, double score)
{
    cebus_victims *winner = &c->winner.victims;
    if (winner->first == NULL || score < c->best) {
        uint64_t next = winner->price;
        c->second = c->best;
        c->winner = *entry;
        c->winner.victims.next_price = next;
        c->best = score;
    } else if (entry->victims.first != winner->first &&
               (winner->next_price == 0 || score < c->second)) {
        winner->next_price = entry->victims.price;
        c->second = score;
    }
}

static void enter_at_market(cebus_contest *contest, const cebus_entry *entry)
{
    double cost = units_of(entry->victims.price) + entry->moving;
    note_usable(contest, entry, cost);
    enter(contest, entry,
          cost - cebus_market_worth(&contest->market, contest->chooser->arena->limit,
                                    entry->evicted_bytes));
}

/** What an entry has to be better than, to win or, where somebody wants to know, to come second. */
static double score_to_beat(const cebus_contest *contest)
{
    const cebus_victims *winner = &contest->winner.victims;
    if (winner->first == NULL)
        return HUGE_VAL;
    if (!contest->chooser->compare)
        return contest->best;
    return winner->next_price == 0 ? HUGE_VAL : contest->second;
}

/** Whether anybody will ask what a byte of a hole costs. */
static bool may_scatter(const cebus_contest *contest)
{
    return contest->market.idle < contest->market.bytes;
}

double cebus_contest_most(const cebus_contest *contest, uint64_t evicted_bytes)
{
    const cebus_market *market = &contest->market;
    uint64_t limit = contest->chooser->arena->limit;
    double score = score_to_beat(contest), worth = cebus_market_worth(market, limit, evicted_bytes);
    double most = score + worth, usable = contest->usable;
    if (contest->board.pool != NULL && market->moves && may_scatter(contest)) {
        double bytes = fmax((double)evicted_bytes, (double)market->bytes);
        most = fmax(most, usable * bytes);
    }
    return most + ROUNDING * (fabs(score) + worth);
}

void cebus_contest_enter_window(cebus_contest *contest, const cebus_victims *victims,
                                uint64_t evicted_bytes, double ns)
{
    cebus_entry entry = {.victims = *victims,
                         .evicted_bytes = evicted_bytes,
                         .ns = ns,
                         .from = 0,
                         .to = UINT64_MAX,
                         .dearest = HUGE_VAL};
    enter_at_market(contest, &entry);
}

/** An entry of the run first..last, at what really costs what goes of it. */
static cebus_entry entry_of(const cebus_contest *contest, cebus_block *first, cebus_block *last,
                            double dearest)
{
    cebus_entry entry = {.victims = {first, last, .way = CEBUS_WAY_CLEARING},
                         .from = first->offset,
                         .to = last->offset + last->bytes,
                         .dearest = dearest};
    const cebus_board *board = &contest->board;
    uint32_t end = cebus_board_find(board, last);
    for (uint32_t row = cebus_board_find(board, first); row <= end; row++) {
        if (board->states[row] == CEBUS_BLOCK_EVICTABLE && cebus_board_yields(board, row, dearest))
            entry.victims.price += cebus_pricing_exact_price(contest->chooser, board->blocks[row]);
    }
    return entry;
}

/** The limits on prices at which ways that move blocks are looked for, in times of the market's
 * price; but at the first nothing goes. */
static const double degrees[CEBUS_SIEVE_LIMITS] = {0, 0, 0.5, 1, 2, 4, 8};
enum {
    NOTHING_GOES,
    FIRST_DEGREE
};

static void lay_sieve(cebus_contest *contest)
{
    const cebus_market *market = &contest->market;
    double limits[CEBUS_SIEVE_LIMITS];
    for (int i = 0; i < CEBUS_SIEVE_LIMITS; i++)
        limits[i] = i == NOTHING_GOES ? -1 : degrees[i] * market->byte_price;
    cebus_sieve_lay(&contest->sieve, &contest->board, market, limits);
}

/** Whether rows yield enough at a limit, and others than at the one before: where the same goes,
 * the same is found. */
static bool is_worth_trying(const cebus_contest *contest, size_t limit, uint64_t *gained)
{
    uint64_t before = *gained;
    *gained = contest->sieve.gained[limit];
    return *gained != before && *gained >= contest->market.bytes;
}

/** Whether anything within reach may matter, if `price` is paid for what goes. */
static bool may_matter(const cebus_contest *contest, const cebus_stakes *stakes,
                       const cebus_reach *reach, double price)
{
    return reach->from < reach->to &&
           cebus_stakes_matter(stakes, &contest->market, contest->board.limit,
                               (reach->moving + price) * (1 - ROUNDING), reach->evicted);
}

/** The same if what goes is paid for by what it really costs. Where one alone may be the best that
 * is known without looking for it, which is what takes long. */
static bool may_enter(const cebus_contest *contest, const cebus_stakes *stakes,
                      const cebus_reach *reach, size_t limit)
{
    if (!may_matter(contest, stakes, reach, 0))
        return false;
    if (!reach->sole)
        return true;
    const cebus_board *board = &contest->board;
    cebus_entry entry = entry_of(contest, board->blocks[reach->from], board->blocks[reach->to - 1],
                                 contest->sieve.limits[limit]);
    return may_matter(contest, stakes, reach, units_of(entry.victims.price));
}

/** What has to be better than the entries so far, where the lowest scores that go already cost so
 * much and have so many bytes. */
static cebus_stakes stakes_of(const cebus_contest *contest, double cost, uint64_t bytes)
{
    return (cebus_stakes){.cost = cost,
                          .bytes = bytes,
                          .score = score_to_beat(contest),
                          .usable = may_scatter(contest) ? contest->usable : 0};
}

/** What cebus_clearing_find() finds on all of the board. */
static bool find_clearing(cebus_contest *contest, size_t limit, const cebus_reach *reach,
                          cebus_clearing *out)
{
    cebus_shares shares;
    cebus_sieve_lay_shares(&contest->sieve, &contest->board, limit, CEBUS_BOARD_FIXED, reach,
                           &shares);
    cebus_clearing_find(&contest->board, &contest->market, &shares, out);
    return out->first != NULL;
}

static void enter_clearings(cebus_contest *contest)
{
    uint64_t gained = UINT64_MAX;
    cebus_reach reach;
    cebus_clearing found;
    for (size_t limit = FIRST_DEGREE; limit < CEBUS_SIEVE_LIMITS; limit++) {
        if (!is_worth_trying(contest, limit, &gained))
            continue;
        cebus_stakes stakes = stakes_of(contest, 0, 0);
        cebus_sieve_clearings(&contest->sieve, limit, &reach);
        if (!may_enter(contest, &stakes, &reach, limit) ||
            !find_clearing(contest, limit, &reach, &found))
            continue;
        cebus_entry entry =
            entry_of(contest, found.first, found.last, contest->sieve.limits[limit]);
        entry.evicted_bytes = found.evicted_bytes;
        entry.moving = found.moving;
        enter_at_market(contest, &entry);
    }
}

/** What cebus_vacancy_find() finds on all of the board. */
static bool find_vacancy(cebus_contest *contest, size_t limit, const cebus_reach *reach,
                         const cebus_stakes *stakes, cebus_vacancy *out)
{
    cebus_shares shares;
    cebus_sieve_lay_shares(&contest->sieve, &contest->board, limit,
                           CEBUS_BOARD_SETTLED | CEBUS_BOARD_LARGE, reach, &shares);
    return cebus_vacancy_find(&contest->board, &contest->market, &shares, stakes, reach->most, out);
}

static cebus_entry entry_of_vacancy(const cebus_contest *contest, const cebus_vacancy *found,
                                    double dearest)
{
    cebus_entry entry = entry_of(contest, found->first, found->last, dearest);
    entry.victims.way = CEBUS_WAY_VACANCY;
    entry.victims.from = entry.from;
    entry.victims.to = entry.to;
    entry.moving = found->moving;
    return entry;
}

/** What it may cost to bring free bytes together. Each idle byte is worth more than the one before
 * it, so all of them are worth a square. Other shapes: tests/bench/fragmentation.md. */
static double worth_of_idle(const cebus_market *market)
{
    double asked = (double)market->bytes, beyond = (double)market->idle - asked;
    return market->byte_price * fmin(asked, beyond * beyond / (2 * asked));
}

/** Where nothing goes; for less than `most`. */
static bool find_slide(cebus_contest *contest, double most, cebus_clearing *out)
{
    cebus_reach reach;
    cebus_sieve_clearings(&contest->sieve, NOTHING_GOES, &reach);
    return reach.from < reach.to && reach.moving < most &&
           find_clearing(contest, NOTHING_GOES, &reach, out) && out->moving < most;
}

static bool find_transfer(cebus_contest *contest, double most, cebus_vacancy *out)
{
    const size_t limit = NOTHING_GOES;
    cebus_reach reach;
    cebus_stakes stakes = {.score = most};
    cebus_sieve_vacancies(&contest->sieve, &limit, 1, &reach);
    return may_matter(contest, &stakes, &reach, 0) &&
           find_vacancy(contest, limit, &reach, &stakes, out);
}

bool cebus_contest_only_moves(cebus_contest *contest)
{
    const cebus_market *market = &contest->market;
    cebus_clearing run;
    cebus_vacancy stretch;
    if (!market->moves || market->idle <= market->bytes || market->passing)
        return false;
    lay_sieve(contest);
    const double worth = worth_of_idle(market), limit = contest->sieve.limits[NOTHING_GOES];
    bool slides = find_slide(contest, worth, &run);
    if (find_transfer(contest, slides ? run.moving : worth, &stretch))
        contest->winner = entry_of_vacancy(contest, &stretch, limit);
    else if (slides)
        contest->winner = entry_of(contest, run.first, run.last, limit);
    return contest->winner.victims.first != NULL;
}

/** Where the lowest `gone` scores go, of `bytes` for `price`. */
static void enter_vacancies(cebus_contest *contest, size_t gone, uint64_t bytes, double price)
{
    static const size_t looked_at[] = {1, 3, 4, 5}; /* 0, 1, 2, 4 times the market's price */
    const double cost = units_of(price_of(price));
    size_t limits[CEBUS_SIEVE_LANES], count = 0;
    uint64_t gained = UINT64_MAX;
    cebus_reach reach[CEBUS_SIEVE_LANES];
    cebus_vacancy found;
    for (size_t i = 0; i < sizeof looked_at / sizeof *looked_at; i++) {
        if (is_worth_trying(contest, looked_at[i], &gained))
            limits[count++] = looked_at[i];
    }
    if (count > 0)
        cebus_sieve_vacancies(&contest->sieve, limits, count, reach);
    for (size_t i = 0; i < count; i++) {
        cebus_stakes stakes = stakes_of(contest, cost, bytes);
        if (!may_enter(contest, &stakes, &reach[i], limits[i]) ||
            !find_vacancy(contest, limits[i], &reach[i], &stakes, &found))
            continue;
        cebus_entry entry = entry_of_vacancy(contest, &found, contest->sieve.limits[limits[i]]);
        entry.victims.price += price_of(price);
        entry.evicted_bytes = found.evicted_bytes + bytes;
        entry.gone = gone;
        enter_at_market(contest, &entry);
    }
}

/** With what is free now, and with as many of the lowest scores gone as it takes to have enough. */
static void enter_all_vacancies(cebus_contest *contest)
{
    uint64_t missing = contest->market.bytes, bytes = 0;
    double price = 0;
    uint32_t rows[CEBUS_SHORTLIST_MAX];
    size_t gone = 0;
    missing -= missing < contest->market.idle ? missing : contest->market.idle;
    enter_vacancies(contest, 0, 0, 0);
    for (; gone < contest->count && bytes < missing; gone++) {
        const cebus_offer *one = &contest->lowest[gone];
        price += one->score * (double)one->block->bytes;
        bytes += one->block->bytes;
        rows[gone] = cebus_board_find(&contest->board, one->block);
        cebus_board_open(&contest->board, rows[gone]);
    }
    if (gone == 0 || bytes < missing)
        return; /* or nobody looks at the board any more */
    cebus_board_list_holes(&contest->board);
    cebus_sieve_open(&contest->sieve, rows, gone);
    enter_vacancies(contest, gone, bytes, price);
}

/** Whether a block is free once the lowest `gone` scores have gone. */
static bool is_open(const cebus_contest *contest, const cebus_block *block, size_t gone)
{
    if (block == NULL || block->state == CEBUS_BLOCK_FREE)
        return block != NULL;
    for (size_t i = 0; i < gone; i++) {
        if (contest->lowest[i].block == block)
            return true;
    }
    return false;
}

static uint64_t hole_around(const cebus_contest *contest, const cebus_block *block, size_t gone)
{
    uint64_t bytes = block->bytes;
    for (const cebus_block *near = block->prev; is_open(contest, near, gone); near = near->prev)
        bytes += near->bytes;
    for (const cebus_block *near = block->next; is_open(contest, near, gone); near = near->next)
        bytes += near->bytes;
    return bytes;
}

/** Widens the range to all that goes. */
static void span(const cebus_contest *contest, cebus_entry *entry)
{
    cebus_victims *victims = &entry->victims;
    for (size_t i = 0; i < entry->gone; i++) {
        cebus_block *block = contest->lowest[i].block;
        if (victims->first == NULL || block->offset < victims->first->offset)
            victims->first = block;
        if (victims->last == NULL || block->offset > victims->last->offset)
            victims->last = block;
    }
}

/** What bytes are worth that lie anywhere, as many as there are. */
static double scattered_worth(const cebus_contest *contest, uint64_t bytes)
{
    cebus_market market = contest->market;
    market.byte_price = fmax(market.byte_price, SCATTERED * contest->usable);
    return cebus_market_worth(&market, UINT64_MAX, bytes);
}

/** Scattered values do not compete where enough is free already: that would only make more holes
 * that are too small. */
static void enter_scattered(cebus_contest *contest)
{
    cebus_entry entry = {.victims = {.way = CEBUS_WAY_SCATTERED}};
    double price = 0;
    if (contest->market.idle >= contest->market.bytes)
        return;
    while (entry.gone < contest->count) {
        const cebus_offer *one = &contest->lowest[entry.gone++];
        price += one->score * (double)one->block->bytes;
        entry.evicted_bytes += one->block->bytes;
        if (hole_around(contest, one->block, entry.gone) < contest->market.bytes)
            continue;
        entry.victims.price = price_of(price);
        note_usable(contest, &entry, price);
        span(contest, &entry);
        enter(contest, &entry, price - scattered_worth(contest, entry.evicted_bytes));
        return;
    }
}

void cebus_contest_enter_rest(cebus_contest *contest)
{
    if (!contest->market.moves)
        return;
    if (contest->sieve.board == NULL)
        lay_sieve(contest);
    enter_clearings(contest);
    enter_all_vacancies(contest);
    enter_scattered(contest);
}

static bool goes(const cebus_contest *contest, const cebus_block *block)
{
    const cebus_entry *winner = &contest->winner;
    bool inside = block->offset >= winner->from && block->offset < winner->to;
    return (inside && (winner->dearest == HUGE_VAL ||
                       cebus_market_sells(&contest->market, block, winner->dearest))) ||
           is_open(contest, block, winner->gone);
}

cebus_victims cebus_contest_settle(cebus_contest *contest)
{
    cebus_victims *victims = &contest->winner.victims;
    span(contest, &contest->winner);
    for (cebus_block *block = victims->first; block != NULL; block = block->next) {
        if (block->state == CEBUS_BLOCK_EVICTABLE && !goes(contest, block))
            block->state = CEBUS_BLOCK_BARRIER;
        if (block == victims->last)
            break;
    }
    victims->weighs_moves = contest->market.moves;
    return *victims;
}
