/**
 * Policy `lru`: the least recently used value goes first, whatever it costs to rebuild.
 */
#include "evict/policy.h"

static double score(uint64_t weight, const cebus_situation *situation)
{
    (void)weight;
    return -(double)situation->age;
}

const cebus_policy cebus_policy_lru = {
    .name = "lru",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = score,
};
