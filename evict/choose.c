#include "evict/choose.h"

#include <assert.h>
#include <math.h>

#include "evict/clearing.h"
#include "evict/wish.h"
#include "layout/checked.h"
#include "layout/window_index.h"
#include "lineage/cost.h"

/** So many blocks ahead a sweep asks for what it is going to read. */
#define AHEAD 4

/** ns of price per ns of age of what a rebuild reads next. */
#define URGENCY (UINT64_C(1) << 20)

/** So many of the lowest prices are worked out exactly, */
#define REFINED 8
/** windows of as many sizes: that of the request, twice, four times as large; */
#define SIZES 3
/** looking at so many absent calls on each side of a value. */
#define LOOK 1024
/** A rebuild that makes 1/CROWDING of the memory's bytes counts twice. About the size matters
 * little: a factor of 1 + bytes / memory, without the square, left InceptionV4 thrashing under coop
 * at 18% of its peak (tests/bench/logs.md). */
#define CROWDING 3.0

/** The price of the neighbourhood is at hand, and mostly more than what lies behind the value. */
static bool is_too_dear(const cebus_chooser *chooser, cebus_candidate *candidate)
{
    cebus_value *value = &candidate->value;
    uint64_t most = chooser->dearest;
    return most > 0 && cebus_cost_price(chooser->lineage, value) > most &&
           cebus_replay_behind(chooser->lineage, value, SIZE_MAX, most).ns > most;
}

/** Gradients are dropped as a last resort only; a swap brings them back at no risk. */
static bool may_go(const cebus_chooser *chooser, cebus_candidate *candidate)
{
    if (!cebus_candidate_is_idle(candidate) ||
        (cebus_wish_saves(candidate) && !chooser->last_resort))
        return false;
    if (chooser->swap.use != CEBUS_SWAP_NEVER && cebus_regen_may_swap(&chooser->swap, candidate))
        return true;
    return cebus_value_is_replayable(&candidate->value) &&
           (!candidate->gradient || chooser->last_resort) && !is_too_dear(chooser, candidate);
}

bool cebus_choose_suffices(const cebus_chooser *chooser, uint64_t bytes)
{
    uint64_t found = cebus_arena_free_bytes(chooser->arena);
    if (chooser->policy->unit == CEBUS_UNIT_NONE)
        return found >= bytes;
    for (const cebus_block *block = chooser->arena->first; block != NULL && found < bytes;
         block = block->next) {
        if (block->state != CEBUS_BLOCK_FREE && block->owner != NULL &&
            may_go(chooser, block->owner))
            found += block->bytes;
    }
    return found >= bytes;
}

/** What the policy says, out of the values' memory where that is the neighbourhood's cost. What a
 * replay left behind and nobody wants any more goes for nothing. */
static uint64_t weigh(const cebus_chooser *chooser, cebus_candidate *candidate)
{
    if (!cebus_value_is_wanted(&candidate->value))
        return 0;
    if (chooser->policy->weight == cebus_policy_weight_neighbourhood)
        return cebus_cost_price(chooser->lineage, &candidate->value);
    return chooser->policy->weight(chooser->lineage, candidate);
}

/** What the running rebuild reads soon is dearer than anything it does not read: the sooner the
 * dearer, whatever its age. */
static uint64_t add_urgency(const cebus_chooser *chooser, const cebus_block *block,
                            const cebus_value *value)
{
    uint64_t distance = cebus_replay_distance(chooser->rebuild, value);
    uint64_t age = chooser->now > block->tick ? chooser->now - block->tick : 1;
    uint64_t more, weight = UINT64_MAX;
    if (distance == 0)
        return block->weight;
    if (cebus_checked_mul(age, URGENCY / distance + 1, &more))
        (void)cebus_checked_add(block->weight, more, &weight);
    return weight;
}

