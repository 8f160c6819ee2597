/**
 * Policy `dte` (as compared with in Coop, Zhang et al., NeurIPS'23): DTR's score with the free
 * bytes on both sides of the victim added to its size, so that evicting next to a hole is
 * favoured. One victim at a time.
 */
#include "evict/policy.h"

static double score(uint64_t weight, const cebus_situation *situation)
{
    double bytes = (double)situation->bytes + (double)situation->adjacent_free;
    return (double)weight / (bytes * (double)situation->age);
}

const cebus_policy cebus_policy_dte = {
    .name = "dte",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_neighbourhood,
    .score = score,
};
