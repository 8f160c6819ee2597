/**
 * Policy `none`: never evicts. A program that does not fit gets an out-of-memory error, as it
 * would without cebus; every other policy is measured against it.
 */
#include "evict/policy.h"

const cebus_policy cebus_policy_none = {
    .name = "none",
    .unit = CEBUS_UNIT_NONE,
    .weight = cebus_policy_weight_own,
};
