/** Plans held against what iterations by them came to: on simulated machines, to the nanosecond. */
#include <cebus/plan.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "eager/guidance/appraisal.h"
#include "eager/guidance/planning.h"
#include "timed_layer.h"

TestSuite(appraisal);

enum {
    LAYERS = 16,
    ELEMENTS = 1 << 20
};
#define MAP (UINT64_C(4) * ELEMENTS)

typedef struct figures {
    cebus_memory_stats stats;
    uint64_t guided; /**< events */
} figures;

static void on_event(void *context, const cebus_event *event)
{
    ((figures *)context)->guided += event->kind == CEBUS_EVENT_GUIDED;
}

static cebus_runtime *open_on(const char *device, const char *policy, cebus_swap swap,
                              uint64_t maps, figures *f)
{
    cebus_runtime *rt;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.policy = policy;
    options.swap = swap;
    options.memory_budget = maps * MAP;
    OK(cebus_runtime_create(&options, &rt));
    *f = (figures){.guided = 0};
    cebus_runtime_set_event_hook(rt, on_event, f);
    return rt;
}

static cebus_runtime *open_sim(const char *policy, cebus_swap swap, uint64_t maps, figures *f)
{
    return open_on("sim:p100-16g,issue=0ns", policy, swap, maps, f);
}

static void step(cebus_runtime *rt, figures *f)
{
    const int64_t n = ELEMENTS;
    cebus_tensor *x;
    OK(cebus_full(rt, 1, CEBUS_F32, 1, &n, &x));
    run_layers(rt, x, LAYERS);
    f->stats = stats_of(rt);
}

static void steps(cebus_runtime *rt, int count, figures *f)
{
    for (int i = 0; i < count; i++)
        step(rt, f);
}

static void expect_close(const figures *f, const char *what)
{
    uint64_t predicted = f->stats.guided_predicted_ns, measured = f->stats.guided_measured_ns;
    cr_assert_gt(predicted, 0, "%s", what);
    cr_expect_lt(predicted, measured + measured / 20, "%s: %lu of %lu", what, predicted, measured);
    cr_expect_gt(predicted, measured - measured / 20, "%s: %lu of %lu", what, predicted, measured);
}

Test(appraisal, plans_predict_what_iterations_take)
{
    static const uint64_t layers[] = {100000, 400000, 1600000}; /* a copy takes 350 us */
    for (size_t i = 0; i < 3; i++) {
        for (int swap = CEBUS_SWAP_OFF; swap <= CEBUS_SWAP_ON; swap++) {
            for (uint64_t maps = 8; maps < 16; maps += 3) {
                figures f;
                char what[64];
                layer_ns = layers[i];
                cebus_runtime *rt = open_sim("cebus", (cebus_swap)swap, maps, &f);
                steps(rt, 6, &f);
                snprintf(what, sizeof what, "%lu ns, swap %d, %lu maps", layer_ns, swap, maps);
                expect_close(&f, what);
                cr_expect_gt(f.stats.guided_lost_ns + f.stats.guided_swap_outs, 0, "%s", what);
                cr_expect_leq(f.stats.guided_peak_bytes, maps * MAP);
                cebus_runtime_destroy(rt);
            }
        }
    }
}

/** Of a program of `layer_ns` a call on a host that takes 50 us to ask for each: what the last of
 * eight iterations took, as foretold and by the clock. */
static uint64_t held_up(cebus_swap swap, uint64_t maps)
{
    figures f;
    cebus_runtime *rt = open_on("sim:p100-16g,issue=50us", "cebus", swap, maps, &f);
    steps(rt, 7, &f);
    const uint64_t begun = f.stats.device_ns;
    steps(rt, 1, &f);
    expect_close(&f, "held up");
    const uint64_t took = f.stats.device_ns - begun, calls = 2 * LAYERS + 3;
    cr_expect_geq(took, calls * 50000);
    cr_expect_lt(f.stats.guided_measured_ns, took + took / 20);
    cr_expect_gt(f.stats.guided_measured_ns, took - took / 20);
    cebus_runtime_destroy(rt);
    return took;
}

Test(appraisal, what_the_host_takes_to_ask_is_foretold)
{
    static const uint64_t layers[] = {10000, 40000}; /* copies hide beside the second */
    for (int i = 0; i < 2; i++) {
        layer_ns = layers[i];
        for (uint64_t maps = 8; maps < 16; maps += 3) {
            const uint64_t without = held_up(CEBUS_SWAP_OFF, maps);
            cr_expect_leq(held_up(CEBUS_SWAP_ON, maps), without, "%lu", maps);
        }
    }
}

