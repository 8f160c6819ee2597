#include <criterion/criterion.h>

#include "evict/planner/finalists.h"
#include "tests/unit/evict/recorded.h"

enum {
    MOST_PLACED = 32,
};

static recorded r;
static cebus_finalists finalists;

static void setup(void)
{
    recorded_init(&r);
    recorded_call(&r, "f", 1, SIZE_MAX, SIZE_MAX, 1);
    cr_assert(cebus_iteration_seal(&r.iteration));
    finalists.count = 0;
}

static void teardown(void)
{
    cebus_finalists_clear(&finalists);
    recorded_deinit(&r);
}

TestSuite(finalists, .init = setup, .fini = teardown);

/** A plan that takes so long; its one action says which it is. */
static void enter(uint64_t ns, uint32_t origin)
{
    cebus_plan plan;
    cebus_plan_init(&plan, &r.pool);
    cr_assert(cebus_plan_add(&plan, CEBUS_ACTION_DROP, 1, (uint32_t)ns));
    cebus_finalists_enter(&finalists, &plan, ns, origin);
    cebus_plan_clear(&plan);
}

/** Who is asked for, what those wait that have places, and whose are kept. */
typedef struct asking {
    uint32_t asked[MOST_PLACED], kept;
    size_t n_asked;
    bool refuses[MOST_PLACED];
    uint64_t waits[MOST_PLACED];
} asking;

static bool place(void *context, cebus_plan *plan, uint64_t *crowd, uint64_t *out_ns)
{
    asking *a = context;
    uint32_t which = plan->actions[0].value;
    cr_assert(a->n_asked < MOST_PLACED && which < MOST_PLACED);
    cr_expect_eq(crowd[0], 0);
    crowd[0] = 1;
    *out_ns = 0;
    a->asked[a->n_asked++] = which;
    plan->wait_ns += a->waits[which];
    return !a->refuses[which];
}

static void keep(void *context)
{
    asking *a = context;
    a->kept = a->asked[a->n_asked - 1];
}

static uint32_t choose(asking *a)
{
    cebus_plan_terms terms = {.place = place, .keep = keep, .place_context = a};
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_finalists_choose(&finalists, &r.iteration, &terms, &r.plan));
    return r.plan.actions[0].value;
}

Test(finalists, who_takes_least_is_asked_for_first_and_of_equals_one)
{
    asking a = {0};
    for (uint64_t ns = 20; ns > 10; ns--)
        enter(ns, 1);
    enter(15, 2);
    cr_expect_eq(finalists.count, 10);
    cr_expect_eq(choose(&a), 11);
    cr_expect_eq(a.n_asked, 1, "no other can take less");
}

Test(finalists, so_many_are_kept_as_there_is_room_for)
{
    for (uint64_t ns = 2 * CEBUS_FINALISTS; ns > 0; ns--)
        enter(ns, 1);
    enter(100, 1);
    cr_expect_eq(finalists.count, CEBUS_FINALISTS);
    cr_expect_eq(finalists.items[CEBUS_FINALISTS - 1].ns, CEBUS_FINALISTS);
}

Test(finalists, what_one_waits_for_its_places_counts)
{
    asking a = {.waits = {[10] = 5, [12] = 1, [14] = 0}};
    enter(10, 1);
    enter(12, 2);
    enter(14, 3);
    cr_expect_eq(choose(&a), 12);
    cr_expect_eq(a.kept, 12);
    cr_expect_eq(a.n_asked, 2, "the third takes longer without waiting");
}

Test(finalists, where_two_of_an_origin_have_no_places_the_others_are_passed_over)
{
    asking a = {.refuses = {[1] = true, [2] = true, [4] = true}};
    for (uint32_t ns = 1; ns <= 3; ns++)
        enter(ns, 7);
    enter(4, 8);
    enter(5, 8);
    cr_expect_eq(choose(&a), 5);
    cr_expect_eq(a.kept, 5);
    cr_expect_eq(a.n_asked, 4);
    for (size_t i = 0; i < a.n_asked; i++)
        cr_expect_neq(a.asked[i], 3);
}

Test(finalists, if_none_has_places_the_first_is_handed_out)
{
    asking a = {0};
    for (uint32_t ns = 1; ns <= 20; ns++) {
        a.refuses[ns] = true;
        enter(ns, ns);
    }
    cr_expect_eq(choose(&a), 1);
    cr_expect_eq(a.kept, 1, "what was to be handed out before is not");
    cr_expect_lt(a.n_asked, 20, "it ends some time");
}

Test(finalists, nobody_is_asked_where_places_do_not_matter)
{
    cebus_plan_terms terms = {0};
    enter(3, 1);
    enter(2, 1);
    cr_assert(cebus_finalists_choose(&finalists, &r.iteration, &terms, &r.plan));
    cr_expect_eq(r.plan.actions[0].value, 2);
}
