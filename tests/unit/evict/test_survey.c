#include <criterion/criterion.h>

#include "evict/survey.h"
#include "tests/unit/evict/recorded.h"

static recorded r;
static cebus_survey survey;

static void setup(void)
{
    recorded_init(&r);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(survey, .init = setup, .fini = teardown);

static const cebus_span *span_of(size_t handle)
{
    for (size_t s = 0; s < survey.n_spans; s++) {
        if (survey.spans[s].value == r.values[handle].ordinal)
            return &survey.spans[s];
    }
    return NULL;
}

Test(survey, the_curve_counts_values_while_they_live_and_workspaces)
{
    size_t x = recorded_leaf(&r, 7, false);
    size_t a = recorded_call(&r, "f", 1, x, SIZE_MAX, 10);
    recorded_free(&r, x);
    recorded_call(&r, "g", 1, a, SIZE_MAX, 100);
    recorded_free(&r, a);
    recorded_call(&r, "h", 1, SIZE_MAX, SIZE_MAX, 1000);
    r.iteration.calls[1].workspace = 3;
    cr_assert(cebus_iteration_seal(&r.iteration));
    cebus_curve curve;
    uint64_t bytes[3];
    uint32_t at;
    cr_assert(cebus_curve_init(&curve, &r.iteration, &r.pool));
    cebus_curve_read(&curve, bytes);
    cr_expect_eq(bytes[0], 17);
    cr_expect_eq(bytes[1], 113);
    cr_expect_eq(bytes[2], 1100);
    cebus_curve_cut(&curve, 1, 3, 100);
    cr_expect_eq(cebus_curve_peak(&curve, &at), 1000);
    cr_expect_eq(at, 2);
    cebus_curve_cut(&curve, 2, 2, 100);
    cr_expect_eq(cebus_curve_peak(&curve, NULL), 1000, "an empty stretch changes nothing");
    cebus_curve_deinit(&curve);
}

Test(survey, finds_where_values_lie_idle)
{
    recorded_network(&r, 3, 100, 10);
    cr_assert(cebus_survey_init(&survey, &r.iteration, &r.pool));
    const cebus_span *x1 = span_of(r.x[1]), *x0 = span_of(r.x[0]);
    cr_assert_not_null(x1);
    cr_expect_eq(x1->from, r.forward[1], "the next convolution is its last use in the forward");
    cr_expect_eq(x1->to, r.backward[1] + 1, "the gradient of that convolution's weight comes next");
    cr_assert_not_null(x0);
    cr_expect_eq(x0->from, 0);
    cr_expect_eq(x0->to, r.backward[0] + 1);
    cr_expect_null(span_of(r.y[0]), "it is read once, at once");
    cr_expect_eq(survey.times[4], 40);
    cebus_survey_deinit(&survey);
}

Test(survey, orders_spans_by_start_and_by_end)
{
    recorded_network(&r, 5, 100, 10);
    cr_assert(cebus_survey_init(&survey, &r.iteration, &r.pool));
    for (size_t s = 1; s < survey.n_spans; s++) {
        cr_expect_leq(survey.spans[s - 1].from, survey.spans[s].from);
        cr_expect_leq(survey.spans[survey.by_end[s - 1]].to, survey.spans[survey.by_end[s]].to);
    }
    cebus_survey_deinit(&survey);
}

Test(survey, finds_the_turn_from_forward_to_backward)
{
    recorded_network(&r, 6, 100, 10);
    cr_assert(cebus_survey_init(&survey, &r.iteration, &r.pool));
    cr_assert_eq(survey.n_turns, 1);
    cr_expect(survey.turns[0] + 1 >= r.loss && survey.turns[0] <= r.backward[5] + 1, "at call %u",
              survey.turns[0]);
    cr_expect_eq(span_of(r.x[2])->turn, 0);
    cebus_survey_deinit(&survey);
}

/** Two forwards with a backward each, as gradient accumulation has them. */
Test(survey, finds_a_turn_for_each_forward_with_a_backward)
{
    size_t kept[2] = {0, 0};
    for (int part = 0; part < 2; part++) {
        size_t x[8];
        x[0] = recorded_leaf(&r, 100, false);
        for (size_t i = 1; i < 8; i++)
            x[i] = recorded_call(&r, "conv2d", 10, x[i - 1], SIZE_MAX, 100);
        for (size_t i = 8; i-- > 0;) {
            kept[part] = recorded_call(&r, "conv2d_weight", 10, x[i], SIZE_MAX, 20);
            recorded_free(&r, x[i]);
        }
    }
    recorded_call(&r, "add", 10, kept[0], kept[1], 20);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_survey_init(&survey, &r.iteration, &r.pool));
    cr_assert_eq(survey.n_turns, 2);
    cr_expect(survey.turns[0] > 4 && survey.turns[0] < 9);
    cr_expect(survey.turns[1] > 19 && survey.turns[1] < 24);
    cebus_survey_deinit(&survey);
}

Test(survey, leaves_out_parameters_and_what_is_too_small_to_matter)
{
    size_t large = recorded_call(&r, "f", 1, SIZE_MAX, SIZE_MAX, 1 << 30);
    size_t small = recorded_call(&r, "f", 1, SIZE_MAX, SIZE_MAX, 64);
    size_t weight = recorded_leaf(&r, 1 << 30, true);
    recorded_call(&r, "g", 1, weight, SIZE_MAX, 64);
    recorded_call(&r, "g", 1, large, SIZE_MAX, 64);
    recorded_call(&r, "g", 1, small, weight, 64);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_survey_init(&survey, &r.iteration, &r.pool));
    cr_expect_not_null(span_of(large));
    cr_expect_null(span_of(small));
    cr_expect_null(span_of(weight));
    cebus_survey_deinit(&survey);
}

Test(survey, an_iteration_without_idle_values_has_no_turn)
{
    recorded_call(&r, "f", 1, SIZE_MAX, SIZE_MAX, 8);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_survey_init(&survey, &r.iteration, &r.pool));
    cr_expect_eq(survey.n_spans, 0);
    cr_expect_eq(survey.n_turns, 0);
    cebus_survey_deinit(&survey);
}
