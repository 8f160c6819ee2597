#include "evict/places/fit.h"

#include <criterion/criterion.h>

#include <stdlib.h>

#include "evict/curve.h"
#include "evict/planner/check.h"
#include "evict/timeline/sojourn.h"
#include "tests/support/host.h"
#include "tests/unit/evict/random_iteration.h"

enum {
    RUNS = 60
};

static cebus_test_host host;
static cebus_pool pool;
static cebus_iteration iteration;
static cebus_plan plan;
static cebus_placement placement;

static void setup(void)
{
    cebus_test_host_init(&host);
    cebus_pool_init(&pool, &host.allocator);
    cebus_iteration_init(&iteration, &pool);
    cebus_plan_init(&plan, &pool);
    cebus_placement_init(&placement, &pool);
}

static void clear(void)
{
    cebus_placement_clear(&placement);
    cebus_plan_clear(&plan);
}

static void teardown(void)
{
    clear();
    cebus_iteration_clear(&iteration);
    cr_expect_eq(pool.live_objects, 0);
    cebus_pool_deinit(&pool);
}

TestSuite(fit, .init = setup, .fini = teardown);

static cebus_fit fit_in(const char *policy, uint64_t bytes, uint64_t effort)
{
    return (cebus_fit){.policy = cebus_policy_find(policy),
                       .iteration = &iteration,
                       .site = {.capacity = bytes, .alignment = 8, .rounds = 20},
                       .terms = {.budget = bytes, .out_rate = 1, .in_rate = 1, .effort = effort},
                       .plan = &plan,
                       .placement = &placement};
}

static uint64_t peak(void)
{
    cebus_curve curve;
    cr_assert(cebus_curve_init(&curve, &iteration, &pool));
    uint64_t bytes = cebus_curve_peak(&curve, NULL);
    cebus_curve_deinit(&curve);
    return bytes;
}

/** Values are moved to where it is told as runs go on: `offsets` has where each stay is. */
static void relocate(const cebus_sojourns *stays, const cebus_moment *moments, uint32_t run,
                     size_t *next, uint64_t *offsets)
{
    for (; *next < placement.n_relocations; ++*next) {
        const cebus_relocation *to = &placement.relocations[*next];
        if (to->at != moments[run].at || to->action != moments[run].action)
            return;
        size_t found = SIZE_MAX;
        for (size_t i = 0; i < stays->count; i++) {
            const cebus_sojourn *s = &stays->items[i];
            uint32_t value =
                s->kind == CEBUS_SOJOURN_ACTION ? plan.actions[s->index].value : s->index;
            bool is_value = s->kind == CEBUS_SOJOURN_ACTION || s->kind == CEBUS_SOJOURN_VALUE;
            for (size_t h = 0; h < stays->n_heirs && stays->heirs[h].run < run; h++)
                value = stays->heirs[h].stay == i ? stays->heirs[h].value : value;
            if (is_value && value == to->value && s->from < run && run < s->to)
                found = i;
        }
        cr_assert_neq(found, SIZE_MAX, "who moves is there");
        offsets[found] = to->offset;
    }
}

static uint64_t offset_of(const cebus_sojourn *s)
{
    const uint64_t *of[] = {[CEBUS_SOJOURN_VALUE] = placement.values,
                            [CEBUS_SOJOURN_ACTION] = placement.actions,
                            [CEBUS_SOJOURN_WORKSPACE] = placement.workspaces,
                            [CEBUS_SOJOURN_SCRATCH] = placement.scratch};
    return of[s->kind][s->index];
}

/** The places are those of the plan that came back with them. */
static void expect_apart(uint64_t capacity)
{
    cebus_sojourns stays;
    cr_assert(cebus_sojourns_init(&stays, &iteration, &plan, NULL, &pool));
    for (size_t i = 0; i < stays.count; i++) {
        const cebus_sojourn *a = &stays.items[i];
        cr_expect_leq(offset_of(a) + a->bytes, capacity);
        for (size_t j = 0; j < i; j++) {
            const cebus_sojourn *b = &stays.items[j];
            bool together = a->from < b->to && b->from < a->to;
            cr_expect(!together || offset_of(a) + a->bytes <= offset_of(b) ||
                      offset_of(b) + b->bytes <= offset_of(a));
        }
    }
    cebus_sojourns_deinit(&stays);
}

