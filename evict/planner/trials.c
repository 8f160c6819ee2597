#include "evict/planner/trials.h"

void cebus_trials_init(cebus_trials *trials, cebus_pool *pool)
{
    *trials = (cebus_trials){.count = 0};
    for (size_t i = 0; i < CEBUS_TRIALS; i++) {
        cebus_snapshot_init(&trials->items[i].base, pool);
        cebus_snapshot_init(&trials->items[i].better, pool);
    }
}

void cebus_trials_deinit(cebus_trials *trials)
{
    for (size_t i = 0; i < CEBUS_TRIALS; i++) {
        cebus_snapshot_deinit(&trials->items[i].base);
        cebus_snapshot_deinit(&trials->items[i].better);
    }
}

const cebus_trial *cebus_trials_find(const cebus_trials *trials, const cebus_snapshot *base,
                                     uint64_t most_ns, uint64_t allowed)
{
    for (size_t i = 0; i < trials->count && i < CEBUS_TRIALS; i++) {
        const cebus_trial *one = &trials->items[i];
        if (one->most_ns == most_ns && one->allowed == allowed &&
            cebus_snapshot_is_same(&one->base, base))
            return one;
    }
    return NULL;
}

cebus_trial *cebus_trials_add(cebus_trials *trials, const cebus_snapshot *base, uint64_t most_ns,
                              uint64_t allowed)
{
    cebus_trial *one = &trials->items[trials->count % CEBUS_TRIALS];
    one->most_ns = most_ns;
    one->allowed = allowed;
    one->succeeded = false;
    if (!cebus_snapshot_copy(base, &one->base))
        return NULL;
    trials->count++;
    return one;
}