/** Once kernels take longer than it does the host holds nobody up any more. */
Test(appraisal, slower_kernels_no_longer_wait_for_the_host)
{
    figures f;
    layer_ns = 20000;
    cebus_runtime *rt = open_on("sim:p100-16g,issue=50us", "cebus", CEBUS_SWAP_OFF, 10, &f);
    steps(rt, 6, &f);
    expect_close(&f, "held up");
    layer_ns = 100000;
    steps(rt, 6, &f);
    expect_close(&f, "not held up");
    cr_expect_eq(f.stats.replans, 1, "%lu", f.stats.replans);
    cebus_runtime_destroy(rt);
}

Test(appraisal, kernels_that_become_slower_are_planned_for_anew)
{
    static const char *const planners[] = {"cebus", "capuchin", "sublinear"};
    for (int p = 0; p < 3; p++) {
        figures f;
        layer_ns = 100000;
        cebus_runtime *rt = open_sim(planners[p], CEBUS_SWAP_DEFAULT, 10, &f);
        steps(rt, 6, &f);
        cr_expect_eq(f.stats.replans, 0, "%s", planners[p]);
        uint64_t before = f.stats.guided_predicted_ns;
        layer_ns = 500000;
        steps(rt, 6, &f);
        cr_expect_eq(f.stats.replans, 1, "%s: %lu", planners[p], f.stats.replans);
        cr_expect_gt(f.stats.guided_predicted_ns, 2 * before, "%s", planners[p]);
        cebus_runtime_destroy(rt);
    }
}

/** At 100 us a layer it is run again; at 5 ms its copies hide. */
Test(appraisal, the_new_plan_is_for_the_new_costs)
{
    figures f;
    layer_ns = 20000;
    cebus_runtime *rt = open_sim("cebus", CEBUS_SWAP_ON, 9, &f);
    steps(rt, 5, &f);
    uint64_t recomputes = f.stats.guided_recomputes;
    cr_expect_gt(recomputes, 0);
    layer_ns = 5000000;
    steps(rt, 5, &f);
    cr_expect_gt(f.stats.guided_swap_outs, 0);
    cr_expect_lt(f.stats.guided_recomputes, recomputes);
    expect_close(&f, "after the change");
    cebus_runtime_destroy(rt);
}

Test(appraisal, costs_that_waver_by_less_than_a_twentieth_change_no_plan)
{
    figures f;
    layer_ns = 100000;
    cebus_runtime *rt = open_sim("cebus", CEBUS_SWAP_DEFAULT, 10, &f);
    for (int i = 0; i < 12; i++) {
        layer_ns = 100000 + (uint64_t)(i % 3) * 2000;
        step(rt, &f);
    }
    cr_expect_eq(f.stats.replans, 0);
    cr_expect_eq(f.guided, 1, "one line for one plan");
    cebus_runtime_destroy(rt);
}

/** Next to nothing of what it takes. */
static bool plan_little(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out)
{
    (void)terms;
    return cebus_plan_add(out, CEBUS_ACTION_DROP, 2, iteration->refs[iteration->calls[1].refs]);
}

/** What a timeline has to guess foretells nothing, and is no reason to search again. */
Test(appraisal, plans_that_leave_much_to_the_moment_are_told_no_time)
{
    for (int searches = 0; searches <= 1; searches++) {
        figures f;
        layer_ns = 100000;
        cebus_policy policy = *cebus_policy_find("cebus");
        policy.plan = plan_little;
        policy.searches = searches;
        cebus_runtime *rt = open_sim("cebus", CEBUS_SWAP_ON, 8, &f);
        rt->policy = &policy;
        steps(rt, 2, &f);
        cr_expect_eq(f.stats.guided_iterations, 1);
        cr_expect_gt(f.stats.guided_unforeseen, 0);
        cr_expect_eq(f.stats.guided_predicted_ns == 0, searches);
        cr_expect_eq(f.stats.replans, 0);
        cebus_runtime_destroy(rt);
    }
}

/** Costs that never settle are not followed for ever. */
Test(appraisal, gives_up_following_what_never_settles)
{
    figures f;
    layer_ns = 100000;
    cebus_runtime *rt = open_sim("cebus", CEBUS_SWAP_DEFAULT, 10, &f);
    for (int i = 0; i < 30; i++) {
        layer_ns = 100000 << (i % 2);
        step(rt, &f);
    }
    cr_expect_gt(f.stats.replans, 0);
    cr_expect_leq(f.stats.replans, 4);
    cebus_runtime_destroy(rt);
}

