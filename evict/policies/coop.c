/**
 * Policy `coop` (Zhang et al., Coop: Memory is not a Commodity, NeurIPS'23): the contiguous window
 * of blocks with the least summed rebuilding cost / staleness. As published there is no size term,
 * because the window already has the size of the request. But what a large cheap value leaves over
 * serves the requests that follow: the chooser takes the best windows of the size, twice and four
 * times of it, and counts what they set free as worth what bytes cost now (clearing.h). Where
 * blocks may move, runs compete a part of which goes and the rest moves. Unlike the published code
 * the neighbourhood counts consumers as well as ancestors, each class once (as DTR does), windows
 * are minimal up to the end of the arena and prices are integers (layout/window/window.h).
 */
#include "evict/policy.h"

const cebus_policy cebus_policy_coop = {
    .name = "coop",
    .unit = CEBUS_UNIT_WINDOW,
    .weight = cebus_policy_weight_neighbourhood,
};
