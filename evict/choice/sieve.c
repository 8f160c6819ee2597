#include "evict/choice/sieve.h"

#include <assert.h>
#include <string.h>

#include "layout/clones.h"

/** What sums are off by, as a part of cebus_sieve.all: less than that; and where walls are summed
 * up, too. */
#define ROUNDING 1e-11
#define ROUGHLY 1e-8
/** What a wall costs, in the same. */
#define WALL 4
/** Rows are looked at in groups of so many. */
#define GROUP 8
/** Where so many stretches will not do that would be the best all are left to the slide. */
#define MOST_FAILURES 8
/** A row's mark: the first limit at which it yields; and whether it must not slide. */
#define LIMIT_BITS 7
#define FIXED_BIT 8

_Static_assert(CEBUS_SIEVE_LIMITS <= LIMIT_BITS, "a mark has room for all limits, and for none");

/* What is for sale. */

CEBUS_CLONES
static void mark_rows(const cebus_board *board, const double *limits)
{
    const double *restrict rates = board->rates, *restrict widths = board->widths;
    const uint8_t *restrict stays = board->stays;
    uint8_t *restrict marks = board->scratch.marks;
    const uint32_t count = board->count;
    for (uint32_t row = 0; row < count; row++) {
        int64_t mark = 0;
        for (int k = 0; k < CEBUS_SIEVE_LIMITS; k++)
            mark += rates[row] <= limits[k] * widths[row] ? 0 : 1;
        marks[row] = (uint8_t)(mark | ((stays[row] & CEBUS_BOARD_FIXED) != 0 ? FIXED_BIT : 0));
    }
}

static bool yields(const cebus_board *board, uint32_t row, size_t limit)
{
    return (board->scratch.marks[row] & LIMIT_BITS) <= limit;
}

static bool is_fixed(const cebus_board *board, uint32_t row)
{
    return (board->scratch.marks[row] & FIXED_BIT) != 0;
}

/** Whether a group of rows has none that yields, or must not slide. */
static bool is_dull(const uint8_t *marks)
{
    uint64_t group;
    memcpy(&group, marks, GROUP);
    return group == UINT64_C(0x0101010101010101) * CEBUS_SIEVE_LIMITS;
}

static void list_sale(cebus_sieve *sieve)
{
    const cebus_board *board = sieve->board;
    const uint8_t *marks = board->scratch.marks;
    cebus_board_sale *sale = board->scratch.sale;
    uint32_t n = 0, wall = 0;
    memset(sieve->gained, 0, sizeof sieve->gained);
    for (uint32_t row = 0; row < board->count; row++) {
        if (row % GROUP == 0 && row + GROUP <= board->count && is_dull(&marks[row])) {
            row += GROUP - 1;
            continue;
        }
        const unsigned mark = marks[row] & LIMIT_BITS;
        sale[n] = (cebus_board_sale){row, wall};
        if (mark < CEBUS_SIEVE_LIMITS) {
            sieve->gained[mark] += cebus_board_bytes(board, row);
            n++;
        } else if (is_fixed(board, row)) {
            wall = row + 1;
        }
    }
    for (int k = 1; k < CEBUS_SIEVE_LIMITS; k++)
        sieve->gained[k] += sieve->gained[k - 1];
    sieve->n_sale = n;
}

/** Those of the rows for sale that yield at a limit. */
static uint32_t narrow(const cebus_sieve *sieve, size_t limit)
{
    const cebus_board *board = sieve->board;
    const cebus_board_sale *sale = board->scratch.sale;
    cebus_board_sale *left = board->scratch.left;
    uint32_t n = 0, wall = 0;
    for (uint32_t i = 0; i < sieve->n_sale; i++) {
        const uint32_t row = sale[i].row;
        const bool goes = yields(board, row, limit);
        wall = wall > sale[i].wall ? wall : sale[i].wall;
        left[n] = (cebus_board_sale){row, wall};
        n += goes;
        if (!goes && is_fixed(board, row))
            wall = row + 1;
    }
    return n;
}

