#include <criterion/criterion.h>

#include <math.h>

#include "evict/planner/check.h"
#include "evict/planner/emit.h"
#include "evict/planner/greedy.h"
#include "evict/planner/prune.h"
#include "evict/planner/sequence.h"
#include "evict/planner/snapshot.h"
#include "tests/unit/evict/random_iteration.h"
#include "tests/unit/evict/recorded.h"

#define NONE CEBUS_SEQUENCE_NONE

static recorded r;
static cebus_sequence sequence;
static uint64_t visits;

static void setup(void)
{
    recorded_init(&r);
}

static void teardown(void)
{
    recorded_deinit(&r);
}

TestSuite(planner_sequence, .init = setup, .fini = teardown);

static void make(uint64_t seed, uint32_t n_calls)
{
    cebus_iteration_clear(&r.iteration);
    random_iteration_make(&r.iteration, seed, n_calls);
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
}

/** Whether all a call reads can be there before an instance. */
static bool can_run(uint32_t call, uint32_t before)
{
    uint32_t count, gap = sequence.instances[before].gap;
    if (gap <= call || gap > sequence.last_gaps[call])
        return false;
    const uint32_t *values = cebus_sequence_reads(&sequence, call, &count);
    for (uint32_t j = 0; j < count; j++) {
        const cebus_life *life = &sequence.lives[values[j]];
        uint32_t i =
            cebus_sequence_find(&sequence, values[j], cebus_sequence_key(&sequence, before));
        bool there = i < life->count && (life->events[i] & 3) != CEBUS_EVENT_PRODUCE;
        if (!there && (life->events[i - 1] & 3) == CEBUS_EVENT_MOVE)
            return false;
    }
    return true;
}

static void insert_some(uint64_t *random, uint32_t n)
{
    while (n-- > 0) {
        uint32_t call = random_below(random, (uint32_t)r.iteration.n_calls);
        uint32_t before = random_below(random, (uint32_t)sequence.n_instances), count;
        bool exists = before < r.iteration.n_calls || before == cebus_sequence_end(&sequence) ||
                      (before > r.iteration.n_calls && sequence.instances[before].call != NONE);
        const uint32_t *values = cebus_sequence_makes(&sequence, call, &count);
        bool makes = false;
        for (uint32_t j = 0; j < count; j++)
            makes |= sequence.lives[values[j]].call == call;
        if (exists && makes && can_run(call, before))
            cr_assert(cebus_sequence_insert(&sequence, call, before, NULL));
    }
}

static void remove_some(uint64_t *random, uint32_t n)
{
    while (n-- > 0 && sequence.n_instances > r.iteration.n_calls + 2) {
        uint32_t i =
            (uint32_t)r.iteration.n_calls + 2 +
            random_below(random, (uint32_t)(sequence.n_instances - r.iteration.n_calls - 2));
        if (sequence.instances[i].call != NONE && cebus_sequence_can_remove(&sequence, i))
            cr_assert(random_below(random, 2) ? cebus_sequence_remove(&sequence, i)
                                              : cebus_sequence_remove_all(&sequence, i));
    }
}

static void remove_useless(void)
{
    bool found = true;
    while (found) {
        found = false;
        for (uint32_t i = (uint32_t)r.iteration.n_calls + 2; i < sequence.n_instances; i++) {
            if (sequence.instances[i].call != NONE && !cebus_sequence_is_useful(&sequence, i)) {
                cr_assert(cebus_sequence_remove(&sequence, i));
                found = true;
            }
        }
    }
}

static double *levels(size_t *out_n)
{
    static double all[4096];
    *out_n = 0;
    uint32_t i = cebus_sequence_start(&sequence);
    for (; i != CEBUS_TRACK_NONE; i = cebus_track_next(&sequence.track, i))
        all[(*out_n)++] = cebus_track_level(&sequence.track, i);
    return all;
}