/** What a simulated machine says of its link is true, however slow plans take it to be. */
Test(appraisal, a_plan_for_a_slower_link_foretells_what_it_takes_on_this_one)
{
    figures f;
    layer_ns = 100000;
    cebus_runtime *rt = open_sim("odswap", CEBUS_SWAP_ON, 10, &f);
    steps(rt, 6, &f);
    const uint32_t place = rt->guidance->log.last;
    rt->guidance->schemes[place].slower = 4;
    cebus_planning_reconsider(rt, place);
    steps(rt, 6, &f);
    cr_expect_eq(rt->guidance->schemes[place].slower, 4);
    cr_expect_gt(f.stats.guided_swap_outs, 0);
    cr_expect_gt(f.stats.guided_lost_ns, 0);
    expect_close(&f, "for a slower link");
    cebus_runtime_destroy(rt);
}

static const char *summary(cebus_runtime *rt)
{
    static char text[512];
    size_t length = cebus_plan_summary(rt, text, sizeof text);
    cr_expect_eq(length, strlen(text));
    cr_expect_eq(cebus_plan_summary(rt, NULL, 0), length);
    return text;
}

static void expect_in(const char *part, const char *text)
{
    cr_expect_not_null(strstr(text, part), "\"%s\" lacks \"%s\"", text, part);
}

Test(appraisal, one_line_says_what_planning_brought)
{
    figures f;
    layer_ns = 100000;
    cebus_runtime *rt = open_sim("cebus", CEBUS_SWAP_DEFAULT, 10, &f);
    expect_in("no iteration was guided", summary(rt));
    steps(rt, 2, &f);
    cr_expect_eq(f.guided, 0);
    steps(rt, 2, &f);
    cr_expect_eq(f.guided, 1);
    const char *text = summary(rt);
    expect_in("policy cebus: budget 40.00 MiB, peak ", text);
    expect_in("; recomputed ", text);
    expect_in(" ms a step (", text);
    cr_expect_null(strstr(text, "warning"), "%s", text);
    char cut[20];
    cebus_plan_summary(rt, cut, sizeof cut);
    cr_expect_eq(strlen(cut), sizeof cut - 1);
    OK(cebus_runtime_set_policy(rt, "lru"));
    expect_in("policy lru makes no plans", summary(rt));
    cebus_runtime_destroy(rt);
}

Test(appraisal, what_was_asked_for_in_vain_is_a_warning)
{
    figures f;
    layer_ns = 100; /* copies never pay */
    cebus_runtime *rt = open_sim("cebus", CEBUS_SWAP_ON, 10, &f);
    steps(rt, 4, &f);
    if (f.stats.swap_outs == 0)
        expect_in("warning: swap is on, but nothing was swapped", summary(rt));
    cebus_runtime_destroy(rt);
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.policy = "cebus";
    options.memory_budget = 64 * MAP;
    options.spill_budget = MAP;
    options.host_budget = MAP;
    options.threads = 1;
    OK(cebus_runtime_create(&options, &rt));
    steps(rt, 4, &f);
    expect_in("warning: the spill file was never written", summary(rt));
    cebus_runtime_destroy(rt);
}

/** A machine whose copies take longer than planned: the plans come from one without latency. */
static cebus_runtime *open_late(uint64_t maps, figures *f)
{
    char path[] = "/tmp/cebus-plans-XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    close(file);
    cebus_runtime *rt =
        open_on("sim:p100-16g,issue=0ns,latency=0ns", "capuchin", CEBUS_SWAP_DEFAULT, maps, f);
    steps(rt, 4, f);
    OK(cebus_plan_save(rt, path));
    cebus_runtime_destroy(rt);
    rt = open_on("sim:p100-16g,issue=0ns,latency=150us", "capuchin", CEBUS_SWAP_DEFAULT, maps, f);
    OK(cebus_plan_load(rt, path));
    unlink(path);
    return rt;
}

Test(appraisal, late_copies_start_earlier_the_next_time)
{
    for (uint64_t ns = 200000; ns <= 600000; ns += 100000) {
        figures f, first;
        layer_ns = ns;
        cebus_runtime *rt = open_late(10, &f);
        steps(rt, 4, &f);
        first = f;
        steps(rt, 40, &f);
        uint64_t before = first.stats.guided_lost_ns, after = f.stats.guided_lost_ns;
        cr_expect_eq(f.stats.plans_used, 1);
        cr_expect_leq(after, before, "%lu ns: %lu, then %lu", ns, before, after);
        if (before == 0)
            cr_expect_eq(f.stats.moved_triggers, 0, "%lu ns", ns);
        if (ns == 400000) {
            cr_expect_gt(f.stats.moved_triggers, 0);
            cr_expect_lt(after, before);
        }
        cebus_runtime_destroy(rt);
    }
}
