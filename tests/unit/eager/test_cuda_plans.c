/* What libraries decided about calls: made once, bounded, and nothing lost when memory runs out. */
#include "eager/device/cuda/plans.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "eager/device/cuda/choice.h"
#include "eager/op.h"

typedef struct plan {
    int64_t of_key;
    int *alive;
} plan;

typedef struct world {
    cebus_host_allocator host;
    int allocations_left; /* negative: as many as you like */
    int made, alive;
} world;

static void *take(void *context, size_t bytes)
{
    world *w = context;
    if (w->allocations_left == 0)
        return NULL;
    w->allocations_left -= w->allocations_left > 0;
    return malloc(bytes);
}

static void give(void *context, void *pointer)
{
    (void)context;
    free(pointer);
}

static cebus_status make(void *context, const void *key, void *out)
{
    world *w = context;
    const int64_t value = *(const int64_t *)key;
    if (value < 0)
        return cebus_fail(CEBUS_UNSUPPORTED, "test", "no plan for %lld", (long long)value);
    w->made++;
    w->alive++;
    *(plan *)out = (plan){value, &w->alive};
    return CEBUS_OK;
}

static void clear(void *p)
{
    --*((plan *)p)->alive;
}

static cebus_cuda_plans_options options_of(world *w, size_t capacity)
{
    w->host = (cebus_host_allocator){.alloc = take, .free = give, .context = w};
    return (cebus_cuda_plans_options){.host = &w->host,
                                      .key_bytes = sizeof(int64_t),
                                      .plan_bytes = sizeof(plan),
                                      .capacity = capacity,
                                      .make = make,
                                      .clear = clear};
}

static cebus_cuda_plans *open_table(world *w, size_t capacity)
{
    const cebus_cuda_plans_options options = options_of(w, capacity);
    return cebus_cuda_plans_create(&options);
}

static const plan *find(cebus_cuda_plans *plans, world *w, int64_t key)
{
    const void *out = NULL;
    cr_assert_eq(cebus_cuda_plans_find(plans, "test", w, &key, &out), CEBUS_OK);
    cr_assert_eq(((const plan *)out)->of_key, key);
    return out;
}

Test(cuda_plans, makes_a_plan_once_for_each_key)
{
    world w = {.allocations_left = -1};
    cebus_cuda_plans *plans = open_table(&w, 8);
    const plan *first = find(plans, &w, 1);
    cr_assert_eq(find(plans, &w, 1), first);
    cr_assert_neq(find(plans, &w, 2), first);
    cr_assert_eq(w.made, 2);
    cr_assert_eq(cebus_cuda_plans_count(plans), 2);
    cebus_cuda_plans_destroy(plans);
    cr_assert_eq(w.alive, 0);
}

Test(cuda_plans, gives_up_the_plan_used_longest_ago)
{
    world w = {.allocations_left = -1};
    cebus_cuda_plans *plans = open_table(&w, 3);
    for (int64_t key = 1; key <= 3; key++)
        find(plans, &w, key);
    find(plans, &w, 1);
    find(plans, &w, 4); /* 2 goes */
    cr_assert_eq(cebus_cuda_plans_count(plans), 3);
    cr_assert_eq(w.alive, 3);
    cr_assert_eq(w.made, 4);
    find(plans, &w, 1);
    find(plans, &w, 3);
    cr_assert_eq(w.made, 4);
    find(plans, &w, 2);
    cr_assert_eq(w.made, 5);
    cebus_cuda_plans_destroy(plans);
}

Test(cuda_plans, keeps_thousands_apart)
{
    world w = {.allocations_left = -1};
    cebus_cuda_plans *plans = open_table(&w, 3000);
    for (int64_t key = 0; key < 3000; key++)
        find(plans, &w, key * 7);
    for (int64_t key = 0; key < 3000; key++)
        find(plans, &w, key * 7);
    cr_assert_eq(w.made, 3000);
    cebus_cuda_plans_destroy(plans);
    cr_assert_eq(w.alive, 0);
}

Test(cuda_plans, keeps_nothing_of_a_failure)
{
    world w = {.allocations_left = -1};
    cebus_cuda_plans *plans = open_table(&w, 4);
    const int64_t bad = -1;
    const void *out = &w;
    cr_assert_eq(cebus_cuda_plans_find(plans, "test", &w, &bad, &out), CEBUS_UNSUPPORTED);
    cr_assert_null(out);
    w.allocations_left = 0;
    const int64_t good = 5;
    cr_assert_eq(cebus_cuda_plans_find(plans, "test", &w, &good, &out), CEBUS_OUT_OF_HOST_MEMORY);
    cr_assert_eq(cebus_cuda_plans_count(plans), 0);
    w.allocations_left = -1;
    find(plans, &w, 5);
    cebus_cuda_plans_destroy(plans);
}

Test(cuda_plans, needs_host_memory_for_the_table)
{
    world w = {.allocations_left = 0};
    cr_assert_null(open_table(&w, 4));
    cebus_cuda_plans_destroy(NULL);
}

Test(cuda_plans, makes_the_table_when_it_is_first_asked)
{
    world w = {.allocations_left = 0};
    const cebus_cuda_plans_options options = options_of(&w, 4);
    cebus_cuda_plans *table = NULL;
    const int64_t key = 3;
    const void *out = &w, *again = NULL;
    cr_assert_eq(cebus_cuda_plans_find_in(&table, &options, "test", &w, &key, &out),
                 CEBUS_OUT_OF_HOST_MEMORY);
    cr_assert(table == NULL && out == NULL);
    w.allocations_left = -1;
    cr_assert_eq(cebus_cuda_plans_find_in(&table, &options, "test", &w, &key, &out), CEBUS_OK);
    cr_assert_eq(cebus_cuda_plans_find_in(&table, &options, "test", &w, &key, &again), CEBUS_OK);
    cr_assert(out == again && w.made == 1);
    cr_assert_eq(cebus_cuda_plans_count(table), 1);
    cebus_cuda_plans_destroy(table);
    cr_assert_eq(w.alive, 0);
}

/* ---- choice ------------------------------------------------------------------------------ */

Test(cuda_choice, takes_the_first_that_will_do)
{
    const cebus_cuda_proposal all[] = {
        {.runs = false, .deterministic = true, .precise = true},
        {.runs = true, .deterministic = false, .precise = true},
        {.runs = true, .deterministic = true, .precise = false},
        {.runs = true, .deterministic = true, .precise = true, .workspace = 900},
        {.runs = true, .deterministic = true, .precise = true, .workspace = 10},
        {.runs = true, .deterministic = true, .precise = true, .workspace = 0},
    };
    cr_assert_eq(cebus_cuda_choose(all, 6, 1000), 3);
    cr_assert_eq(cebus_cuda_choose(all, 6, 100), 4);
    cr_assert_eq(cebus_cuda_choose(all, 5, 5), 4);
    cr_assert_eq(cebus_cuda_choose(all, 3, 1000), -1);
    cr_assert_eq(cebus_cuda_choose(all, 0, 1000), -1);
}