/** What the checker, which knows nothing of sequences, says to the plan. */
static void expect_checked(uint64_t seed)
{
    cebus_check check;
    cebus_plan_clear(&r.plan);
    cr_assert(cebus_emit_plan(&sequence, NULL, &r.plan));
    cr_assert(cebus_check_run(&r.iteration, &r.plan, &r.pool, &check));
    cr_assert_null(check.wrong, "seed %lu: %s, at %u: %u", seed, check.wrong, check.at,
                   check.value);
    cr_assert_eq((double)check.peak, cebus_track_peak(&sequence.track, NULL), "seed %lu: %lu, %.0f",
                 seed, check.peak, cebus_track_peak(&sequence.track, NULL));
    cr_assert_eq(check.replay_ns, sequence.cost);
    cr_assert_eq(check.replays, sequence.n_replays);
}

Test(planner_sequence, any_replays_need_the_bytes_it_says)
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t random = seed;
        make(seed, 10 + (uint32_t)seed % 60);
        expect_checked(seed);
        insert_some(&random, 100);
        remove_useless();
        expect_checked(seed);
        remove_some(&random, 8);
        remove_useless();
        expect_checked(seed);
        cebus_sequence_deinit(&sequence);
    }
}

Test(planner_sequence, what_is_undone_is_as_it_was)
{
    static double before[4096];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        size_t n, n_after;
        make(seed, 10 + (uint32_t)seed % 60);
        insert_some(&random, 50);
        size_t mark = cebus_sequence_mark(&sequence);
        uint64_t cost = sequence.cost;
        memcpy(before, levels(&n), sizeof before);
        insert_some(&random, 50);
        remove_some(&random, 30);
        insert_some(&random, 50);
        cr_assert(cebus_sequence_undo(&sequence, mark));
        cr_assert_arr_eq(levels(&n_after), before, n * sizeof *before);
        cr_assert_eq(n, n_after);
        cr_assert_eq(cost, sequence.cost);
        cebus_sequence_deinit(&sequence);
    }
}

Test(planner_sequence, a_snapshot_brings_it_back)
{
    static double before[4096];
    for (uint64_t seed = 1; seed <= 100; seed++) {
        uint64_t random = seed;
        size_t n, n_after;
        cebus_snapshot snapshot;
        cebus_snapshot_init(&snapshot, &r.pool);
        make(seed, 10 + (uint32_t)seed % 60);
        insert_some(&random, 50);
        memcpy(before, levels(&n), sizeof before);
        cr_assert(cebus_snapshot_take(&snapshot, &sequence));
        insert_some(&random, 50);
        remove_some(&random, 30);
        cr_assert(cebus_snapshot_restore(&snapshot, &sequence));
        cr_assert_arr_eq(levels(&n_after), before, n * sizeof *before);
        cr_assert_eq(n, n_after);
        cr_assert_eq(snapshot.cost, sequence.cost);
        cebus_snapshot_deinit(&snapshot);
        cebus_sequence_deinit(&sequence);
    }
}

Test(planner_sequence, finds_between_which_blocks_something_is_over_a_limit)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t random = seed, from, to;
        make(seed, 200);
        insert_some(&random, 200);
        const cebus_track *track = &sequence.track;
        double limit = cebus_track_peak(track, NULL) * (double)(seed % 10 + 1) / 10;
        cebus_track_find_over(track, limit, &from, &to);
        cr_expect_eq(from < to, cebus_track_exceeds(track, 0, UINT64_MAX, limit));
        cr_expect_not(cebus_track_exceeds(track, 0, from, limit));
        cr_expect_not(cebus_track_exceeds(track, to, UINT64_MAX, limit));
        if (from < to) {
            cr_expect(cebus_track_exceeds(track, from, from + CEBUS_TRACK_BLOCK, limit));
            cr_expect(cebus_track_exceeds(track, to - CEBUS_TRACK_BLOCK, to, limit));
        }
        cebus_sequence_deinit(&sequence);
    }
}

/** One by one, by definition. */
static double area_by_hand(const cebus_track *track, double limit, double bytes)
{
    double area = 0;
    uint32_t item = cebus_sequence_start(&sequence);
    for (; item != CEBUS_TRACK_NONE; item = cebus_track_next(track, item)) {
        const double level = cebus_track_level(track, item) - limit;
        area += cebus_track_weight(track, item) * (fmax(level + bytes, 0) - fmax(level, 0));
    }
    return area;
}