void cebus_sieve_lay(cebus_sieve *sieve, cebus_board *board, const cebus_market *market,
                     const double limits[CEBUS_SIEVE_LIMITS])
{
    *sieve = (cebus_sieve){
        .board = board, .market = market, .byte_worth = cebus_market_byte_worth(market)};
    memcpy(sieve->limits, limits, sizeof sieve->limits);
    double dearest = fmax(limits[CEBUS_SIEVE_LIMITS - 1], 0);
    sieve->all =
        (dearest + market->move_byte + sieve->byte_worth) * (double)board->offsets[board->count] +
        market->move_block * (double)board->count;
    cebus_board_find_starts(board, market->bytes);
    mark_rows(board, sieve->limits);
    list_sale(sieve);
}

void cebus_sieve_open(cebus_sieve *sieve, const uint32_t *rows, size_t count)
{
    uint8_t *marks = sieve->board->scratch.marks;
    for (size_t i = 0; i < count; i++) {
        for (unsigned k = 0; k < (marks[rows[i]] & LIMIT_BITS); k++)
            sieve->gained[k] += cebus_board_bytes(sieve->board, rows[i]);
        marks[rows[i]] = 0;
    }
}

/* What may be best. */

/** A run, and about what it costs. */
typedef struct rough {
    uint32_t first, last;
    double price, moving;
    uint64_t evicted;
} rough;

/** The best so far is about `best`. */
typedef struct sought {
    double best;
    cebus_reach *reach;
} sought;

static void begin(const cebus_sieve *sieve, sought *s, cebus_reach *reach)
{
    *reach = (cebus_reach){0};
    *s = (sought){2 * sieve->all, reach};
}

static double net_of(const cebus_sieve *sieve, const rough *run)
{
    return run->price + run->moving -
           cebus_market_worth(sieve->market, sieve->board->limit, run->evicted);
}

/** Runs that are worse for sure than one that is found by now are out of reach again. */
static void keep(const cebus_sieve *sieve, sought *s, const rough *run, double net)
{
    const double off = ROUNDING * sieve->all, moving = run->moving - off;
    cebus_reach *reach = s->reach;
    if (reach->from == reach->to || net < s->best - off) {
        *reach = (cebus_reach){run->first, run->last + 1, .sole = true, .moving = moving,
                               .evicted = run->evicted};
    } else {
        reach->from = run->first < reach->from ? run->first : reach->from;
        reach->to = run->last + 1 > reach->to ? run->last + 1 : reach->to;
        reach->sole = false;
        reach->moving = fmin(reach->moving, moving);
        reach->evicted = run->evicted > reach->evicted ? run->evicted : reach->evicted;
    }
    s->best = fmin(s->best, net);
    reach->most = s->best + off;
}

/* Clearings. */

/** Rows left[first] to left[last] yield so much. */
typedef struct slide {
    uint32_t first, last;
    uint64_t gained, evicted;
    double price;
} slide;

static double price_of(const cebus_board *board, uint32_t row)
{
    return board->states[row] != CEBUS_BLOCK_FREE ? board->rates[row] : 0;
}

static uint64_t evicted_of(const cebus_board *board, uint32_t row)
{
    return board->states[row] != CEBUS_BLOCK_FREE ? cebus_board_bytes(board, row) : 0;
}

static rough run_of(const cebus_sieve *sieve, const slide *at)
{
    const cebus_board *board = sieve->board;
    const cebus_market *market = sieve->market;
    const cebus_board_sale *left = board->scratch.left;
    const uint32_t first = left[at->first].row, last = left[at->last].row;
    uint64_t bytes = board->offsets[last + 1] - board->offsets[first] - at->gained;
    uint32_t rows = last - first - (at->last - at->first);
    return (rough){first, last, at->price,
                   market->move_byte * (double)bytes + market->move_block * (double)rows,
                   at->evicted};
}

/** Sums over rows that yield, from the first to each of them: bytes; and, as if all between them
 * moved, what a run costs less what it is worth that ends with it, and that begins with it. */
