/**
 * lowest.h: prices all blocks, and finds those of the lowest scores.
 *
 * Prices are worked out anew for every choice by a sweep over the blocks and their owners. Among
 * many blocks that is too much for one victim of many, so there one sweep serves for several
 * choices (CEBUS_STANDING_PART). Until the next sweep prices stand: each block's last price is kept
 * beside its neighbours' (layout/window/chunk.h) as a lower bound, and a block that would win by it
 * is priced before it does. So what goes was priced at that moment, and has the lowest score but
 * for values that became cheaper since the sweep: their absent neighbours came back, or nobody
 * wants them any more. Only chunks that may have a winner are looked at (rank.h).
 *
 * Policies by age alone need no sweep: ticks and hints are kept beside each other, too, every
 * change that makes a value go sooner by them is noted, and only those that may be the oldest are
 * looked at. The answer is always that of a sweep.
 */
#ifndef CEBUS_EVICT_CHOICE_LOWEST_H
#define CEBUS_EVICT_CHOICE_LOWEST_H

#include "evict/choice/pricing.h"
#include "evict/choice/shortlist.h"

/** With fewer blocks than this every choice prices all. */
#define CEBUS_STANDING_BLOCKS 3000
/** From so many blocks on the oldest are found without a sweep; with all checks, in small tests,
 * too.
 */
#if CEBUS_CHECKS >= 2
#define CEBUS_AGE_BLOCKS 4
#else
#define CEBUS_AGE_BLOCKS 512
#endif
/** Of the blocks: so many choices one sweep is for. What a choice costs by that is what it takes to
 * price so many blocks. */
#define CEBUS_STANDING_PART 128

struct cebus_board;

/** What one of the lowest scores was when prices were worked out. */
typedef struct cebus_offer {
    double score;
    uint64_t bytes, tick;
    cebus_block *block; /**< may be gone where prices stand */
} cebus_offer;

/** Of one arena, from one choice to the next; all 0: nothing stands. */
typedef struct cebus_standing {
    uint64_t left;              /**< choices until the next sweep */
    const cebus_policy *policy; /**< for which prices were worked out, with the following */
    cebus_swap_use swap;
    bool persistent, last_resort;
    uint64_t dearest;
    size_t n_offers; /**< of the lowest, where somebody asked for them */
    cebus_offer offers[CEBUS_SHORTLIST_MAX];
} cebus_standing;

/** Prices all blocks, and lets that stand. O(blocks). */
void cebus_lowest_price(const cebus_chooser *chooser);

/** The same of a board that was created, which is complete then. */
void cebus_lowest_price_board(const cebus_chooser *chooser, struct cebus_board *board);

/** Offers every candidate to the list by the prices that there are. O(blocks). */
void cebus_lowest_sweep(const cebus_chooser *chooser, cebus_shortlist *list);

/** Whether prices of the last sweep still stand, for one choice. */
bool cebus_lowest_stands(const cebus_chooser *chooser);

/**
 * The same by prices that stand if they do, and by age: O(chunks), reading those lower than what
 * is found and few more; else after pricing all, with `keep_prices` as the last choice left them.
 */
void cebus_lowest_list(const cebus_chooser *chooser, bool keep_prices, cebus_shortlist *list);

/**
 * The same for who looks at no other block afterwards, `keep_prices` included: where a sweep works
 * out exact prices, it does so only as far as it takes to know that a block is not on the list.
 */
void cebus_lowest_list_alone(const cebus_chooser *chooser, cebus_shortlist *list);

#endif
