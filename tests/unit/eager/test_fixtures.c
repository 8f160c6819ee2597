/** What stays between two iterations is together when the first plan is made. */
#include <criterion/criterion.h>

#include "eager/storage.h"
#include "eager/tensor.h"
#include "program.h"
#include "tests/support/test_device.h"

TestSuite(fixtures);

enum {
    N = 1 << 12,
    WEIGHTS = 5
};
#define BLOCK (N * sizeof(float))

typedef struct scattered {
    cebus_runtime *rt;
    cebus_tensor *x, *w[WEIGHTS], *made; /**< what the last iteration made, held */
} scattered;

static uint64_t offset_of(const cebus_tensor *tensor)
{
    return tensor->storage->now->block->offset;
}

/** Leaves with a hole after each. */
static scattered scatter_on(const char *device, const char *policy, const char *layout)
{
    scattered s = {0};
    cebus_tensor *gaps[WEIGHTS];
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.device = device;
    options.memory_budget = 16 * BLOCK;
    options.policy = policy;
    options.layout = layout;
    options.threads = 1;
    options.cost_model = CEBUS_COST_ESTIMATED;
    options.debug = CEBUS_DEBUG_HOST | CEBUS_DEBUG_WALK;
    OK(cebus_runtime_create(&options, &s.rt));
    s.x = leaf(s.rt, N, 1);
    for (int i = 0; i < WEIGHTS; i++) {
        gaps[i] = leaf(s.rt, N, 0);
        s.w[i] = leaf(s.rt, N, 2);
        OK(cebus_tensor_set_persistent(s.w[i]));
    }
    for (int i = 0; i < WEIGHTS; i++)
        cebus_tensor_release(gaps[i]);
    return s;
}

static scattered scatter(const char *policy, const char *layout)
{
    return scatter_on("cpu", policy, layout);
}

/** The product of all; what it made before is let go. */
static void step(scattered *s)
{
    cebus_tensor *h = cebus_tensor_retain(s->x), *next;
    for (int i = 0; i < WEIGHTS; i++) {
        OK(cebus_mul(s->rt, h, s->w[i], &next));
        cebus_tensor_release(h);
        h = next;
    }
    cebus_tensor_release(s->made);
    s->made = h;
    OK(cebus_iteration_mark(s->rt));
}

static void finish(scattered *s)
{
    cr_expect_eq(at(s->made, N - 1), 1 << WEIGHTS, "what moved is the same");
    OK(cebus_runtime_check(s->rt));
    for (int i = 0; i < WEIGHTS; i++)
        cebus_tensor_release(s->w[i]);
    cebus_tensor_release(s->x);
    cebus_tensor_release(s->made);
    cr_expect_eq(cebus_memory_allocated(s->rt), 0);
    cebus_runtime_destroy(s->rt);
}

/** From the lowest byte to the last of what stays. */
static uint64_t reach(const scattered *s)
{
    uint64_t end = offset_of(s->x) + BLOCK;
    for (int i = 0; i < WEIGHTS; i++)
        end = offset_of(s->w[i]) + BLOCK > end ? offset_of(s->w[i]) + BLOCK : end;
    return end;
}

Test(fixtures, are_moved_together_before_the_first_plan)
{
    scattered s = scatter("cebus", "planned");
    cr_assert_gt(reach(&s), (WEIGHTS + 1) * BLOCK);
    step(&s);
    cr_expect_eq(reach(&s), (WEIGHTS + 1) * BLOCK, "what the iteration made lies above");
    finish(&s);
}

/** All of what an iteration made and holds is moved past what stays, to lie above it. */
Test(fixtures, lie_below_all_that_goes)
{
    enum {
        HELD = 3
    };
    scattered s = scatter("cebus", "planned");
    cebus_tensor *held[HELD];
    for (int i = 0; i < HELD; i++)
        OK(cebus_mul(s.rt, s.x, s.w[i], &held[i]));
    step(&s);
    cr_expect_eq(reach(&s), (WEIGHTS + 1) * BLOCK);
    cr_expect_lt(offset_of(s.made), (WEIGHTS + 1 + HELD + 1) * BLOCK);
    for (int i = 0; i < HELD; i++) {
        cr_expect_lt(offset_of(held[i]), (WEIGHTS + 1 + HELD + 1) * BLOCK);
        cr_expect_eq(at(held[i], 0), 2);
        cebus_tensor_release(held[i]);
    }
    finish(&s);
}

/** One that was handed out lies where it is, and all others find their places beside it. */
Test(fixtures, go_round_what_was_handed_out)
{
    const void *address;
    scattered s = scatter("cebus", "planned");
    OK(cebus_tensor_map(s.w[1], &address));
    uint64_t before = offset_of(s.w[1]);
    step(&s);
    cr_expect_eq(offset_of(s.w[1]), before);
    cr_expect_eq(*(const float *)address, 2);
    cebus_tensor_unmap(s.w[1]);
    finish(&s);
}

/** A copy that fails ends the moving, and nothing else. */
Test(fixtures, that_cannot_be_copied_stay_where_they_are)
{
    cr_assert(cebus_test_device_register());
    for (uint64_t at = 1; at <= WEIGHTS; at++) {
        scattered s = scatter_on("test", "cebus", "planned");
        const uint64_t before = reach(&s);
        cebus_test_faults = (cebus_test_device_faults){.copy_at = at};
        step(&s);
        cr_expect(cebus_test_faults.fired, "copy %lu", at);
        cebus_test_faults = (cebus_test_device_faults){0};
        cr_expect(at > 1 || reach(&s) == before, "the first one that fails is the last");
        step(&s);
        finish(&s);
    }
}

Test(fixtures, stay_where_no_places_are_planned)
{
    static const char *const ways[][2] = {{"cebus", "zones"}, {"lru", "planned"}};
    for (int i = 0; i < 2; i++) {
        scattered s = scatter(ways[i][0], ways[i][1]);
        uint64_t before = reach(&s);
        step(&s);
        cr_expect_eq(reach(&s), before, "%s, %s", ways[i][0], ways[i][1]);
        cr_expect_eq(stats_of(s.rt).moved_bytes, 0);
        finish(&s);
    }
}

/** A program that never does the same again does not pay for plans that are not made. */
Test(fixtures, stay_where_iterations_never_repeat)
{
    enum {
        STRAYS = 8
    };
    scattered s = scatter("cebus", "planned");
    cebus_tensor *stray, *next;
    for (int i = 0; i < STRAYS; i++) {
        stray = cebus_tensor_retain(s.x);
        for (int k = 0; k <= i; k++) {
            OK(cebus_add(s.rt, stray, s.x, &next));
            cebus_tensor_release(stray);
            stray = next;
        }
        cebus_tensor_release(stray);
        OK(cebus_iteration_mark(s.rt));
    }
    cebus_tensor *gap = leaf(s.rt, N, 0), *other = leaf(s.rt, N, 2);
    cebus_tensor_release(s.w[0]);
    cebus_tensor_release(gap);
    s.w[0] = other;
    cr_assert_gt(reach(&s), (WEIGHTS + 1) * BLOCK);
    uint64_t moved = stats_of(s.rt).moved_bytes;
    step(&s);
    cr_expect_eq(stats_of(s.rt).moved_bytes, moved);
    finish(&s);
}
