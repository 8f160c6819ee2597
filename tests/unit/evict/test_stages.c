#include <criterion/criterion.h>

#include "evict/places/stages.h"
#include "tests/unit/evict/shifting.h"

enum {
    MOST = 160,
    ROUNDS = 60,
    REQUESTS_BESIDE = 20 /* of host memory, beside those of packings, at most */
};

static cebus_pack_block blocks[MOST];
static uint64_t offsets[MOST], presets[MOST];
static bool firm[2 * MOST];

TestSuite(stages, .init = setup, .fini = teardown);

/** One begins at each run; most are brief. The most bytes that live at once. */
static uint64_t make(uint32_t n)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lives = below(4) == 0 ? 1 + below(n) : 1 + below(6);
        uint64_t end = i + lives < n ? i + lives : n;
        blocks[i] = (cebus_pack_block){
            .lower = i, .upper = end, .bytes = 8 * (uint64_t)(1 + below(60)), .alignment = 8};
    }
    for (uint32_t run = 0; run < n; run++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < n; i++)
            bytes += blocks[i].lower <= run && run < blocks[i].upper ? blocks[i].bytes : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

static cebus_stages question(uint32_t n, uint64_t capacity)
{
    return (cebus_stages){.blocks = blocks,
                          .n = n,
                          .capacity = capacity,
                          .runs = n,
                          .firm = firm,
                          .moves = {.rate = 1000000000, .ns = 100},
                          .offsets = offsets,
                          .shifts = &shifts};
}

static bool is_apart(uint32_t i, uint64_t offset, uint32_t j)
{
    return offsets[j] + blocks[j].bytes <= offset || offset + blocks[i].bytes <= offsets[j];
}

/** Runs it: what lives lies apart, and what moves goes where nothing else is. */
static void expect_apart(uint32_t n, uint64_t capacity)
{
    size_t next = 0;
    for (uint32_t run = 0; run < n; run++) {
        for (; next < shifts.count && shifts.items[next].run == run; next++) {
            uint32_t who = shifts.items[next].name;
            cr_expect(blocks[who].lower < run && run < blocks[who].upper && !firm[run]);
            for (uint32_t j = 0; j < n; j++) {
                bool there = j != who && blocks[j].lower < run && run < blocks[j].upper;
                cr_expect(!there || is_apart(who, shifts.items[next].offset, j));
            }
            offsets[who] = shifts.items[next].offset;
        }
        for (uint32_t i = 0; i < n; i++) {
            bool here = blocks[i].lower <= run && run < blocks[i].upper;
            cr_expect(!here || offsets[i] + blocks[i].bytes <= capacity);
            for (uint32_t j = 0; here && j < i; j++)
                cr_expect(run >= blocks[j].upper || is_apart(i, offsets[i], j));
        }
    }
    cr_expect_eq(next, shifts.count);
}

/** In the least memory there can be, where few find places without moving. */
Test(stages, keep_apart_what_is_there_together)
{
    uint32_t found = 0, moved = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool is_found;
        state = round;
        uint64_t capacity = make(MOST) * (100 + round % 4) / 100 / 8 * 8;
        for (uint32_t run = 0; run < MOST; run++)
            firm[run] = round % 2 == 1 && below(3) == 0;
        cebus_stages stages = question(MOST, capacity);
        shifts.count = 0;
        cr_assert(cebus_stages_make(&stages, &is_found));
        found += is_found;
        moved += shifts.count > 0;
        if (is_found)
            expect_apart(MOST, capacity);
    }
    cr_expect_gt(found, ROUNDS * 3 / 4, "%u", found);
    cr_expect_gt(moved, ROUNDS / 6, "%u", moved);
}

/** Requests of host memory for a packing. */
static uint64_t requests_of(const cebus_pack_options *options, cebus_pack_result *result)
{
    const uint64_t before = host.requests;
    cr_assert_eq(cebus_pack(blocks, MOST, options, offsets, result), CEBUS_OK);
    return host.requests - before;
}

/** Where there is no cut, all is one stage if one packing will do; no shorter one is looked for. */
Test(stages, are_one_where_nothing_can_move)
{
    uint32_t found = 0;
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    options.host = &host.allocator;
    memset(firm, true, sizeof firm);
    for (uint32_t round = 0; round < 4 * ROUNDS; round++) {
        bool is_found;
        cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
        state = round;
        options.capacity = make(MOST) * (102 + round % 6) / 100 / 8 * 8;
        const uint64_t one = requests_of(&options, &result), before = host.requests;
        cebus_stages stages = question(MOST, options.capacity);
        shifts.count = 0;
        cr_assert(cebus_stages_make(&stages, &is_found));
        cr_expect(is_found || result.verdict != CEBUS_PACK_SOLVED, "%u", round);
        cr_expect_eq(shifts.count, 0);
        cr_expect(is_found || host.requests - before <= 4 * one + REQUESTS_BESIDE);
        found += is_found;
        if (is_found)
            expect_apart(MOST, options.capacity);
    }
    cr_expect(found > ROUNDS && found < 4 * ROUNDS, "%u", found);
}

