#include <criterion/criterion.h>

#include "evict/planner/weights.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

enum {
    CALLS = 120,
    ROUNDS = 40
};

static recorded r;
static cebus_sequence sequence;
static cebus_weights weights;

static void setup(void)
{
    recorded_init(&r);
    random_iteration_make(&r.iteration, 5, CALLS);
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    cebus_weights_init(&weights, &r.pool);
}

static void teardown(void)
{
    cebus_weights_deinit(&weights);
    cebus_sequence_deinit(&sequence);
    recorded_deinit(&r);
}

TestSuite(weights, .init = setup, .fini = teardown);

/** The price for a part of the peak, and the weight of each call. */
static double fit(double part, double cost, double *out)
{
    double price = 0;
    const double limit = part * cebus_track_peak(&sequence.track, NULL);
    cr_assert(cebus_weights_fit(&weights, &sequence, limit, cost, ROUNDS, &price));
    for (uint32_t k = 0; k < CALLS; k++)
        out[k] = cebus_track_weight(&sequence.track, k);
    return price;
}

static size_t count_known(void)
{
    size_t n = 0;
    while (n < CEBUS_WEIGHTS_KNOWN && weights.known[n].best != NULL)
        n++;
    return n;
}

Test(weights, what_was_asked_before_has_the_same_answer)
{
    const double cost = (double)cebus_iteration_cost(&r.iteration);
    double first[CALLS], other[CALLS], again[CALLS];
    const double price = fit(0.6, cost, first);
    cr_expect_gt(price, 0);
    cr_expect_neq(fit(0.6, cost / 4, other), price, "another cost is another question");
    cebus_weights_level(&sequence);
    cr_expect_eq(count_known(), 2);
    const double *best = weights.known[1].best;
    cr_expect_eq(fit(0.6, cost, again), price);
    cr_expect_arr_eq(first, again, sizeof first);
    cr_expect_eq(count_known(), 2);
    cr_expect_eq(weights.known[0].best, best, "it was not solved again");
}

Test(weights, what_was_not_asked_for_longest_is_forgotten)
{
    double before[CALLS], after[CALLS];
    const double cost = (double)cebus_iteration_cost(&r.iteration);
    const double price = fit(0.6, cost, before);
    for (int i = 0; i < 2 * CEBUS_WEIGHTS_KNOWN; i++)
        fit(0.61 + 0.01 * i, cost, after);
    cr_expect_eq(count_known(), CEBUS_WEIGHTS_KNOWN);
    cr_expect_eq(fit(0.6, cost, after), price);
    cr_expect_arr_eq(before, after, sizeof before);
}
