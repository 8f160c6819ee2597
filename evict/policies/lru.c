/**
 * Policy `lru`: the least recently used value goes first, whatever it costs to rebuild.
 */
#include "evict/policy.h"

const cebus_policy cebus_policy_lru = {
    .name = "lru",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = cebus_policy_score_age,
};
