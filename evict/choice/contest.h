/**
 * contest.h: the ways to meet one request, priced beside each other; the cheapest wins.
 *
 *     windows      neighbours all of which go (choose.c enters those)
 *     clearings    neighbours that go or slide together (clearing.h)
 *     vacancies    a stretch out of which all goes or moves elsewhere (vacancy.h)
 *     scattered    the lowest scores wherever they lie, until some of them leave a hole: what a
 *                  policy takes that gives up one value at a time
 *
 * Of each, what it costs is set against what the bytes are worth that it sets free. The market's
 * price (clearing.h) is that of bytes which may lie anywhere. Where none of the first three is
 * nearly as cheap, since the cheap values are small and lie apart, requests would go on paying a
 * multiple of it while those stay. There scattered bytes are worth what usable ones cost.
 *
 * Where enough is free, but apart, giving up more leaves even more of it idle. There blocks only
 * move, and nothing goes, where that costs less than what is free beyond the request is worth, and
 * less than the request's own bytes have for a price. A byte that lies idle is worth the more the
 * more of them do: the first ones nothing, since later requests take them as they are, the market's
 * price when as much is idle as was asked for. Not for a replay: what is set free too early is what
 * those after it need.
 *
 *     | free 3 | B 1 | free 3 | C 4 | free 1 |   request: 4; 3 units lie idle beyond it. At 8 a
 *     | .  .  .  .  .  .  . | C 4 |     B    |   unit, moving B may cost up to 9: 0 to 6, 3 in the
 *                                                mean, for 3 units
 */
#ifndef CEBUS_EVICT_CHOICE_CONTEST_H
#define CEBUS_EVICT_CHOICE_CONTEST_H

#include "evict/choice/chooser.h"
#include "evict/choice/clearing.h"
#include "evict/choice/lowest.h"
#include "evict/choice/sieve.h"

/** A way to meet the request. Of its victims go the lowest `gone` scores, and what lies in
 * [from, to) and costs up to `dearest` a byte. */
typedef struct cebus_entry {
    cebus_victims victims;
    uint64_t evicted_bytes;
    double moving; /**< price of what moves */
    double ns;     /**< to make again what goes; of windows */
    size_t gone;
    uint64_t from, to;
    double dearest;
} cebus_entry;

typedef struct cebus_contest {
    const cebus_chooser *chooser;
    cebus_market market;
    cebus_board board; /**< none: windows alone compete */
    cebus_sieve sieve; /**< of the board and the market; laid where it is asked for */
    size_t count;
    cebus_offer lowest[CEBUS_SHORTLIST_MAX]; /**< lowest first */
    cebus_entry winner;                      /**< victims.first NULL: none yet */
    double best, second;                     /**< scores */
    double usable; /**< the least that a byte of a hole would cost; HUGE_VAL: unknown */
} cebus_contest;

/** Where everything goes that lies in the victims' range, `ns` to make again. */
void cebus_contest_enter_window(cebus_contest *contest, const cebus_victims *victims,
                                uint64_t evicted_bytes, double ns);

/** What a window that sets so many bytes free may cost at most to matter. HUGE_VAL: anything. */
double cebus_contest_most(const cebus_contest *contest, uint64_t evicted_bytes);

/** Whether it is best that blocks only move; the winner then. For an empty contest. O(blocks). */
bool cebus_contest_only_moves(cebus_contest *contest);

/** All others, where blocks may move. O(blocks). */
void cebus_contest_enter_rest(cebus_contest *contest);

/** The winner; of its range only what goes is still EVICTABLE then. */
cebus_victims cebus_contest_settle(cebus_contest *contest);

#endif
