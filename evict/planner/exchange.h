/**
 * exchange.h: swaps of a sequence, put in, taken out, moved: small changes for a search that keeps
 * what is better (improve.h). Places are looked for in a run of the links from before the change:
 * a slot behind where the value is made for the copy out, one that ends where it is read for the
 * copy back, and what lies between is freed.
 *
 * By chance a place is taken that makes calls wait: early for the copy out, late for the copy in.
 * That may cost less than what else would have to go.
 */
#ifndef CEBUS_EVICT_PLANNER_EXCHANGE_H
#define CEBUS_EVICT_PLANNER_EXCHANGE_H

#include "evict/planner/links.h"

/** A swap that could be put in: before which instances; out_before NONE: it left before. */
typedef struct cebus_swap_place {
    uint32_t value, out_before, in_before;
} cebus_swap_place;

typedef struct cebus_exchange {
    cebus_sequence *sequence; /**< borrowed */
    const cebus_links *links; /**< borrowed: a run of it before the change */
    cebus_copies out, in;     /**< busy times of the links, with the change so far */
    double least;             /**< bytes of the values worth a swap */
    uint64_t host;            /**< bytes there, with the change so far */
    uint64_t random;
} cebus_exchange;

void cebus_exchange_init(cebus_exchange *exchange, cebus_sequence *sequence, double limit);
void cebus_exchange_deinit(cebus_exchange *exchange);

/** @name A change. Places of all swaps to come are to be found first, then put in; what is taken
 * out is so before. False without host memory. */
/** @{ */
bool cebus_exchange_begin(cebus_exchange *exchange, const cebus_links *links);
/** Where the widest stretch of a value without uses can be spent on the host; of one that is
 * swapped already, the widest after it came back, by the copy that is there. out->value is NONE if
 * it cannot. `chance`: places that make calls wait are taken, too, now and then. */
bool cebus_exchange_find(cebus_exchange *exchange, uint32_t value, bool chance,
                         cebus_swap_place *out);
bool cebus_exchange_put(cebus_exchange *exchange, const cebus_swap_place *place);
/** Takes out the swaps whose copies are in the way of those of a value, at the earliest or at the
 * latest or both, by chance: at most so many. values[0..*out_count): whose they were. */
bool cebus_exchange_make_way(cebus_exchange *exchange, uint32_t value, uint32_t most,
                             uint32_t *values, uint32_t *out_count);
/** Takes the swap of a value out, however often it comes back; *out: whether there was one that
 * could be. */
bool cebus_exchange_take(cebus_exchange *exchange, uint32_t value, bool *out);
/** Has a value come back once only; *out: whether it came more often. */
bool cebus_exchange_take_again(cebus_exchange *exchange, uint32_t value, bool *out);
/** @} */

#endif
