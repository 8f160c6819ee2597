/**
 * pricing.h: what one block costs: whether its value may go now, at which weight, and how a policy
 * that gives up single victims scores it.
 */
#ifndef CEBUS_EVICT_PRICING_H
#define CEBUS_EVICT_PRICING_H

#include "evict/chooser.h"

/** What a score is worked out from: what a block says, or what was kept of it. */
typedef struct cebus_quote {
    uint64_t weight, tick, bytes;
    uint64_t free_beside; /**< bytes of the holes on its two sides */
} cebus_quote;

/** Gradients are dropped as a last resort only; a swap brings them back at no risk. */
bool cebus_pricing_may_go(const cebus_chooser *chooser, cebus_candidate *candidate);

/**
 * What it really adds when a candidate goes, in ns: what lies behind it and ahead of it, each
 * absent call once. Classes tie together what is absent on all sides, dead values, too: next to a
 * large one all prices are alike, and tell a gradient that the whole backward hangs on from an
 * activation that one call makes by nothing but its age. What makes more bytes than there are is
 * not made in one pass, but over and over in what room there is: the effort grows with the square
 * of that.
 */
uint64_t cebus_pricing_exact(const cebus_chooser *chooser, cebus_candidate *candidate);

/** Binary digits by which a price moves: what the program wishes, and up for a digest
 * (lineage/call.h). It is cheap only while what it is made of is there, and that may have to stay,
 * or be made again, for it: for bytes that are hardly worth it. */
int cebus_pricing_shift(const cebus_candidate *candidate);

/** Brings a used block's state and weight up to date: prices depend on who is absent now. */
void cebus_pricing_block(const cebus_chooser *chooser, cebus_block *block);

/** The lower, the sooner it goes. Of the block only the owner is read, and only by policies that
 * ask for nothing but age: its wishes, by the method that it was last priced for. */
double cebus_pricing_score(const cebus_chooser *chooser, const cebus_block *block,
                           const cebus_quote *quote);

/** By what the block and its neighbours say. */
double cebus_pricing_score_now(const cebus_chooser *chooser, const cebus_block *block);

/** ns to make a block again that may go; score and window price (layout/window.h) by that. */
uint64_t cebus_pricing_exact_weight(const cebus_chooser *chooser, const cebus_block *block);
double cebus_pricing_exact_score(const cebus_chooser *chooser, const cebus_block *block);
uint64_t cebus_pricing_exact_price(const cebus_chooser *chooser, const cebus_block *block);

#endif
