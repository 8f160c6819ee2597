/** A plan for what may follow on what ran. */
#include <criterion/criterion.h>

#include "evict/planner/foresee.h"
#include "evict/planner/sequence.h"
#include "tests/unit/evict/recorded.h"

enum {
    MAPS = 8
};

static recorded r;
static size_t maps[MAPS];

/** MAPS maps, each made of the one before; all but the last two are gone. Then all are read once
 * more, the last first. */
static void setup(void)
{
    recorded_init(&r);
    size_t first = recorded_leaf(&r, 0, true);
    for (int i = 0; i < MAPS; i++)
        maps[i] = recorded_call(&r, "f", 10, i > 0 ? maps[i - 1] : first, SIZE_MAX, 100);
    r.iteration.past = MAPS;
    for (int i = 0; i < MAPS - 2; i++)
        r.iteration.values[r.values[maps[i]].ordinal].absent = true;
    recorded_call(&r, "known", 1, SIZE_MAX, SIZE_MAX, 0);
    for (int i = MAPS; i-- > 0;)
        recorded_call(&r, "read", 10, maps[i], SIZE_MAX, 0);
    cr_assert(cebus_iteration_seal(&r.iteration));
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(planner_foresee, .init = setup, .fini = teardown);

static bool is_there(const bool *there, uint32_t call)
{
    const cebus_iteration_call *of = &r.iteration.calls[call];
    bool all = true;
    for (uint32_t i = 0; i < of->n_in; i++) {
        uint32_t value = r.iteration.refs[of->refs + i];
        all = all && (r.iteration.values[value].persistent || there[value]);
    }
    return all;
}

/** Bytes at most, as the plan is carried out from where the past ended. */
static uint64_t peak_of_plan(void)
{
    bool there[2 * MAPS + 2];
    uint64_t bytes = 0, peak = 0;
    size_t next = 0;
    for (size_t v = 0; v < r.iteration.n_values; v++) {
        there[v] = r.iteration.values[v].born < MAPS && !r.iteration.values[v].absent;
        bytes += there[v] ? r.iteration.values[v].bytes : 0;
    }
    for (uint32_t k = MAPS; k < r.iteration.n_calls; k++) {
        for (; next < r.plan.count && r.plan.actions[next].at <= k; next++) {
            const cebus_action *action = &r.plan.actions[next];
            const cebus_iteration_value *value = &r.iteration.values[action->value];
            bool comes = action->kind == CEBUS_ACTION_REPLAY;
            cr_assert(!comes || is_there(there, value->born), "value %u", action->value);
            cr_expect_neq(there[action->value], comes);
            there[action->value] = comes;
            bytes = comes ? bytes + value->bytes : bytes - value->bytes;
            peak = bytes > peak ? bytes : peak;
        }
        cr_assert(is_there(there, k), "call %u", k);
        there[r.iteration.refs[r.iteration.calls[k].refs + r.iteration.calls[k].n_in]] = true;
    }
    return peak;
}

Test(planner_foresee, makes_again_what_is_read_within_the_limit)
{
    uint64_t steps = 10000;
    cr_assert(cebus_foresee_plan(&r.iteration, 1000, &steps, &r.plan));
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_REPLAY), MAPS - 2);
    cebus_plan_clear(&r.plan);
    steps = 10000;
    cr_assert(cebus_foresee_plan(&r.iteration, 300, &steps, &r.plan));
    cr_expect_gt(steps, 0);
    cr_expect_leq(peak_of_plan(), 300);
    cr_expect_gt(recorded_count(&r, CEBUS_ACTION_REPLAY), MAPS - 2);
    cr_expect_leq(recorded_count(&r, CEBUS_ACTION_REPLAY), 2 * MAPS);
}

Test(planner_foresee, has_no_plan_where_a_call_does_not_fit)
{
    uint64_t steps = 10000;
    cr_expect_not(cebus_foresee_plan(&r.iteration, 150, &steps, &r.plan));
}

Test(planner_foresee, gives_up_after_so_many_steps)
{
    uint64_t steps = 1;
    cr_expect_not(cebus_foresee_plan(&r.iteration, 300, &steps, &r.plan));
}
