#include <criterion/criterion.h>

#include "evict/places/site.h"
#include "evict/timeline/sojourn.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

static recorded r;
static cebus_placement placement;
static uint64_t missing;

static cebus_test_host host;

static void setup(void)
{
    recorded_init_on(&r, &host);
    recorded_network(&r, 6, 1000, 10);
    cebus_placement_init(&placement, &r.pool);
}

static void teardown(void)
{
    cebus_placement_clear(&placement);
    recorded_deinit(&r);
}

TestSuite(placement, .init = setup, .fini = teardown);

static uint32_t ordinal(size_t handle)
{
    return r.values[handle].ordinal;
}

/** Each map but the last goes after the forward read it, and comes back for the backward. */
static void drop_maps(void)
{
    for (uint32_t k = 0; k < r.iteration.n_calls; k++) {
        for (size_t i = 1; i < 6; i++) {
            uint32_t x = ordinal(r.x[i]), y = ordinal(r.y[i - 1]);
            if (k == r.forward[i] + 1)
                cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, k, x));
            if (k != r.backward[i])
                continue;
            cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_REPLAY, k, y));
            cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_REPLAY, k, x));
            cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, k, y));
        }
    }
}

static uint64_t offset_of(const cebus_sojourn *s)
{
    const uint64_t *of[] = {placement.values, placement.actions, placement.workspaces,
                            placement.scratch};
    return of[s->kind][s->index];
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/** By looking at each pair. */
static void expect_apart(const cebus_site *site)
{
    cebus_sojourns stays;
    cr_assert(cebus_sojourns_init(&stays, &r.iteration, &r.plan, NULL, &r.pool));
    cr_assert_gt(stays.count, 10);
    for (size_t i = 0; i < stays.count; i++) {
        const cebus_sojourn *a = &stays.items[i];
        cr_expect_lt(a->from, a->to);
        cr_expect_leq(offset_of(a) + a->bytes, placement.height);
        cr_expect_leq(placement.height, site->capacity);
        cr_expect_eq(offset_of(a) % site->alignment, 0);
        for (size_t j = 0; j < i; j++) {
            const cebus_sojourn *b = &stays.items[j];
            bool together = a->from < b->to && b->from < a->to;
            cr_expect(!together || !overlap(offset_of(a), a->bytes, offset_of(b), b->bytes));
        }
        for (size_t f = 0; f < site->n_fixtures; f++)
            cr_expect_not(
                overlap(offset_of(a), a->bytes, site->fixtures[f].offset, site->fixtures[f].bytes));
    }
    cebus_sojourns_deinit(&stays);
}

static const cebus_fixture fixtures[] = {{0, 128}, {1024, 64}};

static cebus_site site_of(uint64_t capacity)
{
    return (cebus_site){
        .capacity = capacity, .alignment = 64, .fixtures = fixtures, .n_fixtures = 2};
}

static cebus_site_verdict place(const cebus_site *site)
{
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    return cebus_placement_make(&r.iteration, &r.plan, site, &placement, &missing);
}

Test(placement, keeps_apart_what_is_there_together)
{
    cebus_site site = site_of(1 << 20);
    cr_assert_eq(place(&site), CEBUS_SITE_PLACED);
    expect_apart(&site);
}

Test(placement, of_a_plan_with_replays_too)
{
    cebus_site site = site_of(1 << 20);
    cr_assert_eq(place(&site), CEBUS_SITE_PLACED);
    uint64_t without = placement.height;
    cebus_placement_clear(&placement);
    drop_maps();
    cr_assert_eq(place(&site), CEBUS_SITE_PLACED);
    expect_apart(&site);
    cr_expect_lt(placement.height, without, "maps that go make room");
}

/** x lies beside the larger t first, and comes back when that is gone and there is room below. */
Test(placement, what_finds_its_place_free_comes_back_to_it)
{
    recorded_deinit(&r);
    recorded_init(&r);
    size_t t = recorded_call(&r, "t", 1, SIZE_MAX, SIZE_MAX, 512);
    size_t x = recorded_call(&r, "x", 1, t, SIZE_MAX, 128);
    recorded_call(&r, "u", 1, t, x, 64);
    recorded_free(&r, t);
    recorded_call(&r, "v", 1, SIZE_MAX, SIZE_MAX, 64);
    recorded_call(&r, "w", 1, x, SIZE_MAX, 64);
    cr_assert(cebus_iteration_seal(&r.iteration));
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 3, x);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, 4, x);
    cebus_site site = {.capacity = 1 << 11, .alignment = 64};
    cr_assert_eq(place(&site), CEBUS_SITE_PLACED);
    cr_expect_eq(placement.actions[1], placement.values[ordinal(x)]);
}

