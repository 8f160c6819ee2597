#include <criterion/criterion.h>

#include "evict/timeline/presence.h"
#include "tests/unit/evict/stepping.h"

static cebus_runs runs;
static cebus_presences presences;
static bool streams[64];
static cebus_presence_terms terms;

/** All that persists comes and goes, in half of what it takes. */
static void begin(void)
{
    setup();
    mark_persistent(streams);
    terms = (cebus_presence_terms){
        .streams = streams, .room = PERSISTENT / 2, .out_rate = 1000000000, .in_rate = 1000000000};
    cr_assert(cebus_runs_init(&runs, &r.iteration, &r.plan, &r.pool));
}

static void teardown(void)
{
    cebus_runs_deinit(&runs);
    recorded_deinit(&r);
}

TestSuite(presence, .init = begin, .fini = teardown);

static void find(void)
{
    cr_assert_eq(cebus_presences_find(&runs, &terms, &presences), CEBUS_PRESENCE_FITS);
}

/** Whether a presence covers a run, on a clock that goes around. */
static bool covers(const cebus_presence *p, uint32_t from, uint32_t to, uint32_t run)
{
    return cebus_presence_crosses(p) ? run >= from || run < to : run >= from && run < to;
}

/** Bytes of those that are there while a run goes on; of those that must be. */
static uint64_t bytes_at(uint32_t run, bool must)
{
    uint64_t bytes = runs.bytes[run];
    for (size_t i = 0; i < presences.count; i++) {
        const cebus_presence *p = &presences.items[i];
        bytes += covers(p, must ? p->from : p->since, must ? p->to : p->gone, run) ? BYTES : 0;
    }
    return bytes;
}

Test(presence, they_are_there_for_each_use_and_fit)
{
    terms.ahead = BYTES;
    find();
    for (uint32_t run = 0; run < runs.count; run++)
        cr_expect_leq(bytes_at(run, false), terms.room, "run %u", run);
    for (uint32_t o = 0; o < r.iteration.n_values; o++) {
        for (uint32_t u = runs.first_uses[o]; u < runs.first_uses[o + 1]; u++) {
            size_t there = 0;
            for (size_t i = 0; i < presences.count; i++)
                there += presences.items[i].value == o && presences.items[i].from <= runs.uses[u] &&
                         runs.uses[u] < presences.items[i].to;
            cr_expect_eq(there, 1, "value %u, run %u", o, runs.uses[u]);
        }
    }
    cebus_presences_deinit(&presences);
    terms.room = 2 * BYTES;
    cr_expect_eq(cebus_presences_find(&runs, &terms, &presences), CEBUS_PRESENCE_FULL);
}

Test(presence, they_that_cross_are_there_for_each_use_and_fit)
{
    size_t crossing = 0;
    terms.ahead = BYTES;
    terms.turn = LAYERS;
    find();
    for (uint32_t run = 0; run < runs.count; run++)
        cr_expect_leq(bytes_at(run, false), terms.room, "run %u", run);
    for (size_t i = 0; i < presences.count; i++) {
        const cebus_presence *p = &presences.items[i];
        crossing += cebus_presence_crosses(p);
        cr_expect_not(p->since < LAYERS && p->gone > LAYERS, "none is there at the turn");
        cr_expect(!p->writes || (p->done > runs.count - LAYERS && p->done <= runs.count),
                  "its copy begins with the step that wrote it");
    }
    cr_expect_gt(crossing, 0);
    for (uint32_t o = 0; o < r.iteration.n_values; o++) {
        for (uint32_t u = runs.first_uses[o]; u < runs.first_uses[o + 1]; u++) {
            size_t there = 0;
            for (size_t i = 0; i < presences.count; i++) {
                const cebus_presence *p = &presences.items[i];
                there += p->value == o && covers(p, p->since, p->gone, runs.uses[u]);
            }
            cr_expect_eq(there, 1, "value %u, run %u", o, runs.uses[u]);
        }
    }
    cebus_presences_deinit(&presences);
}

Test(presence, runs_turn_with_all_that_is_known_of_them)
{
    cebus_runs turned;
    const uint32_t n = (uint32_t)runs.count, by = n / 3;
    cr_assert(cebus_runs_turn(&runs, by, &turned));
    cr_assert_eq(turned.count, n);
    for (uint32_t run = 0; run < n; run++) {
        cr_expect_eq(turned.items[run].call, runs.items[(run + by) % n].call);
        cr_expect_eq(turned.bytes[run], runs.bytes[(run + by) % n]);
    }
    cr_expect_eq(turned.times[n], runs.times[n]);
    for (uint32_t o = 0; o < r.iteration.n_values; o++) {
        cr_assert_eq(cebus_runs_n_uses(&turned, o), cebus_runs_n_uses(&runs, o));
        for (uint32_t u = turned.first_uses[o]; u < turned.first_uses[o + 1]; u++) {
            bool found = false;
            for (uint32_t k = runs.first_uses[o]; k < runs.first_uses[o + 1]; k++)
                found = found || runs.uses[k] == (turned.uses[u] + by) % n;
            cr_expect(found);
            cr_expect(u == turned.first_uses[o] || turned.uses[u] > turned.uses[u - 1]);
        }
    }
    cebus_runs_deinit(&turned);
}

Test(presence, what_is_spared_has_nobody_who_need_not)
{
    size_t early = 0;
    terms.spared = 3 * BYTES;
    find();
    for (uint32_t run = 0; run < runs.count; run++) {
        const uint64_t must = bytes_at(run, true), all = bytes_at(run, false);
        cr_expect(all == must || all <= terms.room - terms.spared, "run %u", run);
        early += all > must;
    }
    cr_expect_gt(early, 0, "elsewhere some come early");
    cebus_presences_deinit(&presences);
}