/** The same, run by run, as values move. */
static void expect_apart_as_they_move(uint64_t capacity)
{
    cebus_sojourns stays;
    size_t next = 0;
    cr_assert(cebus_sojourns_init(&stays, &iteration, &plan, NULL, &pool));
    cebus_moment *moments = cebus_relocation_moments(&stays, &iteration, &plan);
    uint64_t *offsets = calloc(stays.count + 1, sizeof *offsets);
    cr_assert(moments != NULL && offsets != NULL);
    for (size_t i = 0; i < stays.count; i++)
        offsets[i] = offset_of(&stays.items[i]);
    for (uint32_t run = 0; run < stays.runs; run++) {
        relocate(&stays, moments, run, &next, offsets);
        for (size_t i = 0; i < stays.count; i++) {
            const cebus_sojourn *a = &stays.items[i];
            bool here = a->from <= run && run < a->to;
            cr_expect(!here || offsets[i] + a->bytes <= capacity);
            for (size_t j = 0; j < i && here; j++) {
                const cebus_sojourn *b = &stays.items[j];
                cr_expect(b->from > run || run >= b->to || offsets[i] + a->bytes <= offsets[j] ||
                          offsets[j] + b->bytes <= offsets[i]);
            }
        }
    }
    cr_expect_eq(next, placement.n_relocations, "all that move do");
    free(offsets);
    cebus_pool_free_object(&pool, moments, ((size_t)stays.runs + 2) * sizeof *moments);
    cebus_sojourns_deinit(&stays);
}

/** Of iterations of any kind; answers how many were placed. */
static int place_all(const char *policy, uint64_t effort)
{
    int placed = 0;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        cebus_iteration_clear(&iteration);
        random_iteration_make(&iteration, seed, 20 + (uint32_t)seed);
        uint64_t bytes = peak() / 10 * (5 + seed % 5);
        cebus_fit fit = fit_in(policy, bytes, effort);
        bool good = cebus_fit_make(&fit);
        cr_expect_eq(placement.height > 0, good);
        cr_expect(good || fit.none_fits || plan.count == 0);
        cr_expect_leq(fit.terms.budget, bytes);
        placed += good;
        if (good)
            expect_apart(bytes);
        clear();
    }
    return placed;
}

Test(fit, plans_of_a_search_are_placed)
{
    int for_less = place_all("cebus", 0), asked = place_all("cebus", 4000);
    cr_expect_gt(for_less, RUNS / 4, "%d", for_less);
    cr_expect_geq(asked, for_less, "%d, %d", asked, for_less);
}

static int plans;
static bool none_fits;

static bool plan_counted(const cebus_iteration *of, const cebus_plan_terms *terms, cebus_plan *out)
{
    bool made = cebus_policy_find("cebus")->plan(of, terms, out);
    none_fits = plans++ == 0 ? out->over : none_fits;
    return made;
}

/** Less room would not help, and a search that ends in vain takes longest of all. */
Test(fit, what_no_plan_fits_is_searched_for_once)
{
    const cebus_policy counting = {.name = "counting", .plan = plan_counted, .searches = true};
    int none = 0;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        cebus_iteration_clear(&iteration);
        random_iteration_make(&iteration, seed, 20 + (uint32_t)seed);
        cebus_fit fit = fit_in("cebus", peak() / 10 * (3 + seed % 5), 4000);
        fit.policy = &counting;
        plans = 0;
        bool good = cebus_fit_make(&fit);
        cr_expect_eq(fit.none_fits, none_fits && !good);
        cr_expect(!none_fits || plans == 1, "%d plans", plans);
        cr_expect(!fit.none_fits || (plan.over && plan.count > 0 && plan.first != NULL));
        none += fit.none_fits;
        clear();
    }
    cr_expect_gt(none, RUNS / 8, "%d", none);
}

