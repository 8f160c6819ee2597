#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "eager/device/sim/clock.h"
#include "eager/device/sim/duration.h"
#include "eager/device/sim/link.h"
#include "eager/host.h"
#include "layout/number.h"
#include "tests/unit/layout/random.h"

TestSuite(sim_clock);

#define GIGA UINT64_C(1000000000) /* bytes/s: a byte a ns */

static cebus_sim_clock clock_of(uint64_t issue_ns, uint64_t depth)
{
    cebus_sim_clock clock;
    cebus_host_allocator host = cebus_host_default();
    cr_assert(cebus_sim_clock_init(&clock, issue_ns, depth, &host));
    return clock;
}

static void close_clock(cebus_sim_clock *clock)
{
    cebus_host_allocator host = cebus_host_default();
    cebus_sim_clock_deinit(clock, &host);
}

/** Work of `ns`; answers when it ends. */
static uint64_t work(cebus_sim_clock *clock, cebus_stream stream, uint64_t ns)
{
    uint64_t end = cebus_ns_add(cebus_sim_clock_begin(clock, stream), ns);
    cebus_sim_clock_end(clock, stream, end);
    return end;
}

Test(sim_clock, starts_when_asked_and_in_order)
{
    cebus_sim_clock clock = clock_of(10, 8);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 100), 110);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 5), 115);
    cr_expect_eq(clock.host, 20, "the host does not wait for launches");
    cr_expect_eq(cebus_sim_clock_done(&clock, CEBUS_STREAM_COMPUTE), 115);
    cebus_sim_clock_await(&clock, CEBUS_STREAM_COMPUTE, 2);
    cr_expect_eq(clock.host, 115);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 1), 126, "a host that is late delays work");
    cr_expect_eq(clock.stall, 0, "nothing waited for a copy");
    close_clock(&clock);
}

Test(sim_clock, streams_overlap)
{
    cebus_sim_clock clock = clock_of(10, 8);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 1000), 1010);
    cr_expect_eq(work(&clock, CEBUS_STREAM_OUT, 500), 520);
    cr_expect_eq(work(&clock, CEBUS_STREAM_IN, 700), 730);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 10), 1020, "as if there were no copies");
    cr_expect_eq(clock.stall, 0);
    cebus_sim_clock_synchronize(&clock);
    cr_expect_eq(clock.host, 1020);
    close_clock(&clock);
}

Test(sim_clock, the_queue_holds_the_host_back)
{
    cebus_sim_clock clock = clock_of(10, 2);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 100), 110);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 100), 210);
    cr_expect_eq(clock.host, 20);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 100), 310);
    cr_expect_eq(clock.host, 120, "the first had to end before there was room for the third");
    close_clock(&clock);
}

Test(sim_clock, waiting_for_a_copy_is_a_stall)
{
    cebus_sim_clock clock = clock_of(10, 8);
    work(&clock, CEBUS_STREAM_COMPUTE, 100);               /* ends at 110 */
    cr_expect_eq(work(&clock, CEBUS_STREAM_IN, 480), 500); /* asked for at 20 */
    cebus_sim_clock_wait(&clock, CEBUS_STREAM_COMPUTE, CEBUS_STREAM_IN, 1);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 7), 507);
    cr_expect_eq(clock.stall, 500 - 110);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 3), 510, "the wait is over");
    cr_expect_eq(clock.stall, 500 - 110);
    close_clock(&clock);
}

Test(sim_clock, a_host_that_waits_for_a_copy_stalls_compute_too)
{
    cebus_sim_clock clock = clock_of(10, 8);
    work(&clock, CEBUS_STREAM_COMPUTE, 100); /* ends at 110 */
    work(&clock, CEBUS_STREAM_OUT, 480);     /* 20 to 500 */
    cebus_sim_clock_await(&clock, CEBUS_STREAM_OUT, 1);
    cr_expect_eq(clock.host, 500);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 7), 517);
    cr_expect_eq(clock.stall, 510 - 110);
    work(&clock, CEBUS_STREAM_COMPUTE, 1000);
    work(&clock, CEBUS_STREAM_OUT, 10);
    cebus_sim_clock_await(&clock, CEBUS_STREAM_OUT, 2);
    work(&clock, CEBUS_STREAM_COMPUTE, 1);
    cr_expect_eq(clock.stall, 510 - 110, "compute was busy all the while");
    close_clock(&clock);
}

