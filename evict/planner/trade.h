/**
 * trade.h: what stays is traded for what comes and goes, a few values at a time, for as long as an
 * iteration takes less by it. How many bytes may stay, and of what, is known of no program
 * beforehand: what one call uses at once must fit beside what stays only where that call is.
 */
#ifndef CEBUS_EVICT_PLANNER_TRADE_H
#define CEBUS_EVICT_PLANNER_TRADE_H

#include "evict/planner/share.h"

/** Makes a share better that takes *ns, in about so many steps; *ns: what it takes then. Equal
 * input, equal shares. False without host memory. Costs a plan by a share, and a timeline, for each
 * of some hundred trades. */
bool cebus_trade(const cebus_sharing *sharing, cebus_share *share, uint64_t steps, uint64_t *ns);

#endif
