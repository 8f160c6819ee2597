/**
 * Policy `cebus`: the program plus further runs of its calls, planned ahead from one recorded
 * iteration (planner/planner.h; beyond Capuchin, Peng et al., ASPLOS'20). What the plan does not
 * foresee, and the first iteration, is met as by `coop`.
 */
#include "evict/planner/planner.h"
#include "evict/policy.h"
#include "evict/shuttle.h"

static bool plan(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out)
{
    return cebus_shuttle_plan(cebus_planner_plan, true, iteration, terms, out);
}

const cebus_policy cebus_policy_cebus = {
    .name = "cebus",
    .unit = CEBUS_UNIT_WINDOW,
    .weight = cebus_policy_weight_neighbourhood,
    .plan = plan,
    .layout = "planned",
    .searches = true,
};