/** Never enough, for so many bytes: as many actions as plans were made. */
static bool plan_too_little(const cebus_iteration *of, const cebus_plan_terms *terms,
                            cebus_plan *out)
{
    bool ok = true;
    uint32_t value = 0;
    (void)terms;
    plans++;
    while (of->values[value].persistent)
        value++;
    for (int i = 0; i < plans && ok; i++)
        ok = cebus_plan_add(out, CEBUS_ACTION_COPY_OUT, (uint32_t)of->n_calls, value);
    return ok;
}

/** What was planned for less, and has no places either, is followed without if it leaves enough
 * free: the first of them. */
Test(fit, a_plan_for_less_serves_where_there_are_no_places)
{
    const cebus_policy policy = {.name = "little", .plan = plan_too_little, .searches = true};
    random_iteration_make(&iteration, 7, 40);
    const uint64_t bytes = peak() / 4 * 3;
    static const struct {
        uint64_t part;
        size_t actions;
    } cases[] = {{0, 0}, {64, 2}, {16, 2}, {4, 3}, {2, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cebus_fit fit = fit_in("cebus", bytes, 500);
        fit.policy = &policy;
        fit.holes = cases[i].part > 0 ? bytes / cases[i].part : 0;
        plans = 0;
        cr_expect_not(cebus_fit_make(&fit));
        cr_expect_eq(plans, 3);
        cr_expect_not(fit.none_fits);
        cr_expect_eq(plan.count, cases[i].actions, "%zu: %zu, %lu of %lu", i, plan.count,
                     fit.terms.budget, bytes);
        cr_expect(plan.count == 0 || plan.first != NULL);
        clear();
    }
    cebus_fit fit = fit_in("cebus", bytes, 0);
    fit.policy = &policy;
    fit.holes = bytes / 16;
    cr_expect_not(cebus_fit_make(&fit));
    cr_expect_eq(plan.count, 0, "a first plan costs nothing");
}

/** While the program waits: what misses much in a long program misses it in less memory, too. */
Test(fit, a_first_plan_of_a_long_program_is_made_again_only_where_it_is_near)
{
    static const struct {
        uint32_t calls;
        uint64_t percent; /**< of what is needed */
        bool again;
    } cases[] = {{400, 67, true}, {2200, 67, false}, {2200, 85, true}};
    const cebus_policy policy = {.name = "little", .plan = plan_too_little, .searches = true};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cebus_iteration_clear(&iteration);
        random_iteration_make(&iteration, 7, cases[i].calls);
        cebus_fit fit = fit_in("cebus", UINT32_MAX, 0);
        fit.policy = &policy;
        plans = 0;
        cr_assert(cebus_fit_make(&fit));
        const uint64_t needed = placement.height;
        clear();
        fit = fit_in("cebus", needed * cases[i].percent / 100, 0);
        fit.policy = &policy;
        plans = 0;
        cr_expect_not(cebus_fit_make(&fit));
        cr_expect_eq(plans > 1, cases[i].again, "%zu: %d plans", i, plans);
        clear();
    }
}

/** Without leaving room for holes: what finds no places side by side moves between some. */
Test(fit, values_move_where_they_find_no_places_for_good)
{
    int placed = 0, moved = 0;
    for (uint64_t seed = 1; seed <= 10 * RUNS; seed++) {
        cebus_iteration_clear(&iteration);
        random_iteration_make(&iteration, seed, 20 + (uint32_t)seed % 80);
        uint64_t bytes = peak() * (45 + seed % 25) / 100 / 8 * 8;
        cebus_fit fit = fit_in("cebus", bytes, 0);
        fit.site.moves = (cebus_move_terms){.rate = UINT64_C(1) << 40, .ns = 1};
        fit.site.rounds = 0;
        bool good = cebus_fit_make(&fit);
        placed += good;
        moved += placement.n_relocations > 0;
        cr_expect(good || placement.n_relocations == 0);
        cr_expect_eq(placement.moving_ns > 0, placement.n_relocations > 0);
        if (placement.n_relocations > 0)
            expect_apart_as_they_move(bytes);
        clear();
    }
    cr_expect_gt(placed, RUNS / 2, "%d", placed);
    cr_expect_gt(moved, 5, "%d of %d", moved, placed);
}

