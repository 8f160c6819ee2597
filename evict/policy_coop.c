/**
 * Policy `coop` (Zhang et al., Coop: Memory is not a Commodity, NeurIPS'23): the contiguous window
 * of blocks with the least summed rebuilding cost / staleness; no size term, because the window
 * already has the size of the request. Unlike the published code the neighbourhood counts
 * consumers as well as ancestors, each class once (as DTR does), windows are minimal up to the
 * end of the arena and prices are integers (layout/window.h).
 */
#include "evict/policy.h"

const cebus_policy cebus_policy_coop = {
    .name = "coop",
    .unit = CEBUS_UNIT_WINDOW,
    .weight = cebus_policy_weight_neighbourhood,
};