static void sum_left(const cebus_sieve *sieve, uint32_t n)
{
    const cebus_board *board = sieve->board;
    const cebus_board_sale *left = board->scratch.left;
    const uint64_t *offsets = board->offsets;
    const double move_byte = sieve->market->move_byte, move_row = sieve->market->move_block;
    const double worth = sieve->byte_worth;
    double *ends = board->scratch.paid, *begins = board->scratch.moved, sum = 0;
    uint64_t *gained = board->scratch.gained;
    gained[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t row = left[i].row;
        const bool goes = board->states[row] != CEBUS_BLOCK_FREE;
        const double bytes = board->widths[row];
        const double low = move_byte * (double)offsets[row] + move_row * (double)row;
        begins[i] = sum + low;
        sum += goes ? board->rates[row] - worth * bytes : 0;
        ends[i] = sum + low;
        sum -= move_byte * bytes + move_row;
        gained[i + 1] = gained[i] + (offsets[row + 1] - offsets[row]);
    }
}

/** What each run costs at least, less what it is worth, by where it ends. Answers where that is
 * least; n: nowhere. */
static uint32_t bound_runs(const cebus_sieve *sieve, uint32_t n)
{
    const cebus_board *board = sieve->board;
    const cebus_board_sale *left = board->scratch.left;
    const uint64_t *gained = board->scratch.gained, wanted = sieve->market->bytes;
    const double *begins = board->scratch.moved;
    double *bounds = board->scratch.paid, least = HUGE_VAL;
    uint32_t *firsts = board->scratch.firsts, best = n, wall = 0, first = 0;
    sum_left(sieve, n);
    for (uint32_t last = 0; last < n; last++) {
        if (left[last].wall > wall) {
            wall = left[last].wall;
            first = last;
        }
        const uint64_t end = gained[last + 1];
        while (end - gained[first + 1] >= wanted)
            first++;
        const double bound =
            end - gained[first] >= wanted ? bounds[last] - begins[first] : HUGE_VAL;
        firsts[last] = first;
        bounds[last] = bound;
        best = bound < least ? last : best;
        least = bound < least ? bound : least;
    }
    return best;
}

static void weigh_run(const cebus_sieve *sieve, uint32_t last, sought *s)
{
    const cebus_board *board = sieve->board;
    slide at = {.first = board->scratch.firsts[last], .last = last};
    for (uint32_t i = at.first; i <= last; i++) {
        const uint32_t row = board->scratch.left[i].row;
        at.gained += cebus_board_bytes(board, row);
        at.evicted += evicted_of(board, row);
        at.price += price_of(board, row);
    }
    rough run = run_of(sieve, &at);
    double net = net_of(sieve, &run);
    if (net <= s->best + ROUNDING * sieve->all)
        keep(sieve, s, &run, net);
}

void cebus_sieve_clearings(const cebus_sieve *sieve, size_t limit, cebus_reach *out)
{
    const double *bounds = sieve->board->scratch.paid;
    sought s;
    begin(sieve, &s, out);
    uint32_t n = narrow(sieve, limit), best = bound_runs(sieve, n);
    if (best == n)
        return;
    weigh_run(sieve, best, &s);
    for (uint32_t i = 0; i < n; i++) {
        if (i != best && bounds[i] <= s.best + ROUNDING * sieve->all)
            weigh_run(sieve, i, &s);
    }
}

/* Vacancies. */

/** One number for each limit. */
typedef double quad __attribute__((vector_size(32), aligned(8)));
typedef int64_t quad_bits __attribute__((vector_size(32)));

_Static_assert(sizeof(quad) == CEBUS_SIEVE_LANES * sizeof(double), "a lane for each limit");

CEBUS_CLONE_PART void load(quad *out, const double *numbers)
{
    *out = *(const quad *)numbers;
}

CEBUS_CLONE_PART void store(double *out, const quad *numbers)
{
    *(quad *)out = *numbers;
}

CEBUS_CLONE_PART void spread(quad *out, double number)
{
    *out = (quad){number, number, number, number};
}

typedef struct pass {
    const cebus_sieve *sieve;
    uint32_t enough; /**< from that row on stretches have the bytes wanted; groups begin there */
    double dearest[CEBUS_SIEVE_LANES];
    double likeliest[CEBUS_SIEVE_LANES]; /**< group: a stretch costs least that ends there */
} pass;