Test(planner_sequence, an_area_is_told_as_far_as_it_matters)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t random = seed;
        make(seed, 200);
        insert_some(&random, 200);
        cebus_track *track = &sequence.track;
        for (uint32_t i = 0; seed % 2 == 0 && i < 200; i += 3)
            cebus_track_weigh(track, i, 0.5 * (double)(1 + i % 4));
        const double peak = floor(cebus_track_peak(track, NULL)), bytes = floor(peak / 3);
        const double limit = floor(peak * (double)(seed % 10 + 1) / 11);
        const double all = area_by_hand(track, limit, bytes);
        cr_expect_eq(cebus_track_area(track, 0, UINT64_MAX, limit, 0, bytes), all);
        cr_expect_eq(cebus_track_area_up_to(track, 0, UINT64_MAX, limit, 0, bytes, all), all);
        const double some = cebus_track_area_up_to(track, 0, UINT64_MAX, limit, 0, bytes, all / 2);
        cr_expect(some > all / 2 && some <= all);
        cebus_sequence_deinit(&sequence);
    }
}

/** Between two keys, one by one. */
static double area_from_to(uint64_t from, uint64_t to, double limit, double bytes,
                           uint32_t *out_first)
{
    const cebus_track *track = &sequence.track;
    double area = 0;
    *out_first = CEBUS_TRACK_NONE;
    uint32_t item = cebus_sequence_start(&sequence);
    for (; item != CEBUS_TRACK_NONE; item = cebus_track_next(track, item)) {
        const double level = cebus_track_level(track, item) - limit;
        if (cebus_track_key(track, item) < from || cebus_track_key(track, item) >= to)
            continue;
        area += cebus_track_weight(track, item) * (fmax(level + bytes, 0) - fmax(level, 0));
        if (level > 0 && *out_first == CEBUS_TRACK_NONE)
            *out_first = item;
    }
    return area;
}

/** Blocks are looked at many at once. */
Test(planner_sequence, areas_of_many_blocks_are_those_of_their_items)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        make(seed, 3000);
        insert_some(&random, 100);
        cebus_track *track = &sequence.track;
        for (uint32_t i = 0; seed % 2 == 0 && i < 3000; i += 7)
            cebus_track_weigh(track, i, 0.5 * (double)(1 + i % 4));
        cr_assert_gt(track->n_blocks, 40);
        const double peak = floor(cebus_track_peak(track, NULL));
        for (int round = 0; round < 40; round++) {
            uint32_t first, a = random_below(&random, 3000), b = random_below(&random, 3000);
            const uint64_t from = cebus_sequence_key(&sequence, a < b ? a : b);
            const uint64_t to = cebus_sequence_key(&sequence, a < b ? b : a);
            const double limit = floor(peak * (double)random_below(&random, 20) / 20);
            const double bytes = floor(peak * ((double)random_below(&random, 21) - 10) / 20);
            const double area = area_from_to(from, to, limit, bytes, &first);
            cr_expect_eq(cebus_track_area(track, from, to, limit, 0, bytes), area);
            cr_expect_eq(cebus_track_first_over(track, from, to, limit), first);
        }
        cebus_sequence_deinit(&sequence);
    }
}

/** Asked for again and again, as areas of blocks are remembered. */
static void expect_area(double limit, double bytes)
{
    const cebus_track *track = &sequence.track;
    cr_expect_eq(cebus_track_area(track, 0, UINT64_MAX, limit, 0, bytes),
                 area_by_hand(track, limit, bytes));
}

Test(planner_sequence, an_area_is_told_anew_after_changes)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t random = seed;
        make(seed, 100);
        const double limit = floor(cebus_track_peak(&sequence.track, NULL) / 2);
        const double bytes = floor(limit / 2);
        cebus_track *track = &sequence.track;
        expect_area(limit, bytes);
        insert_some(&random, 20);
        expect_area(limit, bytes);
        remove_some(&random, 10);
        expect_area(limit, bytes);
        const uint64_t key = cebus_sequence_key(&sequence, random_below(&random, 100));
        cebus_track_add(track, key, key + 1, bytes);
        expect_area(limit, bytes);
        cebus_track_add(track, 0, UINT64_MAX, 1);
        expect_area(limit, bytes);
        cebus_track_weigh(track, random_below(&random, 100), 0.5);
        expect_area(limit, bytes);
        cebus_sequence_deinit(&sequence);
    }
}

