/**
 * choose.h: the reactive chooser. A request did not fit: which values go? It answers with blocks
 * of candidates; the runtime drops them and places again.
 *
 * Every block whose owner is set must be owned by a cebus_candidate; blocks without an owner
 * (workspace) are barriers.
 */
#ifndef CEBUS_EVICT_CHOICE_CHOOSE_H
#define CEBUS_EVICT_CHOICE_CHOOSE_H

#include "evict/choice/chooser.h"
#include "evict/choice/shortlist.h"

/**
 * Whether `bytes` would be free if everything went that may go. A request for more gives up
 * nothing: it would fail all the same, with much to rebuild. O(blocks) at worst; stops when it is
 * enough.
 */
bool cebus_choose_suffices(const cebus_chooser *chooser, uint64_t bytes);
/** The same bytes, all of them. O(blocks). */
uint64_t cebus_choose_room(const cebus_chooser *chooser);

/**
 * What the policy gives up toward a request of `bytes`. UNIT_WINDOW answers everything at once,
 * UNIT_ONE one victim: ask again until the request fits. O(blocks), and O(neighbours) for each
 * that had a change next to it since the last choice.
 */
cebus_victims cebus_choose_victims(const cebus_chooser *chooser, uint64_t bytes);

/**
 * The cheapest single victim whatever the policy's unit: for the ladder's last rungs, which only
 * need bytes, not an address range. UNIT_NONE answers nothing. O(blocks).
 */
cebus_victims cebus_choose_one(const cebus_chooser *chooser);

/**
 * The same as often as it takes to give up `bytes`, in one sweep: writes the victims to `out`,
 * cheapest first, `limit` and CEBUS_SHORTLIST_MAX at most, and answers how many. Ask again (with
 * keep_prices) when they do not do: policies with a score of their own give one at a time, since
 * what is free beside a block may matter to it.
 */
size_t cebus_choose_cheapest(const cebus_chooser *chooser, uint64_t bytes, cebus_victims *out,
                             size_t limit);

/**
 * What it would take next, without anything having gone: the values whose blocks have the lowest
 * scores and together `bytes`, lowest first. An estimate where scores look at neighbours.
 */
size_t cebus_choose_next(const cebus_chooser *chooser, uint64_t bytes, cebus_victims *out,
                         size_t limit);

#endif
