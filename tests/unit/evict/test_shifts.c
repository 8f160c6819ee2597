#include <criterion/criterion.h>

#include "tests/unit/evict/shifting.h"

enum {
    MOST = 24,
    ROUNDS = 400
};

TestSuite(shifts, .init = setup, .fini = teardown);

/** Some, in another order then, with up to so many bytes between them now and then. */
static uint64_t scatter(cebus_lodger *lodgers, uint32_t n, uint32_t gap)
{
    uint32_t order[MOST];
    uint64_t now = 0, then = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = below(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (uint32_t i = 0; i < n; i++) {
        lodgers[i] = (cebus_lodger){.bytes = 1 + below(20), .now = now + below(gap + 1), .name = i};
        now = lodgers[i].now + lodgers[i].bytes;
    }
    for (uint32_t i = 0; i < n; i++) {
        lodgers[order[i]].then = then + below(gap + 1);
        then = lodgers[order[i]].then + lodgers[order[i]].bytes;
    }
    return now > then ? now : then;
}

/** Does what the shifts say, looking at each pair. */
static void expect_done(cebus_lodger *lodgers, uint32_t n, uint64_t capacity)
{
    for (size_t s = 0; s < shifts.count; s++) {
        const cebus_shift *shift = &shifts.items[s];
        cebus_lodger *who = &lodgers[shift->name];
        cr_expect_eq(shift->run, 7);
        cr_expect_eq(shift->bytes, who->bytes);
        cr_expect_leq(shift->offset + who->bytes, capacity);
        for (uint32_t i = 0; i < n; i++)
            cr_expect(i == shift->name || lodgers[i].now + lodgers[i].bytes <= shift->offset ||
                      shift->offset + who->bytes <= lodgers[i].now);
        who->now = shift->offset;
    }
    for (uint32_t i = 0; i < n; i++)
        cr_expect_eq(lodgers[i].now, lodgers[i].then);
}

/** In twice the room nobody stands in the way for good, in little more than all need most find a
 * way. */
Test(shifts, lead_from_any_order_to_any_other)
{
    size_t most = 0, tight = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        cebus_lodger lodgers[MOST], copies[MOST];
        bool found;
        state = round;
        uint32_t n = 1 + below(MOST);
        uint64_t capacity = scatter(lodgers, n, round % 4);
        capacity += round % 2 == 0 ? capacity + 20 : 20;
        memcpy(copies, lodgers, sizeof copies);
        shifts.count = 0;
        cr_assert(cebus_shifts_add(&shifts, lodgers, n, 7, capacity, &found));
        cr_expect(found || round % 2 == 1, "round %u", round);
        tight += found && round % 2 == 1;
        if (found)
            expect_done(copies, n, capacity);
        most = shifts.count > most ? shifts.count : most;
    }
    cr_expect_leq(most, 3 * MOST);
    cr_expect_gt(tight, ROUNDS / 4, "%zu", tight);
}

Test(shifts, need_room_to_change_places)
{
    for (uint64_t capacity = 8; capacity <= 12; capacity += 4) {
        cebus_lodger lodgers[] = {{.bytes = 4, .now = 0, .then = 4, .name = 0},
                                  {.bytes = 4, .now = 4, .then = 0, .name = 1}};
        bool found;
        shifts.count = 0;
        cr_assert(cebus_shifts_add(&shifts, lodgers, 2, 7, capacity, &found));
        cr_expect_eq(found, capacity == 12);
    }
    cr_expect_eq(shifts.count, 3, "one steps aside");
}

Test(shifts, slide_over_bytes_of_their_own)
{
    cebus_lodger lodgers[] = {{.bytes = 10, .now = 2, .then = 0, .name = 0},
                              {.bytes = 4, .now = 12, .then = 14, .name = 1}};
    bool found;
    cr_assert(cebus_shifts_add(&shifts, lodgers, 2, 7, 18, &found));
    cr_expect(found);
    cr_expect_eq(shifts.count, 2);
}

Test(shifts, take_as_long_as_their_bytes_and_each)
{
    cebus_shift items[] = {{.bytes = 1000}, {.bytes = 500}};
    cebus_shifts two = {.items = items, .count = 2};
    cr_expect_eq(cebus_shifts_ns(&two, &(cebus_move_terms){.rate = 500000000, .ns = 10}), 3020);
    cr_expect_eq(cebus_shifts_ns(&two, &(cebus_move_terms){0}), 0);
}

Test(shifts, without_host_memory_say_so)
{
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        cebus_lodger lodgers[MOST];
        bool found;
        state = 3;
        uint64_t capacity = scatter(lodgers, MOST, 2) + 20;
        cebus_shifts_deinit(&shifts);
        host.fail_at = n;
        bool ok = cebus_shifts_add(&shifts, lodgers, MOST, 7, capacity, &found);
        failed = host.fail_at == 0;
        host.fail_at = 0;
        cr_expect_eq(ok, !failed);
    }
}
