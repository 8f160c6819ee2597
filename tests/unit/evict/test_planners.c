#include <criterion/criterion.h>

#include "evict/policies/cache.h"
#include "tests/unit/evict/recorded.h"

#define NONE CEBUS_ITERATION_NONE

static recorded r;
static cebus_test_host host;

static void setup(void)
{
    recorded_init_on(&r, &host);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(planners, .init = setup, .fini = teardown);

/** A copy of 100 bytes takes 25 ns and one for rounding, two and a half calls of recorded_network.
 */
static cebus_plan_terms terms(uint64_t budget)
{
    return (cebus_plan_terms){
        .budget = budget, .host = 1 << 20, .out_rate = 4000000000, .in_rate = 4000000000};
}

static bool plan(const cebus_policy *policy, uint64_t budget)
{
    cebus_plan_terms given = terms(budget);
    cebus_plan_clear(&r.plan);
    return policy->plan(&r.iteration, &given, &r.plan);
}

static bool plan_without_host(const cebus_policy *policy, uint64_t budget)
{
    cebus_plan_terms given = terms(budget);
    given.host = 0;
    cebus_plan_clear(&r.plan);
    return policy->plan(&r.iteration, &given, &r.plan);
}

/* ---- all of them -------------------------------------------------------------------------- */

Test(planners, leave_an_iteration_alone_that_fits)
{
    recorded_network(&r, 6, 100, 10);
    for (size_t i = 0; cebus_policy_at(i) != NULL; i++) {
        if (cebus_policy_at(i)->plan == NULL)
            continue;
        cr_expect(plan(cebus_policy_at(i), 1 << 20), "%s", cebus_policy_at(i)->name);
        cr_expect_eq(r.plan.count, 0, "%s", cebus_policy_at(i)->name);
    }
}

Test(planners, name_values_and_times_of_the_iteration_in_order)
{
    recorded_network(&r, 12, 100, 10);
    for (size_t i = 0; cebus_policy_at(i) != NULL; i++) {
        const cebus_policy *policy = cebus_policy_at(i);
        if (policy->plan == NULL)
            continue;
        cr_assert(plan(policy, 700));
        cr_expect_gt(r.plan.count, 0, "%s", policy->name);
        for (size_t a = 0; a < r.plan.count; a++) {
            const cebus_action *action = &r.plan.actions[a];
            cr_assert(action->value < r.iteration.n_values && action->at <= r.iteration.n_calls);
            cr_expect_not(r.iteration.values[action->value].persistent);
            cr_expect(a == 0 || r.plan.actions[a - 1].at <= action->at);
        }
    }
}

Test(planners, do_not_swap_without_a_place_on_the_host)
{
    recorded_network(&r, 12, 100, 10);
    for (size_t i = 0; cebus_policy_at(i) != NULL; i++) {
        if (cebus_policy_at(i)->plan == NULL)
            continue;
        (void)plan_without_host(cebus_policy_at(i), 700);
        cr_expect_eq(recorded_count(&r, CEBUS_ACTION_COPY_OUT), 0);
        cr_expect_eq(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 0);
    }
}

Test(planners, survive_an_empty_iteration)
{
    recorded_call(&r, "f", 0, SIZE_MAX, SIZE_MAX, 100);
    cr_assert(cebus_iteration_seal(&r.iteration));
    for (size_t i = 0; cebus_policy_at(i) != NULL; i++) {
        if (cebus_policy_at(i)->plan == NULL)
            continue;
        cr_expect(plan(cebus_policy_at(i), 1));
        cr_expect_eq(r.plan.count, 0);
    }
}

Test(planners, answer_that_there_is_no_plan_when_any_host_allocation_fails)
{
    recorded_network(&r, 12, 100, 10);
    for (size_t i = 0; cebus_policy_at(i) != NULL; i++) {
        const cebus_policy *policy = cebus_policy_at(i);
        bool planned = policy->plan == NULL;
        uint64_t failed = 0;
        for (uint64_t n = 1; !planned; n++) {
            cebus_plan_clear(&r.plan);
            uint64_t live = r.pool.live_objects;
            host.fail_at = n;
            planned = plan(policy, 700);
            cr_expect_eq(planned, host.fail_at > 0, "%s, allocation %lu", policy->name, n);
            host.fail_at = 0;
            failed += !planned;
            cebus_plan_clear(&r.plan);
            cr_expect_eq(r.pool.live_objects, live, "%s, allocation %lu", policy->name, n);
        }
        cr_expect(policy->plan == NULL || failed > 3);
    }
}

/* ---- vdnn --------------------------------------------------------------------------------- */

Test(planners, vdnn_offloads_what_convolutions_read_while_they_run)
{
    recorded_network(&r, 4, 100, 10);
    cr_assert(plan(&cebus_policy_vdnn, 400));
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(recorded_when(&r, CEBUS_ACTION_COPY_OUT, r.x[i]), r.forward[i]);
        cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.x[i]), r.forward[i] + 1);
    }
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.x[4]), NONE, "the loss reads it");
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_DROP), 0);
}