/** Whether the gap of each value's last event is known. */
static bool knows_ends(void)
{
    bool knows = true;
    for (size_t v = 0; v < sequence.iteration->n_values; v++) {
        const cebus_life *life = &sequence.lives[v];
        knows = knows &&
                (life->count == 0 ||
                 sequence.ends[v] ==
                     sequence.instances[cebus_event_instance(life->events[life->count - 1])].gap);
    }
    return knows;
}

Test(planner_sequence, knows_when_the_last_event_of_a_value_is)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t random = seed;
        make(seed, 60);
        cr_expect(knows_ends());
        insert_some(&random, 60);
        cr_expect(knows_ends());
        cr_assert(cebus_sequence_undo(&sequence, cebus_sequence_mark(&sequence) / 2));
        cr_expect(knows_ends());
        cebus_sequence_deinit(&sequence);
    }
}

Test(planner_sequence, pruning_keeps_the_limit_and_makes_it_cheaper)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        uint64_t random = seed;
        make(seed, 10 + (uint32_t)seed % 60);
        insert_some(&random, 100);
        remove_useless();
        double peak = cebus_track_peak(&sequence.track, NULL);
        uint64_t cost = sequence.cost;
        cr_assert(cebus_prune_all(&sequence, peak, &r.pool, &visits));
        cr_expect_leq(cebus_track_peak(&sequence.track, NULL), peak);
        cr_expect_leq(sequence.cost, cost);
        remove_useless();
        expect_checked(seed);
        cebus_sequence_deinit(&sequence);
    }
}

/** The dearest replay of those still to be tried, by cost, then where it runs. NONE: all were. */
static uint32_t dearest(const bool *tried)
{
    uint32_t best = NONE;
    for (uint32_t i = (uint32_t)r.iteration.n_calls + 2; i < sequence.n_instances; i++) {
        uint32_t call = sequence.instances[i].call;
        if (tried[i] || call == NONE)
            continue;
        uint64_t ns = cebus_sequence_cost(&sequence, call);
        uint64_t most =
            best == NONE ? 0 : cebus_sequence_cost(&sequence, sequence.instances[best].call);
        if (best == NONE || ns > most ||
            (ns == most && cebus_sequence_key(&sequence, i) < cebus_sequence_key(&sequence, best)))
            best = i;
    }
    return best;
}

/** Takes out what can go by trying all, one after another. */
static void prune_by_trying(double limit)
{
    bool tried[1024] = {false};
    for (uint32_t i = dearest(tried); i != NONE; i = dearest(tried)) {
        size_t mark = cebus_sequence_mark(&sequence);
        tried[i] = true;
        if (!cebus_sequence_can_remove(&sequence, i))
            continue;
        cr_assert(cebus_sequence_remove_all(&sequence, i));
        if (cebus_track_peak(&sequence.track, NULL) > limit)
            cr_assert(cebus_sequence_undo(&sequence, mark));
    }
}

/** Replays enough for a limit. */
static void bring_down(double limit)
{
    cebus_greedy greedy;
    cr_assert(cebus_greedy_init(&greedy, &sequence, &r.pool));
    cr_assert_neq(cebus_greedy_run(&greedy, limit, 0, 100000), CEBUS_GREEDY_NO_HOST_MEMORY);
    cebus_greedy_deinit(&greedy);
    cebus_sequence_keep(&sequence);
}

