/**
 * pricing.h: what one block costs: whether its value may go now, at which weight, and how a policy
 * that gives up single victims scores it.
 */
#ifndef CEBUS_EVICT_CHOICE_PRICING_H
#define CEBUS_EVICT_CHOICE_PRICING_H

#include "evict/choice/chooser.h"

/** What a score is worked out from: a block's own fields, or those kept from the last sweep. */
typedef struct cebus_quote {
    uint64_t weight, tick, bytes;
    uint64_t free_beside; /**< bytes of the holes on its two sides */
} cebus_quote;

/** Whether a value may be evicted at all. Gradients may be swapped, but are dropped as a last
 * resort only: rebuilding one may run most of the backward again. */
bool cebus_pricing_may_go(const cebus_chooser *chooser, const cebus_candidate *candidate);
/** Whether it may be evicted without a copy: the bytes are made again, not brought back. */
bool cebus_pricing_may_drop(const cebus_chooser *chooser, const cebus_candidate *candidate);

/** Binary digits by which a price moves: for what the program wishes (hints), and up for a digest,
 * a small result of large inputs (lineage/call.h). Dropping a digest frees few bytes, and to make
 * it again its large inputs have to be kept or made again, too. */
int cebus_pricing_shift(const cebus_candidate *candidate);

/** Whether scores of blocks that were just priced are those of their exact prices. */
bool cebus_pricing_scores_exactly(const cebus_chooser *chooser);

/** Brings a used block's state and weight up to date: both depend on which values are absent now.
 */
void cebus_pricing_block(const cebus_chooser *chooser, cebus_block *block);

/** The same, but for a block whose score is more than `most`: false, and its weight stays as it
 * was. */
bool cebus_pricing_block_within(const cebus_chooser *chooser, cebus_block *block, double most);

/** False: the score of a block, as it is priced, is more than `most`. A bound, without a division.
 */
bool cebus_pricing_may_be_within(const cebus_chooser *chooser, const cebus_block *block,
                                 double most);

/** The lower, the sooner it goes. Of the block only its owner's hint is read, by policies that
 * score by age alone; all else comes from the quote. */
double cebus_pricing_score(const cebus_chooser *chooser, const cebus_block *block,
                           const cebus_quote *quote);

/** The same, quoted from the block and its neighbours as they are now. */
double cebus_pricing_score_now(const cebus_chooser *chooser, const cebus_block *block);

/** Exact weight of a block that may go, in ns; false, perhaps sooner, where it is more than `most`.
 */
bool cebus_pricing_exact_within(const cebus_chooser *chooser, const cebus_block *block,
                                uint64_t most, uint64_t *out);
/** The score, and the window price (layout/window/window.h), that follow from that weight. */
double cebus_pricing_exact_score(const cebus_chooser *chooser, const cebus_block *block);
uint64_t cebus_pricing_exact_price(const cebus_chooser *chooser, const cebus_block *block);

#endif