Test(placement, says_how_much_more_it_would_take)
{
    cebus_site site = site_of(4096);
    drop_maps();
    cr_assert_eq(place(&site), CEBUS_SITE_FULL);
    cr_expect_eq(placement.height, 0);
    cr_assert_gt(missing, 0);
    site.capacity += missing;
    cr_expect_eq(place(&site), CEBUS_SITE_PLACED);
    expect_apart(&site);
}

/** Then it is told sooner. */
Test(placement, says_whether_it_fits_if_nothing_else_is_asked)
{
    drop_maps();
    for (uint64_t capacity = 4096; capacity < 9216; capacity += 256) {
        cebus_site site = site_of(capacity);
        site.rounds = capacity % 512 == 0 ? 5 : 0;
        const cebus_site_verdict verdict = place(&site);
        const uint64_t height = placement.height, all_missing = missing;
        cebus_placement_clear(&placement);
        site.fits_only = true;
        cr_expect_eq(place(&site), verdict);
        cr_expect_eq(placement.height, height);
        cr_expect_leq(missing, all_missing);
        cebus_placement_clear(&placement);
    }
}

Test(placement, keeps_what_the_plan_drops_later_and_lets_the_rest_go)
{
    cebus_sojourns stays;
    uint32_t y = ordinal(r.y[2]), freed = r.iteration.values[y].freed;
    cr_assert(cebus_plan_add(&r.plan, CEBUS_ACTION_DROP, freed + 3, y));
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    cr_assert(cebus_sojourns_init(&stays, &r.iteration, &r.plan, NULL, &r.pool));
    for (size_t i = 0; i < stays.count; i++) {
        const cebus_sojourn *s = &stays.items[i];
        if (s->kind == CEBUS_SOJOURN_VALUE && s->index == y)
            cr_expect_eq(s->to, freed + 3);
        if (s->kind == CEBUS_SOJOURN_VALUE && s->index == ordinal(r.y[1]))
            cr_expect_eq(s->to, r.iteration.values[s->index].freed);
    }
    cebus_sojourns_deinit(&stays);
}

Test(placement, without_host_memory_there_is_none)
{
    cebus_site site = site_of(1 << 20);
    drop_maps();
    cr_assert(cebus_plan_link(&r.plan, &r.iteration));
    uint64_t n = 1;
    for (bool failed = true; failed; n++) {
        host.fail_at = n;
        cebus_site_verdict verdict =
            cebus_placement_make(&r.iteration, &r.plan, &site, &placement, &missing);
        failed = host.fail_at == 0;
        host.fail_at = 0;
        cr_expect_eq(verdict, failed ? CEBUS_SITE_NO_HOST_MEMORY : CEBUS_SITE_PLACED);
        cr_expect_eq(placement.height != 0, !failed);
    }
    cr_expect_gt(n, 10);
}