Test(sim_clock, waiting_for_compute_is_no_stall)
{
    cebus_sim_clock clock = clock_of(10, 8);
    work(&clock, CEBUS_STREAM_COMPUTE, 1000); /* ends at 1010 */
    cebus_sim_clock_wait(&clock, CEBUS_STREAM_OUT, CEBUS_STREAM_COMPUTE, 1);
    cr_expect_eq(work(&clock, CEBUS_STREAM_OUT, 50), 1060);
    cebus_sim_clock_synchronize(&clock);
    cr_expect_eq(work(&clock, CEBUS_STREAM_COMPUTE, 1), 1071);
    cr_expect_eq(clock.stall, 0, "the program asked for the pause");
    close_clock(&clock);
}

Test(sim_clock, marks_are_reached_in_virtual_time)
{
    cebus_sim_clock clock = clock_of(10, 4);
    cr_expect_eq(cebus_sim_clock_reached_at(&clock, CEBUS_STREAM_COMPUTE, 0), 0);
    cr_expect_eq(cebus_sim_clock_reached_at(&clock, CEBUS_STREAM_COMPUTE, 9), 0, "no work yet");
    for (uint64_t i = 1; i <= 20; i++) {
        uint64_t end = work(&clock, CEBUS_STREAM_COMPUTE, 100);
        cr_expect_eq(cebus_sim_clock_reached_at(&clock, CEBUS_STREAM_COMPUTE, i), end);
        cr_expect_gt(end, clock.host);
        cr_expect_eq(cebus_sim_clock_reached_at(&clock, CEBUS_STREAM_COMPUTE, i + 5), end,
                     "a mark to come is taken for the last one");
        if (i > 4)
            cr_expect_leq(cebus_sim_clock_reached_at(&clock, CEBUS_STREAM_COMPUTE, i - 4),
                          clock.host);
    }
    close_clock(&clock);
}

/** The rules of clock.h word by word, with every end of every piece kept. */
typedef struct plain_clock {
    uint64_t host, issue, depth;
    uint64_t count[CEBUS_STREAM_COUNT], wait[CEBUS_STREAM_COUNT];
    uint64_t ends[CEBUS_STREAM_COUNT][4096];
} plain_clock;

static uint64_t plain_end(const plain_clock *p, cebus_stream stream, uint64_t mark)
{
    uint64_t n = mark < p->count[stream] ? mark : p->count[stream];
    return n > 0 ? p->ends[stream][n - 1] : 0;
}

static uint64_t plain_work(plain_clock *p, cebus_stream stream, uint64_t ns)
{
    uint64_t n = p->count[stream];
    if (n >= p->depth)
        p->host = cebus_max_u64(p->host, p->ends[stream][n - p->depth]);
    p->host += p->issue;
    uint64_t start =
        cebus_max_u64(cebus_max_u64(p->host, p->wait[stream]), plain_end(p, stream, n));
    p->ends[stream][n] = start + ns;
    p->count[stream]++;
    return start + ns;
}

Test(sim_clock, forgets_nothing_that_matters)
{
    static plain_clock p;
    uint64_t random = 7;
    for (int run = 0; run < 40; run++) {
        cebus_sim_clock clock = clock_of(random_below(&random, 20), 1 + random_below(&random, 9));
        memset(&p, 0, sizeof p);
        p.issue = clock.issue_ns;
        p.depth = clock.depth;
        for (int i = 0; i < 1500; i++) {
            cebus_stream stream = (cebus_stream)random_below(&random, CEBUS_STREAM_COUNT);
            cebus_stream on = (cebus_stream)random_below(&random, CEBUS_STREAM_COUNT);
            uint64_t mark = random_below(&random, p.count[on] + 2);
            uint64_t ns = random_below(&random, 60), what = random_below(&random, 8);
            if (what == 0) {
                cebus_sim_clock_await(&clock, on, mark);
                p.host = cebus_max_u64(p.host, plain_end(&p, on, mark));
            } else if (what <= 2) {
                cebus_sim_clock_wait(&clock, stream, on, mark);
                p.wait[stream] = cebus_max_u64(p.wait[stream], plain_end(&p, on, mark));
            } else {
                cr_assert_eq(work(&clock, stream, ns), plain_work(&p, stream, ns));
            }
            cr_assert_eq(clock.host, p.host);
            cr_assert_eq(cebus_sim_clock_reached_at(&clock, on, mark) <= clock.host,
                         plain_end(&p, on, mark) <= p.host);
        }
        close_clock(&clock);
    }
}

Test(sim_clock, times_stop_at_the_end_of_time)
{
    cebus_sim_clock clock = clock_of(10, 8);
    for (int i = 0; i < 6; i++)
        cr_expect_leq(work(&clock, CEBUS_STREAM_COMPUTE, CEBUS_NS_MAX / 2), CEBUS_NS_MAX);
    cebus_sim_clock_synchronize(&clock);
    cr_expect_eq(clock.host, CEBUS_NS_MAX);
    cr_expect_eq(work(&clock, CEBUS_STREAM_IN, 1), CEBUS_NS_MAX);
    close_clock(&clock);
}