/** Bytes that move, and all that are there wherever any do. */
static void add_moved(uint32_t n, uint64_t *moved, uint64_t *there)
{
    for (size_t k = 0; k < shifts.count; k++) {
        const uint32_t run = shifts.items[k].run;
        *moved += shifts.items[k].bytes;
        for (uint32_t i = 0; i < n && (k == 0 || shifts.items[k - 1].run < run); i++)
            *there += blocks[i].lower < run && run < blocks[i].upper ? blocks[i].bytes : 0;
    }
}

/** Of large values, so that each move counts. */
Test(stages, leave_where_it_is_what_need_not_move)
{
    uint64_t moved = 0, there = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool is_found;
        state = round;
        uint64_t capacity = make(MOST);
        cebus_stages stages = question(MOST, capacity);
        stages.moves.ns = 1;
        shifts.count = 0;
        cr_assert(cebus_stages_make(&stages, &is_found));
        if (is_found)
            add_moved(MOST, &moved, &there);
    }
    cr_expect_gt(there, 0);
    cr_expect_lt(moved, there, "%lu of %lu", moved, there);
}

/** In the middle lies what never goes. */
Test(stages, move_around_what_stays_where_it_is)
{
    uint32_t found = 0, moved = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool is_found;
        state = round;
        uint64_t capacity = make(MOST - 1) + 512, fixed = capacity / 24 * 8;
        blocks[MOST - 1] = (cebus_pack_block){.upper = MOST, .bytes = 512, .alignment = 1};
        for (uint32_t i = 0; i < MOST; i++)
            presets[i] = i + 1 < MOST ? CEBUS_PACK_ANYWHERE : fixed;
        cebus_stages stages = question(MOST, capacity + capacity / 40);
        stages.runs = MOST - 1;
        stages.n_presets = 1;
        stages.presets = presets;
        shifts.count = 0;
        cr_assert(cebus_stages_make(&stages, &is_found));
        found += is_found;
        moved += shifts.count > 0;
        offsets[MOST - 1] = fixed;
        if (is_found)
            expect_apart(MOST, stages.capacity);
    }
    cr_expect_gt(found, ROUNDS * 2 / 3, "%u", found);
    cr_expect_gt(moved, ROUNDS / 3, "%u", moved);
}

Test(stages, are_none_where_more_lives_than_there_is_room_for)
{
    bool found;
    state = 5;
    cebus_stages stages = question(MOST, make(MOST) - 8);
    cr_assert(cebus_stages_make(&stages, &found));
    cr_expect_not(found);
}

/** Two that stay leave 24 below, 16 between and 24 above them. */
Test(stages, go_round_what_stays_where_it_is)
{
    bool found;
    uint64_t capacity = 80;
    const cebus_pack_block all[] = {
        {.lower = 0, .upper = 3, .bytes = 24, .alignment = 8},
        {.lower = 0, .upper = 2, .bytes = 16, .alignment = 8},
        {.lower = 1, .upper = 4, .bytes = 24, .alignment = 8},
        {.lower = 0, .upper = 5, .bytes = 8, .alignment = 1},
        {.lower = 0, .upper = 5, .bytes = 8, .alignment = 1},
    };
    for (size_t i = 0; i < 5; i++)
        presets[i] = i < 3 ? CEBUS_PACK_ANYWHERE : i == 3 ? 24 : 48;
    memcpy(blocks, all, sizeof all);
    cebus_stages stages = question(5, capacity);
    stages.runs = 4;
    stages.n_presets = 2;
    stages.presets = presets;
    cr_assert(cebus_stages_make(&stages, &found));
    cr_assert(found);
    for (size_t i = 0; i < 3; i++)
        cr_expect(offsets[i] + blocks[i].bytes <= 24 ||
                  (offsets[i] >= 32 && offsets[i] + blocks[i].bytes <= 48) || offsets[i] >= 56);
}

Test(stages, without_host_memory_say_so)
{
    bool failed = true;
    state = 8;
    uint64_t capacity = make(40);
    for (uint64_t n = 1; failed; n++) {
        bool found;
        cebus_stages stages = question(40, capacity);
        cebus_shifts_deinit(&shifts);
        host.fail_at = n;
        bool ok = cebus_stages_make(&stages, &found);
        failed = host.fail_at == 0;
        host.fail_at = 0;
        cr_expect_eq(ok, !failed);
        cr_expect(ok || !found);
    }
}