/** What a row adds where it yields, less what that is worth, and where not. */
CEBUS_CLONES
static void price_rows(const cebus_sieve *sieve)
{
    const cebus_board *board = sieve->board;
    const double *restrict rates = board->rates, *restrict widths = board->widths;
    const uint8_t *restrict stays = board->stays;
    double *restrict paid = board->scratch.paid, *restrict moved = board->scratch.moved;
    const double move_byte = sieve->market->move_byte, move_row = sieve->market->move_block;
    const double worth = sieve->byte_worth, wall = WALL * sieve->all;
    const uint32_t count = board->count;
    for (uint32_t row = 0; row < count; row++) {
        double goes = rates[row] - worth * widths[row];
        double moves = move_byte * widths[row] + move_row;
        bool stuck = (stays[row] & (CEBUS_BOARD_SETTLED | CEBUS_BOARD_LARGE)) != 0;
        paid[row] = rates[row] < 0 ? 0 : goes;
        moved[row] = stuck ? wall : moves;
    }
}

CEBUS_CLONE_PART void add_row(const cebus_board *board, uint32_t row, const quad *dearest,
                              quad *sum)
{
    quad rate, goes, moves;
    spread(&rate, board->rates[row]);
    spread(&goes, board->scratch.paid[row]);
    spread(&moves, board->scratch.moved[row]);
    quad_bits yields = rate <= *dearest * board->widths[row];
    *sum += (quad)((yields & (quad_bits)goes) | (~yields & (quad_bits)moves));
    store(&board->scratch.sums[((size_t)row + 1) * CEBUS_SIEVE_LANES], sum);
}

/** Where the mask says so other numbers. */
CEBUS_CLONE_PART void replace(quad *numbers, const quad *others, const quad_bits *mask)
{
    *numbers = (quad)((*mask & (quad_bits)*others) | (~*mask & (quad_bits)*numbers));
}

CEBUS_CLONE_PART void lower_to(quad *least, const quad *numbers)
{
    quad_bits mask = *numbers < *least;
    replace(least, numbers, &mask);
}

/** Sums from the first row on, and the least that a stretch costs which ends in a group. */
CEBUS_CLONES
static void sum_up(pass *p)
{
    const cebus_board *board = p->sieve->board;
    const uint32_t *starts = board->starts, count = board->count;
    const double *sums = board->scratch.sums;
    double *bounds = board->scratch.bounds;
    quad sum = {0}, likeliest = {0}, at = {0}, dearest, before, lowest;
    load(&dearest, p->dearest);
    spread(&lowest, HUGE_VAL);
    store(board->scratch.sums, &sum);
    for (uint32_t row = 0; row < p->enough; row++)
        add_row(board, row, &dearest, &sum);
    for (uint32_t group = p->enough; group < count; group += GROUP) {
        uint32_t end = group + GROUP < count ? group + GROUP : count;
        quad least;
        spread(&least, HUGE_VAL);
        for (uint32_t row = group; row < end; row++) {
            add_row(board, row, &dearest, &sum);
            load(&before, &sums[(size_t)starts[row] * CEBUS_SIEVE_LANES]);
            before = sum - before;
            lower_to(&least, &before);
        }
        quad_bits lower = least < lowest;
        replace(&lowest, &least, &lower);
        replace(&likeliest, &at, &lower);
        store(bounds, &least);
        bounds += CEBUS_SIEVE_LANES;
        at += 1;
    }
    store(p->likeliest, &likeliest);
}

/** What a stretch costs; false: there is a wall in it, or what moves finds no room for sure. */
static bool price_stretch(const cebus_sieve *sieve, size_t limit, rough *out)
{
    const cebus_board *board = sieve->board;
    for (uint32_t row = out->first; row <= out->last; row++) {
        if (yields(board, row, limit)) {
            bool goes = board->states[row] != CEBUS_BLOCK_FREE;
            out->price += goes ? board->rates[row] : 0;
            out->evicted += goes ? cebus_board_bytes(board, row) : 0;
        } else if ((board->stays[row] & (CEBUS_BOARD_SETTLED | CEBUS_BOARD_LARGE)) != 0) {
            return false;
        } else {
            out->moving +=
                sieve->market->move_byte * board->widths[row] + sieve->market->move_block;
        }
    }
    return board->offsets[out->last + 1] - board->offsets[out->first] - out->evicted <= board->idle;
}