Test(planners, vdnn_fetches_one_convolution_ahead)
{
    recorded_network(&r, 4, 100, 10);
    cr_assert(plan(&cebus_policy_vdnn, 400));
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.x[i]), r.backward[i + 1] + 1,
                     "when the backward of convolution %zu reads what it read", i + 1);
}

/** Maps that no convolution reads: a chain of activations. */
static void record_activations(size_t n)
{
    size_t x[RECORDED_LAYERS], dx = SIZE_MAX;
    x[0] = recorded_leaf(&r, 100, false);
    for (size_t i = 1; i <= n; i++)
        x[i] = recorded_call(&r, "tanh", 10, x[i - 1], SIZE_MAX, 100);
    for (size_t i = n; i > 0; i--) {
        dx = recorded_call(&r, "tanh_backward", 10, x[i], dx, 100);
        recorded_free(&r, x[i]);
    }
    cr_assert(cebus_iteration_seal(&r.iteration));
}

Test(planners, vdnn_offloads_convolutions_and_vdnn_all_any_layer)
{
    record_activations(8);
    cr_assert(plan(&cebus_policy_vdnn, 500));
    cr_expect_eq(r.plan.count, 0);
    cr_assert(plan(&cebus_policy_vdnn_all, 500));
    cr_expect_geq(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 6);
}

/* ---- tflms -------------------------------------------------------------------------------- */

Test(planners, tflms_swaps_only_what_is_read_farthest_away)
{
    recorded_network(&r, 4, 100, 10);
    /* 704 bytes without a plan, at the first call of the backward. */
    cr_assert(plan(&cebus_policy_tflms, 610));
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 1);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.x[0]), r.forward[0] + 1);
    cr_assert(plan(&cebus_policy_tflms, 510));
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 2);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.x[1]), r.forward[1] + 1);
}

Test(planners, tflms_fetches_a_fixed_number_of_calls_ahead)
{
    recorded_network(&r, 4, 100, 10);
    cr_assert(plan(&cebus_policy_tflms, 510));
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.x[0]), r.backward[0] + 1 - 3);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.x[1]), r.backward[1] + 1 - 3);
}

Test(planners, tflms_swaps_all_that_helps_when_nothing_fits)
{
    recorded_network(&r, 4, 100, 10);
    cr_assert(plan(&cebus_policy_tflms, 10));
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.x[i]), r.forward[i] + 1);
    /* Between the reads of one map in the backward lies a single call. */
    cr_expect_leq(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 4);
}

Test(planners, leave_room_for_holes)
{
    cebus_plan_terms given = terms(710);
    recorded_network(&r, 4, 100, 10);
    cr_assert(cebus_policy_odswap.plan(&r.iteration, &given, &r.plan));
    cr_expect_eq(r.plan.count, 0, "704 bytes fit");
    given.budget = 700;
    cr_assert(cebus_policy_odswap.plan(&r.iteration, &given, &r.plan));
    size_t few = recorded_count(&r, CEBUS_ACTION_SWAP_OUT);
    given.holes = 150;
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_policy_odswap.plan(&r.iteration, &given, &r.plan));
    cr_expect_gt(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), few);
}

/* ---- odswap ------------------------------------------------------------------------------- */

Test(planners, odswap_gives_up_the_least_recently_used_when_room_is_needed)
{
    recorded_network(&r, 4, 100, 10);
    cr_assert(plan(&cebus_policy_odswap, 510));
    /* The fourth relu and the first of the backward need a hundred bytes more than there are. */
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.x[0]), r.forward[3] + 1);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.x[1]), r.backward[3]);
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 2);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_COPY_OUT, r.x[0]), r.forward[0] + 1);
}

Test(planners, odswap_fetches_in_time_for_the_link)
{
    recorded_network(&r, 4, 100, 10);
    cr_assert(plan(&cebus_policy_odswap, 510));
    /* 26 ns before the read: three calls of 10. */
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.x[0]), r.backward[0] + 1 - 3);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.x[1]), r.backward[1] + 1 - 3);
}

