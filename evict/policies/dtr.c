/**
 * Policies `dtr` and `dtr-local` (Kirisame et al., Dynamic Tensor Rematerialization, ICLR'21,
 * sections 3 and 4): cost of rebuilding / (bytes x staleness), one victim at a time. `dtr` counts
 * the absent neighbourhood by union-find classes (h_DTR-eq), `dtr-local` the value's own run only.
 * Liberties: no sampling (every candidate is scored), and the budget is a hard cap.
 */
#include "evict/policy.h"

static double score(uint64_t weight, const cebus_situation *situation)
{
    return (double)weight / ((double)situation->bytes * (double)situation->age);
}

const cebus_policy cebus_policy_dtr = {
    .name = "dtr",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_neighbourhood,
    .score = score,
};

const cebus_policy cebus_policy_dtr_local = {
    .name = "dtr-local",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = score,
};