/** What would become of the levels is worked out, with all that goes along. */
Test(planner_sequence, prunes_what_trying_all_would)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        make(seed, 100);
        double most = cebus_track_peak(&sequence.track, NULL);
        bring_down(0.8 * most);
        double limit = (0.8 + 0.001 * (double)seed) * most;
        if (cebus_track_peak(&sequence.track, NULL) <= limit) {
            prune_by_trying(limit);
            uint64_t cost = sequence.cost;
            size_t n = sequence.n_replays;
            cr_assert(cebus_sequence_undo(&sequence, 0));
            cr_assert(cebus_prune_all(&sequence, limit, &r.pool, &visits));
            cr_expect_eq(sequence.cost, cost, "seed %lu: %lu, not %lu", seed, sequence.cost, cost);
            cr_expect_eq(sequence.n_replays, n, "seed %lu", seed);
        }
        cebus_sequence_deinit(&sequence);
    }
}

/** Prunes until nothing changes any more. */
static void prune_to_the_end(double limit)
{
    for (size_t n = sequence.n_replays + 1; sequence.n_replays < n;) {
        n = sequence.n_replays;
        cr_assert(cebus_prune_all(&sequence, limit, &r.pool, &visits));
    }
}

/** Why a replay was needed is remembered, but not for longer than that holds. */
Test(planner_sequence, prunes_no_less_after_changes_than_from_scratch)
{
    int more = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        make(seed, 100);
        double most = cebus_track_peak(&sequence.track, NULL);
        bring_down(0.8 * most);
        double limit = fmax(0.8 * most, cebus_track_peak(&sequence.track, NULL));
        for (int i = 0; i < 8; i++) {
            prune_to_the_end(limit);
            size_t n = sequence.n_replays;
            sequence.n_needs = 0;
            prune_to_the_end(limit);
            cr_expect_eq(sequence.n_replays, n, "seed %lu", seed);
            insert_some(&random, 3);
            remove_some(&random, 1);
            limit = fmax(limit, cebus_track_peak(&sequence.track, NULL));
            more += sequence.n_replays > 0;
        }
        cebus_sequence_deinit(&sequence);
    }
    cr_expect_gt(more, 200);
}

/** What it remembers spares looks, and lets no less go in one pass. */
Test(planner_sequence, prunes_in_a_pass_what_it_would_from_scratch)
{
    int gone = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        uint64_t random = seed;
        make(seed, 100);
        double most = cebus_track_peak(&sequence.track, NULL);
        bring_down(0.8 * most);
        double limit = fmax(0.8 * most, cebus_track_peak(&sequence.track, NULL));
        for (int i = 0; i < 8; i++) {
            prune_to_the_end(limit);
            insert_some(&random, 3);
            remove_some(&random, 1);
            limit = fmax(limit, cebus_track_peak(&sequence.track, NULL));
            cebus_sequence_keep(&sequence);
            const size_t before = sequence.n_replays;
            cr_assert(cebus_prune_all(&sequence, limit, &r.pool, &visits));
            const size_t n = sequence.n_replays;
            const uint64_t cost = sequence.cost;
            cr_assert(cebus_sequence_undo(&sequence, 0));
            sequence.n_needs = 0;
            cr_assert(cebus_prune_all(&sequence, limit, &r.pool, &visits));
            cr_expect_eq(sequence.n_replays, n, "seed %lu: %zu", seed, n);
            cr_expect_eq(sequence.cost, cost, "seed %lu: %lu", seed, cost);
            gone += n < before;
        }
        cebus_sequence_deinit(&sequence);
    }
    cr_expect_gt(gone, 200);
}

