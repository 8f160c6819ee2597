#include "evict/planner/usage.h"

#define NONE CEBUS_ITERATION_NONE

cebus_usage cebus_usage_of(const cebus_iteration *iteration, uint32_t call)
{
    const cebus_iteration_call *one = &iteration->calls[call];
    const uint32_t *refs = &iteration->refs[one->refs];
    cebus_usage used = {.others = one->workspace};
    for (uint32_t i = 0; i < (uint32_t)one->n_in + one->n_out; i++) {
        bool named = refs[i] == NONE;
        for (uint32_t j = 0; j < i && !named; j++)
            named = refs[j] == refs[i];
        if (named)
            continue;
        const cebus_iteration_value *value = &iteration->values[refs[i]];
        if (value->persistent)
            used.persistent += value->bytes;
        else if (!cebus_iteration_takes_over(iteration, call, refs[i]))
            used.others += value->bytes;
    }
    return used;
}

uint64_t cebus_usage_least(const cebus_iteration *iteration)
{
    uint64_t most = 0;
    for (uint32_t k = iteration->past; k < iteration->n_calls; k++) {
        const uint64_t others = cebus_usage_of(iteration, k).others;
        most = others > most ? others : most;
    }
    return most + cebus_iteration_persistent(iteration);
}