/** Brings a used block's state and weight up to date: prices depend on who is absent now. */
static void price_block(const cebus_chooser *chooser, cebus_block *block)
{
    cebus_candidate *candidate = block->owner;
    if (candidate == NULL || !may_go(chooser, candidate)) {
        block->state = CEBUS_BLOCK_BARRIER;
        return;
    }
    uint64_t before = block->weight;
    block->state = CEBUS_BLOCK_EVICTABLE;
    block->weight = weigh(chooser, candidate);
    if (chooser->swap.use != CEBUS_SWAP_NEVER)
        block->weight = cebus_regen_weight(&chooser->swap, candidate, block->weight);
    else
        candidate->method = CEBUS_GO_DROP;
    block->weight = cebus_wish_price(block->weight, cebus_wish_shift(candidate));
    if (chooser->rebuild != NULL)
        block->weight = add_urgency(chooser, block, &candidate->value);
    if (block->weight < before)
        cebus_window_index_cheaper(chooser->arena->index, block);
}

/**
 * Records lie about in memory, and a sweep does little with each: it would mostly wait. A scout
 * runs ahead and has the lines of the next candidates fetched.
 */
static void fetch(const cebus_block *block)
{
    const cebus_candidate *candidate = block->owner;
    if (candidate == NULL)
        return;
    __builtin_prefetch(&candidate->value);
    __builtin_prefetch(&candidate->block);
    __builtin_prefetch(&candidate->exports);
}

static const cebus_block *send_scout(const cebus_arena *arena)
{
    const cebus_block *scout = arena->first;
    for (int i = 0; i < AHEAD && scout != NULL; i++, scout = scout->next)
        fetch(scout);
    return scout;
}

static const cebus_block *advance_scout(const cebus_block *scout)
{
    if (scout == NULL)
        return NULL;
    fetch(scout);
    return scout->next;
}

static void price_blocks(const cebus_chooser *chooser)
{
    const cebus_block *scout = send_scout(chooser->arena);
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        scout = advance_scout(scout);
        if (block->state != CEBUS_BLOCK_FREE)
            price_block(chooser, block);
    }
}

/** The score of policies that choose windows, when a single victim is asked of them. */
static double score_by_density(uint64_t weight, const cebus_situation *situation)
{
    return (double)weight / ((double)situation->bytes * (double)situation->age);
}

static uint64_t free_bytes(const cebus_block *block)
{
    return block != NULL && block->state == CEBUS_BLOCK_FREE ? block->bytes : 0;
}

static double score_block(const cebus_chooser *chooser, const cebus_block *block,
                          uint64_t free_before)
{
    cebus_situation situation = {
        .age = chooser->now > block->tick ? chooser->now - block->tick : 1,
        .bytes = block->bytes,
        .adjacent_free = chooser->arena->commodity ? 0 : free_before + free_bytes(block->next),
    };
    if (chooser->policy->score == NULL || chooser->rebuild != NULL)
        return score_by_density(block->weight, &situation);
    if (chooser->policy->score == cebus_policy_score_age && block->owner != NULL)
        situation.age = cebus_wish_price(situation.age, -cebus_wish_shift(block->owner));
    return chooser->policy->score(block->weight, &situation);
}

/** One sweep that prices, unless prices are to be kept, and offers every candidate. */
static void sweep(const cebus_chooser *chooser, bool keep_prices, cebus_shortlist *list)
{
    const cebus_block *scout = keep_prices ? NULL : send_scout(chooser->arena);
    uint64_t free_before = 0;
    for (cebus_block *block = chooser->arena->first; block != NULL; block = block->next) {
        scout = advance_scout(scout);
        if (block->state == CEBUS_BLOCK_FREE) {
            free_before = block->bytes;
            continue;
        }
        if (!keep_prices)
            price_block(chooser, block);
        if (block->state == CEBUS_BLOCK_EVICTABLE)
            cebus_shortlist_offer(list,
                                  (cebus_scored){score_block(chooser, block, free_before), block});
        free_before = 0;
    }
}

static uint64_t price_now(const cebus_chooser *chooser, const cebus_block *block)
{
    return block != NULL ? cebus_block_price(block, chooser->now) : 0;
}