/** Places for the program as it is, in less than one packing takes; whether values move between. */
static bool moves_in(uint64_t capacity, uint64_t rounds)
{
    uint64_t missing;
    const cebus_site site = {.capacity = capacity,
                             .alignment = 8,
                             .rounds = rounds,
                             .moves = {.rate = UINT64_C(1) << 40, .ns = 1}};
    cebus_placement_clear(&placement);
    cr_expect_neq(cebus_placement_make(&iteration, &plan, &site, &placement, &missing),
                  CEBUS_SITE_NO_HOST_MEMORY);
    return placement.n_relocations > 0;
}

/** To find where takes too long while the program waits. */
Test(fit, in_long_programs_values_move_only_where_nobody_waits)
{
    int moved[2][2] = {{0}};
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const bool is_long = seed > 20;
        cebus_iteration_clear(&iteration);
        random_iteration_make(&iteration, seed, is_long ? 2200 : 400);
        cr_assert(cebus_plan_make_ready(&plan, &iteration));
        cr_expect_not(moves_in(UINT64_C(1) << 40, 0));
        const uint64_t less = placement.height - 8;
        moved[is_long][0] += moves_in(less, 0);
        moved[is_long][1] += moves_in(less, 1);
        clear();
    }
    cr_expect_gt(moved[0][0], 0, "%d", moved[0][0]);
    cr_expect_eq(moved[1][0], 0, "%d", moved[1][0]);
    cr_expect_gt(moved[1][1], 0, "%d", moved[1][1]);
}

Test(fit, plans_of_others_are_for_less_until_they_are)
{
    int placed = place_all("sublinear", 4000);
    cr_expect_gt(placed, RUNS / 8, "%d", placed);
}

Test(fit, a_crowd_is_where_it_does_not_fit)
{
    uint64_t crowd[64] = {0}, missing, highest = 0;
    random_iteration_make(&iteration, 5, 40);
    cr_assert(cebus_plan_make_ready(&plan, &iteration));
    cebus_site site = fit_in("cebus", peak() / 2, 0).site;
    site.crowd = crowd;
    cr_assert_eq(cebus_placement_make(&iteration, &plan, &site, &placement, &missing),
                 CEBUS_SITE_FULL);
    for (size_t k = 0; k < iteration.n_calls; k++)
        highest = crowd[k] > highest ? crowd[k] : highest;
    cr_expect_eq(highest, missing);
    cr_expect_eq(crowd[iteration.n_calls], 0);
}

static bool never(void *context)
{
    ++*(int *)context;
    return false;
}

Test(fit, what_nobody_wants_any_more_is_not_made)
{
    int asked = 0;
    random_iteration_make(&iteration, 7, 40);
    cebus_fit fit = fit_in("cebus", peak() / 10 * 8, 4000);
    fit.terms.go_on = never;
    fit.terms.context = &asked;
    cr_expect_not(cebus_fit_make(&fit));
    cr_expect_eq(asked, 1);
    cr_expect_eq(plan.count, 0);
}

Test(fit, without_host_memory_nothing_is_left)
{
    random_iteration_make(&iteration, 7, 40);
    uint64_t bytes = peak() / 10 * 8, n = 1;
    bool good = false;
    for (bool failed = true; failed; n++) {
        cebus_fit fit = fit_in("cebus", bytes, 500);
        host.fail_at = n;
        good = cebus_fit_make(&fit);
        failed = host.fail_at == 0;
        host.fail_at = 0;
        cr_expect(good || (plan.count == 0 && placement.height == 0));
        clear();
    }
    cr_expect_gt(n, 20);
}