/* --- link ---------------------------------------------------------------------------------- */

static cebus_link_step steps[4096];

static cebus_link link_of(uint64_t rate, uint64_t both)
{
    return (cebus_link){.rate = {rate, rate}, .both = both, .steps = steps, .capacity = 4096};
}

Test(sim_clock, a_copy_alone_has_the_rate_of_its_direction)
{
    cebus_link link = link_of(12 * GIGA, 20 * GIGA);
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_OUT, 0, 100, 12000), 1100);
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_OUT, 0, 1100, 1), 1101, "a part counts in full");
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_OUT, 0, 5000, 0), 5000);
}

Test(sim_clock, both_directions_share_what_the_link_can)
{
    cebus_link link = link_of(12 * GIGA, 20 * GIGA);
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_OUT, 0, 0, 12000), 1000);
    /* 8 a ns are left until 1000, then 12: 8000 bytes, then 4000 in 333.3 ns. */
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_IN, 0, 0, 12000), 1334);
    /* Nothing is left for its direction until 1000; then 8 a ns until 1334; then 12. */
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_OUT, 0, 500, 334 * 8 + 1200), 1434);
    cebus_link wide = link_of(12 * GIGA, 24 * GIGA);
    cr_expect_eq(cebus_link_book(&wide, CEBUS_LINK_OUT, 0, 0, 12000), 1000);
    cr_expect_eq(cebus_link_book(&wide, CEBUS_LINK_IN, 0, 0, 12000), 1000, "each its own lane");
}

Test(sim_clock, a_gap_before_a_booked_copy_is_used)
{
    cebus_link link = link_of(10 * GIGA, 10 * GIGA);
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_OUT, 0, 1000, 5000), 1500);
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_IN, 0, 0, 5000), 500, "before it");
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_IN, 0, 900, 2000), 1600, "around it");
}

Test(sim_clock, without_a_link_copies_take_no_time)
{
    cebus_link link = link_of(0, 0);
    cr_expect_eq(cebus_link_book(&link, CEBUS_LINK_IN, 0, 42, UINT64_MAX), 42);
    cr_expect_eq(link.count, 0);
}

/** What is in use at `at`. */
static cebus_link_step use_at(const cebus_link *link, uint64_t at)
{
    cebus_link_step found = {0};
    for (size_t i = 0; i < link->count && link->steps[i].at <= at; i++)
        found = link->steps[i];
    return found;
}

/** Bytes a direction moves from `from` to `to`. */
static uint64_t moved(const cebus_link *link, int direction, uint64_t from, uint64_t to)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < link->count; i++) {
        uint64_t start = cebus_max_u64(link->steps[i].at, from);
        uint64_t end = i + 1 < link->count ? link->steps[i + 1].at : to;
        end = end < to ? end : to;
        if (start < end)
            bytes += cebus_amount_in(end - start, link->steps[i].used[direction]);
    }
    return bytes;
}

Test(sim_clock, no_copies_together_exceed_the_link)
{
    uint64_t random = 11;
    for (int run = 0; run < 60; run++) {
        uint64_t rate = GIGA * (1 + random_below(&random, 30)), now = 0;
        uint64_t both = rate + random_below(&random, rate + 1);
        cebus_link link = link_of(rate, both);
        for (int i = 0; i < 200; i++) {
            int direction = (int)random_below(&random, 2);
            uint64_t bytes = 1 + random_below(&random, 1 << 20);
            uint64_t start = now + random_below(&random, 100000), window = UINT64_C(1) << 40;
            uint64_t before = moved(&link, direction, start, start + window);
            uint64_t end =
                cebus_link_book(&link, (cebus_link_direction)direction, now, start, bytes);
            cr_assert_geq(end, start + cebus_ns_of(bytes, rate), "not faster than its lane");
            uint64_t after = moved(&link, direction, start, start + window);
            cr_assert_geq(after - before + link.count, bytes, "all of it moves");
            cr_assert_leq(after - before, bytes + rate / GIGA + link.count, "and nothing else");
            for (size_t s = 0; s < link.count; s++) {
                const uint64_t *used = link.steps[s].used;
                cr_assert(used[0] <= rate && used[1] <= rate && used[0] + used[1] <= both);
                cr_assert(s == 0 || link.steps[s - 1].at < link.steps[s].at);
            }
            cebus_link_step last = use_at(&link, UINT64_MAX);
            cr_assert_eq(last.used[0] + last.used[1], 0, "it ends");
            now += random_below(&random, 60000);
        }
    }
}
