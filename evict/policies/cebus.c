/**
 * Policy `cebus`: the program plus further runs of its calls, planned ahead from one recorded
 * iteration (planner/planner.h; beyond Capuchin, Peng et al., ASPLOS'20). What the plan does not
 * foresee, and the first iteration, is met as by `coop`.
 */
#include "evict/planner/shuttle.h"
#include "evict/policy.h"

const cebus_policy cebus_policy_cebus = {
    .name = "cebus",
    .unit = CEBUS_UNIT_WINDOW,
    .weight = cebus_policy_weight_neighbourhood,
    .plan = cebus_shuttle_plan,
    .layout = "planned",
    .searches = true,
};
