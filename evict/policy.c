#include "evict/policy.h"

#include <string.h>

#include "lineage/cost.h"

uint64_t cebus_policy_weight_own(cebus_lineage *lineage, const cebus_candidate *candidate)
{
    (void)lineage;
    return cebus_cost_own(&candidate->value);
}

uint64_t cebus_policy_weight_neighbourhood(cebus_lineage *lineage, const cebus_candidate *candidate)
{
    return cebus_cost_neighbourhood(lineage, &candidate->value);
}

double cebus_policy_score_age(uint64_t weight, const cebus_situation *situation)
{
    (void)weight;
    return -(double)situation->age;
}

static const cebus_policy *const policies[] = {
    &cebus_policy_none,         &cebus_policy_lru,   &cebus_policy_dtr,
    &cebus_policy_dtr_local,    &cebus_policy_dte,   &cebus_policy_coop,
    &cebus_policy_sublinear,    &cebus_policy_vdnn,  &cebus_policy_vdnn_all,
    &cebus_policy_superneurons, &cebus_policy_tflms, &cebus_policy_odswap,
    &cebus_policy_capuchin,     &cebus_policy_cebus,
};

const cebus_policy *cebus_policy_at(size_t i)
{
    return i < sizeof policies / sizeof *policies ? policies[i] : NULL;
}

const cebus_policy *cebus_policy_find(const char *name)
{
    for (size_t i = 0; cebus_policy_at(i) != NULL; i++) {
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    }
    return NULL;
}