/** More of them than arrays begin with. */
Test(placement, without_host_memory_there_are_no_stays)
{
    cebus_sojourns stays;
    cebus_iteration_clear(&r.iteration);
    recorded_network(&r, RECORDED_LAYERS, 1000, 10);
    bool found = false;
    for (uint64_t n = 1; !found; n++) {
        host.fail_at = n;
        found = cebus_sojourns_init(&stays, &r.iteration, &r.plan, NULL, &r.pool);
        cr_expect_eq(found, host.fail_at > 0);
    }
    host.fail_at = 0;
    cr_expect_gt(stays.count, 64);
    cebus_sojourns_deinit(&stays);
}

Test(placement, what_passes_to_the_next_iteration_has_no_place)
{
    cebus_outside outside;
    cebus_sojourns stays;
    cebus_iteration_clear(&r.iteration);
    memset(r.values, 0, sizeof r.values);
    r.count = 0;
    size_t old = recorded_leaf(&r, 64, false), kept = recorded_leaf(&r, 64, true);
    size_t fresh = recorded_call(&r, "running_mean", 1, old, kept, 64);
    recorded_free(&r, old);
    size_t other = recorded_call(&r, "loss", 1, fresh, SIZE_MAX, 8);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_outside_init(&outside, &r.iteration, &r.pool));
    cr_expect(outside.has[ordinal(old)] && outside.has[ordinal(fresh)]);
    cr_expect_not(outside.has[ordinal(kept)] || outside.has[ordinal(other)]);
    cr_expect_eq(outside.bytes, 128);
    cr_assert(cebus_sojourns_init(&stays, &r.iteration, &r.plan, &outside, &r.pool));
    cr_assert_eq(stays.count, 1);
    cr_expect_eq(stays.items[0].index, ordinal(other));
    cebus_sojourns_deinit(&stays);
    cebus_outside_deinit(&outside);
}

enum {
    MANY = 100
};

/** Each call makes something, most of it for a short time; the last reads what the first made,
 * which is on the host meanwhile if it is swapped. */
static void make_anew(uint64_t seed, bool swapped)
{
    size_t made[MANY], end[MANY];
    cebus_placement_clear(&placement);
    recorded_deinit(&r);
    recorded_init(&r);
    for (size_t i = 0; i < MANY; i++) {
        uint64_t bytes = 8 * (1 + random_below(&seed, 60));
        made[i] = recorded_call(&r, "f", 1000, i + 1 < MANY ? SIZE_MAX : made[0], SIZE_MAX, bytes);
        end[i] = i + 1 +
                 (random_below(&seed, 4) > 0 ? random_below(&seed, 6) : random_below(&seed, MANY));
        for (size_t j = 1; j <= i; j++) {
            if (end[j] == i + 1)
                recorded_free(&r, made[j]);
        }
    }
    cr_assert(cebus_iteration_seal(&r.iteration));
    if (!swapped)
        return;
    recorded_act(&r, CEBUS_ACTION_SWAP_OUT, 2, made[0]);
    recorded_act(&r, CEBUS_ACTION_SWAP_IN, MANY - 2, made[0]);
}

/** In less and less room than it takes at first. How often values moved. */
static size_t count_moving(uint64_t seed, bool swapped)
{
    cebus_site site = {.capacity = UINT64_C(1) << 40, .alignment = 8};
    size_t moving = 0;
    make_anew(seed, swapped);
    cr_assert_eq(cebus_placement_make(&r.iteration, &r.plan, &site, &placement, &missing),
                 CEBUS_SITE_PLACED);
    site.moves = (cebus_move_terms){.rate = 1000000000, .ns = 1};
    site.capacity = placement.height;
    for (int i = 0; i < 20; i++, site.capacity -= 8) {
        cebus_placement_clear(&placement);
        (void)cebus_placement_make(&r.iteration, &r.plan, &site, &placement, &missing);
        moving += placement.n_relocations > 0;
    }
    return moving;
}

/** Copies are on their way. */
Test(placement, of_a_plan_that_swaps_moves_nothing)
{
    size_t moving = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        cr_expect_eq(count_moving(seed, true), 0);
        moving += count_moving(seed, false);
    }
    cr_expect_gt(moving, 10, "as little room lets nothing else do");
}