Test(planners, copies_back_line_up_on_the_link)
{
    cebus_survey survey;
    cebus_plan_terms given = terms(1 << 20);
    recorded_network(&r, 4, 100, 10);
    given.in_rate = 1000000000; /* 101 ns: longer than the three calls between two reads */
    cr_assert(cebus_survey_init(&survey, &r.iteration, &r.pool));
    uint32_t *leave = cebus_survey_marks(&survey, 0xff);
    for (size_t s = 0; s < survey.n_spans; s++)
        leave[s] = survey.spans[s].from + 1;
    cr_assert(cebus_cache_fetch(&survey, leave, &given, &r.plan));
    uint32_t x0 = recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.x[0]);
    uint32_t x1 = recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.x[1]);
    cr_expect_leq(survey.times[x0], survey.times[r.backward[0] + 1] - 101);
    cr_expect_leq(survey.times[x1], survey.times[r.backward[0] + 1] - 202);
    cebus_survey_free_marks(&survey, leave);
    cebus_survey_deinit(&survey);
}

Test(planners, copies_back_wait_for_room)
{
    cebus_survey survey;
    cebus_plan_terms given = terms(450);
    recorded_network(&r, 4, 100, 10);
    given.in_rate = 1000000000;
    cr_assert(cebus_survey_init(&survey, &r.iteration, &r.pool));
    uint32_t *leave = cebus_survey_marks(&survey, 0xff);
    cebus_cache_evict(&survey, NULL, 450, leave);
    cr_expect_leq(cebus_curve_peak(&survey.curve, NULL), 450);
    cr_assert(cebus_cache_fetch(&survey, leave, &given, &r.plan));
    cr_expect_leq(cebus_curve_peak(&survey.curve, NULL), 450, "what comes early fits, too");
    cr_expect_gt(r.plan.count, 0);
    cebus_survey_free_marks(&survey, leave);
    cebus_survey_deinit(&survey);
}

/* ---- superneurons ------------------------------------------------------------------------- */

/** n times conv, and `cheap` layers on it; every map is read in the backward. */
static void record_segments(size_t n, size_t cheap)
{
    size_t map[RECORDED_VALUES], count = 0, dx = SIZE_MAX;
    map[count++] = recorded_leaf(&r, 100, false);
    for (size_t i = 0; i < n; i++) {
        r.x[i] = count;
        map[count] = recorded_call(&r, "conv2d", 10, map[count - 1], SIZE_MAX, 100);
        count++;
        for (size_t j = 0; j < cheap; j++, count++)
            map[count] = recorded_call(&r, "relu", 10, map[count - 1], SIZE_MAX, 100);
    }
    r.loss = recorded_calls(&r);
    for (size_t m = count; m-- > 1;) {
        r.backward[m % RECORDED_LAYERS] = recorded_calls(&r);
        size_t former = dx;
        dx = recorded_call(&r, "mul", 10, map[m], dx, 100);
        recorded_free(&r, map[m]);
        if (former != SIZE_MAX)
            recorded_free(&r, former);
    }
    for (size_t i = 0; i < count; i++)
        r.y[i % RECORDED_LAYERS] = map[i];
    cr_assert(cebus_iteration_seal(&r.iteration));
}

Test(planners, superneurons_drops_cheap_layers)
{
    record_segments(4, 2);
    cr_assert(plan(&cebus_policy_superneurons, 1000));
    /* Maps 1, 4, 7 and 10 are of convolutions. The last ones are read next in the backward. */
    for (size_t map = 2; map < 10; map++)
        cr_expect_eq(recorded_when(&r, CEBUS_ACTION_DROP, r.y[map]) != NONE, map % 3 != 1,
                     "map %zu", map);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_DROP, r.y[2]), 3, "after its last reader");
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 0, "the checkpoints have room");
}

Test(planners, superneurons_keeps_the_activation_of_a_checkpoint_that_is_not_kept)
{
    recorded_network(&r, 6, 100, 10);
    cr_assert(plan(&cebus_policy_superneurons, 600));
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_DROP), 0, "the convolutions would run again");
    cr_expect_gt(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 0);
}

Test(planners, superneurons_swaps_checkpoints_as_an_lru_cache)
{
    record_segments(6, 1);
    cr_assert(plan(&cebus_policy_superneurons, 700));
    /* Maps 1, 3, 5, ... are of convolutions. What is made first leaves first. */
    cr_expect_neq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.y[1]), NONE);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_OUT, r.y[9]), NONE);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_DROP, r.y[1]), NONE);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_COPY_OUT, r.y[1]), 1, "copied when it is made");
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_SWAP_IN, r.y[1]), r.backward[3],
                 "when the backward reads the checkpoint behind it");
    size_t small = recorded_count(&r, CEBUS_ACTION_SWAP_OUT);
    cr_assert(plan(&cebus_policy_superneurons, 500));
    cr_expect_gt(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), small);
}

