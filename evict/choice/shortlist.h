/**
 * shortlist.h: selects, from scored blocks that are offered one by one, those of the lowest scores
 * that together have the bytes wanted: what repeating "give up the lowest" would take, in one pass.
 */
#ifndef CEBUS_EVICT_CHOICE_SHORTLIST_H
#define CEBUS_EVICT_CHOICE_SHORTLIST_H

#include "layout/block.h"

#define CEBUS_SHORTLIST_MAX 32

/** Equal scores go by address, the lower first. */
typedef struct cebus_scored {
    double score;
    cebus_block *block;
} cebus_scored;

typedef struct cebus_shortlist {
    size_t limit;    /**< the most entries, 1 to CEBUS_SHORTLIST_MAX */
    uint64_t wanted; /**< bytes: the list is as short as it can be to have them */
    size_t count;
    uint64_t bytes;                            /**< of its blocks */
    cebus_scored lost;                         /**< the first of those left out; block NULL: none */
    cebus_scored entries[CEBUS_SHORTLIST_MAX]; /**< a heap, the last on top */
} cebus_shortlist;

/** Empties the list. */
void cebus_shortlist_init(cebus_shortlist *list, uint64_t wanted, size_t limit);

/** O(1) for a block that stays out, else O(log limit). */
void cebus_shortlist_offer(cebus_shortlist *list, cebus_scored offered);

/** Takes the last one out. The list must not be empty. */
cebus_scored cebus_shortlist_pop(cebus_shortlist *list);

#endif