/** A limit, and what is found at it. */
typedef struct trial {
    const pass *pass;
    size_t lane, limit;
    int failures; /**< stretches of interest that will not do */
    sought sought;
} trial;

/** A stretch is of interest that costs no more, about. */
static double most_of(const trial *t)
{
    return t->sought.best + ROUGHLY * t->pass->sieve->all;
}

static void weigh_stretch(trial *t, uint32_t row)
{
    const cebus_sieve *sieve = t->pass->sieve;
    rough run = {.first = sieve->board->starts[row], .last = row};
    bool passable = price_stretch(sieve, t->limit, &run);
    double net = passable ? net_of(sieve, &run) : HUGE_VAL;
    if (passable && net > t->sought.best + ROUNDING * sieve->all)
        return;
    if (passable &&
        cebus_vacancy_settles(sieve->board, sieve->limits[t->limit], run.first, run.last))
        keep(sieve, &t->sought, &run, net);
    else
        t->failures++;
}

static void weigh_group(trial *t, uint32_t group)
{
    const cebus_board *board = t->pass->sieve->board;
    const double *sums = &board->scratch.sums[t->lane];
    const uint32_t *starts = board->starts;
    uint32_t row = t->pass->enough + group * GROUP;
    uint32_t end = row + GROUP < board->count ? row + GROUP : board->count;
    for (; row < end && t->failures < MOST_FAILURES; row++) {
        double before = sums[(size_t)starts[row] * CEBUS_SIEVE_LANES];
        if (sums[((size_t)row + 1) * CEBUS_SIEVE_LANES] - before <= most_of(t))
            weigh_stretch(t, row);
    }
}

/** The likeliest group first; then all that may have a better one. Where too many stretches fail
 * all of the board is within reach. */
static void weigh_groups(trial *t, uint32_t groups)
{
    const cebus_board *board = t->pass->sieve->board;
    double *bounds = &board->scratch.bounds[t->lane];
    const uint32_t likeliest = (uint32_t)t->pass->likeliest[t->lane];
    if (bounds[(size_t)likeliest * CEBUS_SIEVE_LANES] > most_of(t))
        return;
    weigh_group(t, likeliest);
    bounds[(size_t)likeliest * CEBUS_SIEVE_LANES] = HUGE_VAL;
    for (uint32_t group = 0; group < groups; group++) {
        if (bounds[(size_t)group * CEBUS_SIEVE_LANES] <= most_of(t))
            weigh_group(t, group);
    }
    if (t->failures == MOST_FAILURES)
        *t->sought.reach = (cebus_reach){
            .to = board->count, .most = HUGE_VAL, .evicted = board->offsets[board->count]};
}

/** The first row up to which there are so many bytes. */
static uint32_t find_enough(const cebus_board *board, uint64_t bytes)
{
    uint32_t row = 0;
    while (row < board->count && board->offsets[row + 1] - board->offsets[0] < bytes)
        row++;
    return row;
}

void cebus_sieve_vacancies(const cebus_sieve *sieve, const size_t *limits, size_t count,
                           cebus_reach *out)
{
    const cebus_board *board = sieve->board;
    pass p = {.sieve = sieve, .enough = find_enough(board, sieve->market->bytes)};
    const uint32_t groups = (board->count - p.enough + GROUP - 1) / GROUP;
    for (size_t lane = 0; lane < count; lane++)
        p.dearest[lane] = sieve->limits[limits[lane]];
    assert(board->started != 0);
    price_rows(sieve);
    sum_up(&p);
    for (size_t lane = 0; lane < count; lane++) {
        trial t = {.pass = &p, .lane = lane, .limit = limits[lane]};
        begin(sieve, &t.sought, &out[lane]);
        if (groups > 0)
            weigh_groups(&t, groups);
    }
}

/* Shares. */

void cebus_sieve_lay_shares(const cebus_sieve *sieve, cebus_board *board, size_t limit,
                            unsigned bits, const cebus_reach *reach, cebus_shares *out)
{
    uint32_t from = reach->from;
    while (from > 0 && (yields(board, from - 1, limit) || (board->stays[from - 1] & bits) == 0))
        from--;
    cebus_shares_lay_part(board, sieve->limits[limit], sieve->market->move_byte,
                          sieve->market->move_block, from, reach->to, out);
}