Test(planners, superneurons_keeps_a_rebuilt_segment_only_if_it_is_small)
{
    record_segments(3, 4);
    /* 400 bytes of cheap maps in a segment, 300 in the largest layer. Maps 2 to 5 are of the first
     * segment; map 4 is made on the way to 5, and again when it is read itself. */
    cr_assert(plan(&cebus_policy_superneurons, 700));
    size_t drops = recorded_count(&r, CEBUS_ACTION_DROP), again = 0;
    for (size_t i = 0; i < r.plan.count; i++) {
        const cebus_action *action = &r.plan.actions[i];
        again += action->kind == CEBUS_ACTION_DROP && action->value == r.values[r.y[3]].ordinal &&
                 action->at > r.loss;
    }
    cr_expect_eq(again, 1, "dropped again after 5 was read; 4 comes right before it");
    r.iteration.calls[0].workspace = 300;
    cr_assert(plan(&cebus_policy_superneurons, 700));
    cr_expect_lt(recorded_count(&r, CEBUS_ACTION_DROP), drops, "a larger layer: segments are kept");
}

Test(planners, superneurons_counts_joins_of_branches_as_checkpoints)
{
    size_t x[8], branch[8], dx = SIZE_MAX;
    x[0] = recorded_leaf(&r, 100, false);
    for (size_t i = 1; i < 8; i++) {
        branch[i] = recorded_call(&r, "relu", 10, x[i - 1], SIZE_MAX, 100);
        x[i] = recorded_call(&r, "add", 10, x[i - 1], branch[i], 100);
        recorded_free(&r, branch[i]);
    }
    for (size_t i = 8; i-- > 1;)
        dx = recorded_call(&r, "mul", 10, x[i], dx, 100);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(plan(&cebus_policy_superneurons, 600));
    cr_expect_eq(recorded_count(&r, CEBUS_ACTION_DROP), 0);
    cr_expect_gt(recorded_count(&r, CEBUS_ACTION_SWAP_OUT), 0);
}

/* ---- sublinear ---------------------------------------------------------------------------- */

/** Drops of a chain of maps, as a string: one character a map. */
static void drops_of(size_t n, char *out)
{
    for (size_t i = 0; i <= n; i++)
        out[i] = recorded_when(&r, CEBUS_ACTION_DROP, r.x[i]) != NONE ? 'd' : '-';
    out[n + 1] = '\0';
}

Test(planners, sublinear_keeps_what_crosses_segments)
{
    char drops[RECORDED_LAYERS + 2];
    recorded_network(&r, 9, 100, 10);
    /* Ten maps wait. In three segments: the first and the second are dropped but for their ends. */
    cr_assert(plan(&cebus_policy_sublinear, 830));
    drops_of(9, drops);
    cr_expect_eq(drops[0], '-', "the input of all is a leaf");
    cr_expect_eq(drops[8], '-', "the last segment comes next in the backward");
    cr_expect_geq(recorded_count(&r, CEBUS_ACTION_DROP), 4, "%s", drops);
    size_t kept = 0;
    for (size_t i = 1; i < 8; i++)
        kept += drops[i] == '-';
    cr_expect(kept >= 1 && kept <= 3, "%s", drops);
    for (size_t i = 1; i < 8; i++) {
        if (drops[i] == 'd')
            cr_expect_eq(recorded_when(&r, CEBUS_ACTION_DROP, r.x[i]), r.forward[i] + 1);
    }
    cr_expect_eq(r.plan.count, recorded_count(&r, CEBUS_ACTION_DROP));
}

Test(planners, sublinear_cuts_no_finer_than_the_budget_asks)
{
    size_t before = 0;
    recorded_network(&r, 16, 100, 10);
    for (uint64_t budget = 1900; budget >= 900; budget -= 200) {
        cr_assert(plan(&cebus_policy_sublinear, budget));
        cr_expect_geq(r.plan.count + 1, before, "%lu bytes", budget);
        before = r.plan.count;
    }
    cr_expect_gt(before, 8);
}

Test(planners, sublinear_does_not_drop_what_cannot_be_made_again)
{
    recorded_network(&r, 9, 100, 10);
    r.iteration.values[r.values[r.x[1]].ordinal].replayable = false;
    r.iteration.values[r.values[r.x[2]].ordinal].replayable = false;
    cr_assert(plan(&cebus_policy_sublinear, 830));
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_DROP, r.x[1]), NONE);
    cr_expect_eq(recorded_when(&r, CEBUS_ACTION_DROP, r.x[2]), NONE);
    cr_expect_gt(r.plan.count, 0);
}