/** Swaps that are there are no reason to look at all replays again, long as their chains are. */
Test(planner_sequence, looks_at_nothing_twice_beside_swaps)
{
    enum {
        CHAINS = 12,
        LINKS = 6
    };
    size_t last[CHAINS];
    for (size_t i = 0; i < CHAINS; i++) {
        last[i] = SIZE_MAX;
        for (size_t j = 0; j < LINKS; j++) {
            size_t next = recorded_call(&r, "f", 10, last[i], SIZE_MAX, 100);
            if (j > 0)
                recorded_free(&r, last[i]);
            last[i] = next;
        }
    }
    for (size_t i = 0; i < CHAINS; i++) {
        recorded_call(&r, "g", 10, last[i], SIZE_MAX, 1);
        recorded_free(&r, last[i]);
    }
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    for (uint32_t k = LINKS; k < CHAINS * LINKS; k++)
        cr_assert(cebus_sequence_insert(&sequence, k, CHAINS * LINKS + k / LINKS, NULL));
    cr_assert(
        cebus_sequence_insert(&sequence, cebus_sequence_out(&sequence, LINKS - 1), LINKS, NULL));
    cr_assert(cebus_sequence_insert(&sequence, cebus_sequence_in(&sequence, LINKS - 1),
                                    CHAINS * LINKS, NULL));
    const double limit = cebus_track_peak(&sequence.track, NULL);
    prune_to_the_end(limit);
    const size_t n = sequence.n_replays;
    cr_assert_gt(n, 20, "%zu replays", n);
    cr_assert(cebus_prune_all(&sequence, limit, &r.pool, &visits));
    cr_expect_leq(visits, n / 32, "%lu visits of %zu", visits, n); /* it lists them */
    cebus_sequence_deinit(&sequence);
}

Test(planner_sequence, bytes_count_in_grains)
{
    size_t x = recorded_call(&r, "f", 10, SIZE_MAX, SIZE_MAX, 10);
    size_t y = recorded_call(&r, "g", 10, x, SIZE_MAX, 64);
    recorded_free(&r, x);
    recorded_free(&r, y);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    cr_expect_eq(cebus_track_peak(&sequence.track, NULL), 74);
    cebus_sequence_deinit(&sequence);
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 64, &r.pool));
    cr_expect_eq(cebus_track_peak(&sequence.track, NULL), 128);
    cebus_sequence_deinit(&sequence);
}

/** A gradient whose update is done has to be there for the next update, if the program holds it. */
Test(planner_sequence, what_is_held_stays_while_parameters_are_written)
{
    for (int held = 0; held < 2; held++) {
        recorded_deinit(&r);
        recorded_init(&r);
        size_t w = recorded_leaf(&r, 10, true), v = recorded_leaf(&r, 10, true);
        size_t g = recorded_call(&r, "f", 10, w, v, 100);
        recorded_step(&r, w, g);
        if (held == 0)
            recorded_free(&r, g);
        size_t h = recorded_call(&r, "h", 1, SIZE_MAX, SIZE_MAX, 500);
        recorded_step(&r, v, h);
        recorded_free(&r, h);
        if (held == 1)
            recorded_free(&r, g);
        cr_assert(cebus_iteration_seal(&r.iteration));
        cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
        cr_expect_eq(cebus_track_peak(&sequence.track, NULL), held == 1 ? 620 : 520);
        cebus_sequence_deinit(&sequence);
    }
}

/** y stays instead of p, which is kept for what y is made of alone. */
Test(planner_sequence, prunes_what_goes_along_with_what_it_reads)
{
    size_t p = recorded_call(&r, "p", 10, SIZE_MAX, SIZE_MAX, 100);
    size_t x = recorded_call(&r, "f", 10, p, SIZE_MAX, 10);
    size_t y = recorded_call(&r, "g", 20, x, SIZE_MAX, 50);
    recorded_free(&r, p);
    recorded_free(&r, x);
    size_t h = recorded_call(&r, "h", 1, SIZE_MAX, SIZE_MAX, 500);
    recorded_free(&r, h);
    recorded_call(&r, "u", 1, y, SIZE_MAX, 1);
    recorded_free(&r, y);
    cr_assert(cebus_iteration_seal(&r.iteration));
    cr_assert(cebus_sequence_init(&sequence, &r.iteration, 1, &r.pool));
    cr_assert(cebus_sequence_insert(&sequence, 1, 4, NULL));
    cr_assert(cebus_sequence_insert(&sequence, 2, 4, NULL));
    cr_assert_eq(cebus_track_peak(&sequence.track, NULL), 600);
    cr_assert(cebus_prune_all(&sequence, 600, &r.pool, &visits));
    cr_expect_eq(sequence.n_replays, 0);
    cr_expect_eq(cebus_track_peak(&sequence.track, NULL), 550);
    cebus_sequence_deinit(&sequence);
}