/** The lowest scores, lowest first, each with the price of the one that comes next. */
static size_t choose_lowest(const cebus_chooser *chooser, bool keep_prices, uint64_t bytes,
                            cebus_victims *out, size_t limit)
{
    cebus_shortlist list;
    cebus_shortlist_init(&list, bytes, limit);
    sweep(chooser, keep_prices, &list);
    size_t count = list.count;
    const cebus_block *next = list.lost.block;
    for (size_t i = count; i-- > 0;) {
        cebus_block *block = cebus_shortlist_pop(&list).block;
        out[i] = (cebus_victims){.first = block,
                                 .last = block,
                                 .price = price_now(chooser, block),
                                 .next_price = price_now(chooser, next)};
        next = block;
    }
    return count;
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

/** Up to `limit` (at most REFINED), through the index where there are blocks enough and host
 * memory. */
static size_t find_windows(const cebus_chooser *chooser, uint64_t bytes, cebus_window *out,
                           size_t limit)
{
    cebus_arena *arena = chooser->arena;
    bool many = arena->used_blocks + arena->free_blocks >= CEBUS_WINDOW_INDEX_BLOCKS;
    if (arena->index == NULL && many)
        (void)cebus_window_index_create(arena);
    size_t count =
        arena->index != NULL && many
            ? cebus_window_index_find(arena->index, bytes, chooser->now, NULL, out, limit)
            : cebus_window_find_best(arena, bytes, chooser->now, out, limit);
#if CEBUS_CHECKS >= 2
    check_windows(chooser, bytes, out, count, limit);
#endif
    return count;
}

static cebus_victims best_window(const cebus_chooser *chooser, uint64_t bytes)
{
    cebus_window best[2] = {{0}};
    find_windows(chooser, bytes, best, chooser->compare ? 2 : 1);
    return (cebus_victims){.first = best[0].first,
                           .last = best[0].last,
                           .price = best[0].price,
                           .next_price = best[1].first != NULL ? best[1].price : 0};
}

/**
 * What it really adds when a candidate goes. Classes tie together what is absent on all sides,
 * dead values, too: next to a large one all prices are alike, and tell a gradient that the whole
 * backward hangs on from an activation that one call makes by nothing but its age. What makes more
 * bytes than there are is not made in one pass, but over and over in what room there is: the
 * effort grows with the square of that.
 */
static uint64_t exact_weight(const cebus_chooser *chooser, const cebus_block *block)
{
    const cebus_candidate *candidate = block->owner;
    if (candidate->method == CEBUS_GO_SWAP || !cebus_value_is_wanted(&candidate->value))
        return block->weight;
    cebus_effort behind =
        cebus_replay_behind(chooser->lineage, &candidate->value, LOOK, UINT64_MAX);
    cebus_effort ahead = cebus_replay_ahead(chooser->lineage, &candidate->value, LOOK);
    double fill = CROWDING * (double)behind.bytes / (double)chooser->arena->limit;
    uint64_t weight = (uint64_t)((double)(behind.ns + ahead.ns) * (1 + fill * fill));
    return cebus_wish_price(weight, cebus_wish_shift(candidate));
}

static double exact_score(const cebus_chooser *chooser, cebus_block *block)
{
    uint64_t weight = block->weight;
    block->weight = exact_weight(chooser, block);
    double score = score_block(chooser, block, free_bytes(block->prev));
    block->weight = weight;
    return score;
}

static uint64_t exact_price(const cebus_chooser *chooser, cebus_block *block)
{
    uint64_t weight = block->weight;
    block->weight = exact_weight(chooser, block);
    uint64_t price = cebus_block_price(block, chooser->now);
    block->weight = weight;
    return price;
}

static uint64_t exact_sum(const cebus_chooser *chooser, const cebus_window *window)
{
    uint64_t price = 0;
    for (cebus_block *block = window->first;; block = block->next) {
        if (block->state == CEBUS_BLOCK_EVICTABLE)
            price += exact_price(chooser, block);
        if (block == window->last)
            return price;
    }
}

/** The best of the few lowest scores by what they really are. */
static cebus_victims refine_lowest(const cebus_chooser *chooser)
{
    cebus_shortlist list;
    double best = 0, second = 0;
    cebus_block *chosen = NULL, *next = NULL;
    cebus_shortlist_init(&list, UINT64_MAX, REFINED);
    sweep(chooser, false, &list);
    while (list.count > 0) {
        cebus_block *block = cebus_shortlist_pop(&list).block;
        double score = exact_score(chooser, block);
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
                           .price = chosen != NULL ? exact_price(chooser, chosen) : 0,
                           .next_price = next != NULL ? exact_price(chooser, next) : 0};
}

/** The lowest scores, lowest first; the first few exact. */
static size_t list_lowest(const cebus_chooser *chooser, cebus_scored out[CEBUS_SHORTLIST_MAX])
{
    cebus_shortlist list;
    cebus_shortlist_init(&list, UINT64_MAX, CEBUS_SHORTLIST_MAX);
    sweep(chooser, true, &list);
    size_t count = list.count;
    for (size_t i = count; i-- > 0;)
        out[i] = cebus_shortlist_pop(&list);
    for (size_t i = 0; i < count && i < REFINED; i++) {
        cebus_scored one = {exact_score(chooser, out[i].block), out[i].block};
        size_t at = i;
        for (; at > 0 && out[at - 1].score > one.score; at--)
            out[at] = out[at - 1];
        out[at] = one;
    }
    return count;
}

/** What single victims would cost by the byte if addresses did not matter: the last of those that
 * together have what is missing. Moving costs time at once, going costs it some day: as much a
 * price as if it were a value's that is as old as those. */
static cebus_market find_market(const cebus_chooser *chooser, uint64_t bytes)
{
    const cebus_move_terms *moves = &chooser->moves;
    cebus_market market = {.now = chooser->now,
                           .bytes = bytes,
                           .passing = chooser->replaying,
                           .moves = moves->rate > 0};
    uint64_t found = cebus_arena_free_bytes(chooser->arena);
    cebus_scored lowest[CEBUS_SHORTLIST_MAX];
    size_t count = list_lowest(chooser, lowest);
    double weight = 0, price = 0;
    for (size_t i = 0; i < count && (i == 0 || found < bytes); i++) {
        const cebus_block *block = lowest[i].block;
        uint64_t age = chooser->now > block->tick ? chooser->now - block->tick : 1;
        double one = lowest[i].score * (double)block->bytes;
        market.byte_price = lowest[i].score;
        weight += one * (double)age;
        price += one;
        found += block->bytes;
    }
    if (market.moves && price > 0) {
        market.move_byte = 1e9 / (double)moves->rate * price / weight;
        market.move_block = (double)moves->ns * price / weight;
    }
    return market;
}

/** The best windows of the size and, since a larger hole may be cheaper by the byte, some of its
 * multiples. */
static size_t find_candidates(const cebus_chooser *chooser, uint64_t bytes,
                              cebus_window out[2 * REFINED])
{
    size_t count = 0;
    for (int i = 0; i < SIZES && bytes <= chooser->arena->capacity >> i; i++)
        count += find_windows(chooser, bytes << i, out + count, REFINED >> i);
    return count;
}

/** The best of several choices so far. */
typedef struct contest {
    cebus_victims victims;
    double best, second;
    double dearest; /**< what costs more a byte stays and moves */
} contest;

static void enter(contest *c, const cebus_victims *victims, double score, double dearest)
{
    if (c->victims.first == NULL || score < c->best) {
        uint64_t next = c->victims.price;
        c->second = c->best;
        c->victims = *victims;
        c->victims.next_price = next;
        c->best = score;
        c->dearest = dearest;
    } else if (victims->first != c->victims.first &&
               (c->victims.next_price == 0 || score < c->second)) {
        c->victims.next_price = victims->price;
        c->second = score;
    }
}

/** Windows all of which goes. */
static void enter_windows(const cebus_chooser *chooser, const cebus_market *market, contest *c)
{
    cebus_window windows[2 * REFINED];
    size_t count = find_candidates(chooser, market->bytes, windows);
    for (size_t i = 0; i < count; i++) {
        const cebus_window *w = &windows[i];
        cebus_victims victims = {w->first, w->last, .price = exact_sum(chooser, w)};
        double score = (double)victims.price / (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT) -
                       cebus_market_worth(market, chooser->arena->limit, w->evicted_bytes);
        enter(c, &victims, score, HUGE_VAL);
    }
}

/** Blocks that are dearer than that are left alone. */
static void keep_dear(const cebus_market *market, const cebus_victims *victims, double dearest)
{
    for (cebus_block *block = victims->first;; block = block->next) {
        if (block->state == CEBUS_BLOCK_EVICTABLE && !cebus_market_sells(market, block, dearest))
            block->state = CEBUS_BLOCK_BARRIER;
        if (block == victims->last)
            return;
    }
}

/** What goes of a run, at what it really costs. */
static cebus_victims victims_of(const cebus_chooser *chooser, const cebus_market *market,
                                const cebus_clearing *found, double dearest)
{
    cebus_victims victims = {found->first, found->last, .moves = true};
    for (cebus_block *block = found->first;; block = block->next) {
        if (block->state == CEBUS_BLOCK_EVICTABLE && cebus_market_sells(market, block, dearest))
            victims.price += exact_price(chooser, block);
        if (block == found->last)
            return victims;
    }
}

/** Runs a part of which moves, for several ideas of what is dear. */
static void enter_clearings(const cebus_chooser *chooser, const cebus_market *market, contest *c)
{
    static const double degrees[CEBUS_CLEARINGS] = {0, 0.5, 1, 2, 4, 8};
    double dearest[CEBUS_CLEARINGS];
    cebus_clearing found[CEBUS_CLEARINGS];
    for (size_t i = 0; i < CEBUS_CLEARINGS; i++)
        dearest[i] = degrees[i] * market->byte_price;
    cebus_clearing_find(chooser->arena, market, dearest, CEBUS_CLEARINGS, found);
    for (size_t i = 0; i < CEBUS_CLEARINGS; i++) {
        if (found[i].first == NULL)
            continue;
        cebus_victims victims = victims_of(chooser, market, &found[i], dearest[i]);
        double score = (double)victims.price / (double)(UINT64_C(1) << CEBUS_PRICE_SHIFT) +
                       found[i].moving -
                       cebus_market_worth(market, chooser->arena->limit, found[i].evicted_bytes);
        enter(c, &victims, score, dearest[i]);
    }
}

/** The same for windows, and for runs a part of which moves. */
static cebus_victims refine_window(const cebus_chooser *chooser, uint64_t bytes)
{
    contest c = {0};
    cebus_market market = find_market(chooser, bytes);
    size_t blocks = chooser->arena->used_blocks + chooser->arena->free_blocks;
    enter_windows(chooser, &market, &c);
    if (blocks >= CEBUS_CLEARING_BLOCKS)
        return c.victims;
    enter_clearings(chooser, &market, &c);
    if (c.victims.moves)
        keep_dear(&market, &c.victims, c.dearest);
    c.victims.weighs_moves = market.moves;
    return c.victims;
}

/** Where addresses do not matter, or what lies between victims will be read soon, there are no
 * windows: one victim at a time. */
static bool wants_one(const cebus_chooser *chooser)
{
    if (chooser->policy->unit == CEBUS_UNIT_WINDOW)
        return !cebus_arena_has_windows(chooser->arena) || chooser->rebuild != NULL;
    return chooser->policy->unit == CEBUS_UNIT_ONE;
}

static cebus_victims choose_one(const cebus_chooser *chooser, uint64_t bytes, bool refine)
{
    cebus_victims victims = {0};
    if (refine)
        return refine_lowest(chooser);
    choose_lowest(chooser, false, bytes, &victims, 1);
    return victims;
}

cebus_victims cebus_choose_victims(const cebus_chooser *chooser, uint64_t bytes)
{
    bool refine = chooser->policy->weight == cebus_policy_weight_neighbourhood;
    if (wants_one(chooser))
        return choose_one(chooser, bytes, refine);
    if (chooser->policy->unit != CEBUS_UNIT_WINDOW)
        return (cebus_victims){0};
    price_blocks(chooser);
    return refine ? refine_window(chooser, bytes) : best_window(chooser, bytes);
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
