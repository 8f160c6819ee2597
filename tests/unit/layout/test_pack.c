#include "pack_model.h"
#include "random.h"
#include "tests/support/host.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(pack);

/** Packs a model; whatever is said to be solved must be. */
static cebus_pack_result run(pack_model *model, cebus_pack_options *options)
{
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    options->presets = model->has_presets ? model->presets : NULL;
    cr_assert_eq(cebus_pack(model->blocks, model->n, options, model->offsets, &result), CEBUS_OK);
    cr_assert_eq(result.max_load, pack_model_load(model));
    cr_assert_geq(result.bound, result.max_load);
    if (result.verdict != CEBUS_PACK_SOLVED)
        return result;
    uint64_t height;
    const char *fault = pack_model_check(model, model->offsets, &height);
    cr_assert_null(fault, "%s", fault);
    cr_assert_eq(height, result.height);
    cr_assert_geq(height, result.bound);
    cr_assert(options->capacity == 0 || height <= options->capacity);
    return result;
}

static cebus_pack_result minimise(pack_model *model)
{
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = run(model, &options);
    cr_assert_eq(result.verdict, CEBUS_PACK_SOLVED);
    return result;
}

/* Answers. */

Test(pack, nothing_fits_anywhere)
{
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cr_assert_eq(cebus_pack(NULL, 0, NULL, NULL, &result), CEBUS_OK);
    cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED);
    cr_expect_eq(result.height, 0);
    cr_expect_eq(result.bound, 0);
}

Test(pack, blocks_that_live_together_are_stacked)
{
    pack_model *model = pack_model_create(3);
    pack_model_add(model, 0, 10, 5, 0);
    pack_model_add(model, 5, 15, 7, 0);
    pack_model_add(model, 10, 20, 5, 0);
    cebus_pack_result result = minimise(model);
    cr_expect_eq(result.height, 12);
    cr_expect_eq(result.bound, 12);
    cr_expect_eq(model->offsets[0], model->offsets[2]);
    pack_model_destroy(model);
}

static bool any_overlap(const pack_model *model)
{
    for (size_t i = 0; i < model->n; i++) {
        const cebus_pack_block *a = &model->blocks[i];
        for (size_t j = 0; j < i; j++) {
            const cebus_pack_block *b = &model->blocks[j];
            if (a->bytes > 0 && b->bytes > 0 && a->lower < b->upper && b->lower < a->upper &&
                model->offsets[i] < model->offsets[j] + b->bytes &&
                model->offsets[j] < model->offsets[i] + a->bytes)
                return true;
        }
    }
    return false;
}

/** What all these tests go by, held against all pairs. */
Test(pack, the_check_finds_what_overlaps)
{
    pack_model *model = pack_model_create(12);
    int overlaps = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        uint64_t draw = seed, height, highest = 0;
        pack_model_fill_tiny(model, 12, false, false, &draw);
        model->blocks[0].bytes *= random_below(&draw, 2);
        for (size_t i = 0; i < model->n; i++) {
            model->offsets[i] = random_below(&draw, 60);
            uint64_t top = model->offsets[i] + model->blocks[i].bytes;
            if (model->blocks[i].bytes > 0 && top > highest)
                highest = top;
        }
        bool wrong = any_overlap(model);
        cr_assert_eq(pack_model_check(model, model->offsets, &height) != NULL, wrong);
        cr_assert(wrong || height == highest);
        overlaps += wrong;
    }
    cr_expect(overlaps > 500 && overlaps < 2500, "%d", overlaps);
    pack_model_destroy(model);
}

Test(pack, blocks_of_no_bytes_take_no_room)
{
    pack_model *model = pack_model_create(3);
    pack_model_add(model, 0, 10, 8, 0);
    pack_model_add(model, 0, 10, 0, 4096);
    pack_model_add_at(model, 0, 10, 0, 4, 4);
    cebus_pack_result result = minimise(model);
    cr_expect_eq(result.height, 8);
    cr_expect_eq(model->offsets[2], 4);
    pack_model_destroy(model);
}

/** Not even at an offset that they must have. */
Test(pack, blocks_of_no_bytes_hold_nothing_up)
{
    pack_model *model = pack_model_create(2);
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    pack_model_add(model, 0, 10, 5, 0);
    pack_model_add(model, 0, 10, 0, 0);
    model->has_presets = true;
    model->presets[0] = CEBUS_PACK_ANYWHERE;
    model->presets[1] = 90;
    cebus_pack_result result = minimise(model);
    cr_expect(result.height == 5 && result.bound == 5);
    options.capacity = 60;
    result = run(model, &options);
    cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED);
    cr_expect_eq(model->offsets[1], 90);
    pack_model_destroy(model);
}

Test(pack, one_section_is_a_stack)
{
    pack_model *model = pack_model_create(1000);
    uint64_t seed = 3, sum = 0;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t bytes = 1 + random_below(&seed, 1000);
        pack_model_add(model, random_below(&seed, 50), 100 + random_below(&seed, 50), bytes, 0);
        sum += bytes;
    }
    cr_expect_eq(minimise(model).height, sum);
    pack_model_destroy(model);
}

/** Where only what fits counts, the same is found, or nothing. */
static void expect_same_if_it_fits(pack_model *model, uint64_t capacity, uint64_t rounds,
                                   uint64_t *plain)
{
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    options.capacity = capacity;
    options.rounds = rounds;
    cebus_pack_result wanted = run(model, &options);
    memcpy(plain, model->offsets, model->n * sizeof *plain);
    options.fits_only = true;
    cebus_pack_result result = run(model, &options);
    cr_expect_eq(result.verdict, wanted.verdict);
    if (wanted.verdict == CEBUS_PACK_SOLVED)
        cr_expect_arr_eq(model->offsets, plain, model->n * sizeof *plain);
    else
        cr_expect_eq(result.height, 0);
}

Test(pack, what_fits_is_found_without_what_does_not)
{
    static uint64_t plain[600];
    pack_model *model = pack_model_create(600);
    uint64_t seed = 11;
    for (int round = 0; round < 60; round++) {
        if (round % 3 == 0)
            pack_model_fill_random(model, 50 + random_below(&seed, 550), &seed);
        else if (round % 3 == 1)
            pack_model_fill_tiny(model, 30, true, round % 2 == 0, &seed);
        else
            pack_model_fill_cut(model, 100 + random_below(&seed, 400), 1000, 4096, 8, &seed);
        const uint64_t load = pack_model_load(model);
        for (uint64_t part = 0; part <= 12; part += 3)
            expect_same_if_it_fits(model, load + load * part / 100 + 1, part, plain);
    }
    pack_model_destroy(model);
}

Test(pack, numbers_at_the_edge)
{
    pack_model *model = pack_model_create(2);
    pack_model_add(model, 0, UINT64_MAX, CEBUS_PACK_MAX_BYTES / 2 - 4, 2);
    pack_model_add(model, UINT64_MAX - 1, UINT64_MAX, CEBUS_PACK_MAX_BYTES / 2, 2);
    cr_expect_eq(minimise(model).height, CEBUS_PACK_MAX_BYTES - 4);
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    options.capacity = UINT64_MAX;
    cr_expect_eq(run(model, &options).verdict, CEBUS_PACK_SOLVED);
    pack_model_destroy(model);
}

Test(pack, random_blocks_are_packed_well)
{
    pack_model *model = pack_model_create(5000);
    uint64_t seed = 5;
    for (int round = 0; round < 20; round++) {
        pack_model_fill_training(model, 100 + random_below(&seed, 4000), &seed);
        cebus_pack_result result = minimise(model);
        cr_expect_leq(result.height, result.max_load + result.max_load / 50);
        pack_model_fill_random(model, 100 + random_below(&seed, 4000), &seed);
        result = minimise(model);
        cr_expect_leq(result.height, result.max_load + result.max_load / 10);
    }
    pack_model_destroy(model);
}

Test(pack, mixed_alignments_and_presets_are_kept)
{
    pack_model *model = pack_model_create(400);
    uint64_t seed = 7;
    for (int round = 0; round < 300; round++) {
        bool presets = round % 2 == 1;
        pack_model_clear(model);
        for (uint64_t i = 0; i < 400; i++) {
            uint64_t lower = random_below(&seed, 1000), at = CEBUS_PACK_ANYWHERE;
            uint64_t life = 1 + random_below(&seed, 60);
            uint64_t align = UINT64_C(1) << random_below(&seed, 9);
            if (presets && i % 5 == 0) {
                /* each in a lane and a time of its own */
                lower = i * 20;
                at = random_below(&seed, 16) * 1024;
                life = 1 + random_below(&seed, 100);
            }
            pack_model_add_at(model, lower, lower + life, 1 + random_below(&seed, 1000), align, at);
        }
        (void)minimise(model);
    }
    pack_model_destroy(model);
}

Test(pack, rounds_lower_what_orders_leave_high)
{
    pack_model *model = pack_model_create(600);
    uint64_t seed = 11, before = 0, after = 0;
    for (int i = 0; i < 30; i++) {
        cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
        if (i % 3 == 0)
            pack_model_fill_tiny(model, 60, true, true, &seed);
        else
            pack_model_fill_cut(model, 50 + random_below(&seed, 500), 4000, 1 << 20, 16, &seed);
        uint64_t without = run(model, &options).height;
        options.rounds = 40;
        uint64_t with = run(model, &options).height;
        cr_expect_leq(with, without);
        cr_expect_eq(run(model, &options).height, with, "the same again");
        before += without;
        after += with;
    }
    cr_expect_lt(after, before);
    pack_model_destroy(model);
}

Test(pack, same_input_same_offsets)
{
    pack_model *model = pack_model_create(3000);
    static uint64_t first[3000];
    uint64_t seed = 9;
    pack_model_fill_random(model, 3000, &seed);
    (void)minimise(model);
    memcpy(first, model->offsets, sizeof first);
    (void)minimise(model);
    cr_expect_arr_eq(first, model->offsets, sizeof first);
    pack_model_destroy(model);
}

/* Proofs that need no search. */

Test(pack, what_is_too_large_is_proved)
{
    pack_model *model = pack_model_create(4);
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    pack_model_add(model, 0, 10, 60, 0);
    pack_model_add(model, 10, 20, 80, 0);
    pack_model_add(model, 15, 25, 30, 0);
    options.capacity = 79;
    cebus_pack_result result = run(model, &options);
    cr_expect_eq(result.verdict, CEBUS_PACK_INFEASIBLE);
    cr_expect_eq(result.reason, CEBUS_PACK_BLOCK_ABOVE_CAPACITY);
    cr_expect_eq(result.first, 1);
    options.capacity = 109;
    result = run(model, &options);
    cr_expect_eq(result.verdict, CEBUS_PACK_INFEASIBLE);
    cr_expect_eq(result.reason, CEBUS_PACK_LOAD_ABOVE_CAPACITY);
    cr_expect_eq(result.first, 2);
    options.capacity = 110;
    cr_expect_eq(run(model, &options).verdict, CEBUS_PACK_SOLVED);
    pack_model_add_at(model, 100, 101, 10, 0, 101);
    result = run(model, &options);
    cr_expect_eq(result.verdict, CEBUS_PACK_INFEASIBLE);
    cr_expect_eq(result.reason, CEBUS_PACK_PRESET_ABOVE_CAPACITY);
    cr_expect_eq(result.first, 3);
    options.minimise = true;
    cr_expect_eq(run(model, &options).verdict, CEBUS_PACK_INFEASIBLE);
    options.capacity = 111;
    result = run(model, &options);
    cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED);
    cr_expect_eq(result.height, 111);
    cr_expect_eq(result.bound, 111);
    pack_model_destroy(model);
}

/* Refusals. */

static void refuse(const pack_model *model, cebus_pack_reason reason, size_t first, size_t second)
{
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    options.presets = model->presets;
    model->offsets[0] = 77;
    cr_expect_eq(cebus_pack(model->blocks, model->n, &options, model->offsets, &result),
                 CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(result.reason, reason);
    cr_expect_eq(result.first, first);
    cr_expect_eq(result.second, second);
    cr_expect_eq(model->offsets[0], 77);
}

Test(pack, what_makes_no_sense_is_refused)
{
    const struct {
        cebus_pack_block block;
        uint64_t preset;
        cebus_pack_reason reason;
    } cases[] = {
        {{5, 5, 1, 0}, CEBUS_PACK_ANYWHERE, CEBUS_PACK_EMPTY_LIFETIME},
        {{5, 4, 1, 0}, CEBUS_PACK_ANYWHERE, CEBUS_PACK_EMPTY_LIFETIME},
        {{5, 6, 1, 3}, CEBUS_PACK_ANYWHERE, CEBUS_PACK_WRONG_ALIGNMENT},
        {{5, 6, UINT64_MAX, 0}, CEBUS_PACK_ANYWHERE, CEBUS_PACK_TOO_LARGE},
        {{5, 6, CEBUS_PACK_MAX_BYTES, 0}, CEBUS_PACK_ANYWHERE, CEBUS_PACK_TOO_LARGE},
        {{5, 6, 1, UINT64_C(1) << 63}, CEBUS_PACK_ANYWHERE, CEBUS_PACK_TOO_LARGE},
        {{5, 6, 1, 0}, UINT64_MAX - 1, CEBUS_PACK_TOO_LARGE},
        {{5, 6, 1, 0}, CEBUS_PACK_MAX_BYTES, CEBUS_PACK_TOO_LARGE},
        {{5, 6, 1, 8}, 12, CEBUS_PACK_MISALIGNED_PRESET},
    };
    pack_model *model = pack_model_create(2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pack_model_clear(model);
        pack_model_add(model, 0, 10, 100, 0);
        model->blocks[1] = cases[i].block;
        model->presets[1] = cases[i].preset;
        model->n = 2;
        refuse(model, cases[i].reason, 1, 0);
    }
    pack_model_destroy(model);
}

/** Pairs are compared one by one. */
static bool presets_collide(const pack_model *model)
{
    for (size_t i = 0; i < model->n; i++) {
        for (size_t j = 0; j < i; j++) {
            const cebus_pack_block *a = &model->blocks[i], *b = &model->blocks[j];
            uint64_t x = model->presets[i], y = model->presets[j];
            if (a->lower < b->upper && b->lower < a->upper && x < y + b->bytes && y < x + a->bytes)
                return true;
        }
    }
    return false;
}

Test(pack, presets_that_collide_are_named)
{
    pack_model *model = pack_model_create(32);
    uint64_t seed = 13;
    int collisions = 0, clear = 0;
    for (int round = 0; round < 20000; round++) {
        cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
        cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
        pack_model_clear(model);
        uint64_t n = 2 + random_below(&seed, 30), spread = 1 + random_below(&seed, 200);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t lower = random_below(&seed, 40);
            pack_model_add_at(model, lower, lower + 1 + random_below(&seed, 12),
                              1 + random_below(&seed, 6), 0, random_below(&seed, spread));
        }
        options.presets = model->presets;
        cebus_status status = cebus_pack(model->blocks, n, &options, model->offsets, &result);
        bool expected = presets_collide(model);
        *(expected ? &collisions : &clear) += 1;
        cr_assert_eq(status, expected ? CEBUS_INVALID_ARGUMENT : CEBUS_OK);
        if (!expected)
            continue;
        cr_assert_eq(result.reason, CEBUS_PACK_COLLIDING_PRESETS);
        pack_model pair = {
            .blocks =
                (cebus_pack_block[2]){model->blocks[result.first], model->blocks[result.second]},
            .presets = (uint64_t[2]){model->presets[result.first], model->presets[result.second]},
            .n = 2};
        cr_assert_neq(result.first, result.second);
        cr_assert(presets_collide(&pair));
    }
    cr_expect_gt(collisions, 1000);
    cr_expect_gt(clear, 1000);
    pack_model_destroy(model);
}

Test(pack, arguments_are_checked)
{
    cebus_pack_block block = {0, 1, 1, 0};
    uint64_t offset;
    struct {
        cebus_pack_options known;
        uint64_t newer;
    } options = {.known = CEBUS_PACK_OPTIONS_INIT};
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cr_expect_eq(cebus_pack(NULL, 1, NULL, &offset, &result), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_pack(&block, 1, NULL, NULL, &result), CEBUS_INVALID_ARGUMENT);
    cr_expect_eq(cebus_pack(&block, 1, NULL, &offset, NULL), CEBUS_INVALID_ARGUMENT);
    options.known.struct_size = 3;
    cr_expect_eq(cebus_pack(&block, 1, &options.known, &offset, &result), CEBUS_INVALID_ARGUMENT);
    options.known.struct_size = sizeof options;
    cr_expect_eq(cebus_pack(&block, 1, &options.known, &offset, &result), CEBUS_OK);
    options.newer = 1;
    cr_expect_eq(cebus_pack(&block, 1, &options.known, &offset, &result), CEBUS_INVALID_ARGUMENT);
    result.struct_size = offsetof(cebus_pack_result, bound);
    result.bound = 99;
    cr_expect_eq(cebus_pack(&block, 1, NULL, &offset, &result), CEBUS_OK);
    cr_expect_eq(result.height, 1);
    cr_expect_eq(result.bound, 99, "an older caller's result ends before it");
    for (int reason = 0; reason <= CEBUS_PACK_SEARCHED; reason++)
        cr_expect_gt(strlen(cebus_pack_reason_text((cebus_pack_reason)reason)), 8);
}

/* Ends that come from outside. */

static bool never(void *context)
{
    (*(int *)context)++;
    return false;
}

Test(pack, a_hook_ends_it)
{
    pack_model *model = pack_model_create(100000);
    uint64_t seed = 15;
    int asked = 0;
    pack_model_fill_random(model, 100000, &seed);
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    options.go_on = never;
    options.context = &asked;
    cebus_pack_result result = run(model, &options);
    cr_expect_eq(result.verdict, CEBUS_PACK_UNDECIDED);
    cr_expect_eq(result.height, 0);
    cr_expect_eq(asked, 1);
    pack_model_destroy(model);
}

/** Blocks in parts of some fifty. */
static void fill_parts(pack_model *model, size_t n, uint64_t *seed)
{
    pack_model_clear(model);
    for (size_t i = 0; i < n; i++) {
        uint64_t lower = i / 50 * 1000 + random_below(seed, 900);
        pack_model_add(model, lower, lower + 1 + random_below(seed, 100),
                       1 + random_below(seed, 1000), 0);
    }
}

static const cebus_pack_options one_at_least = {
    .struct_size = sizeof one_at_least,
    .go_on = never,
    .max_steps = 1000000,
    .rounds = 100,
    .at_least_one = true,
};

Test(pack, one_packing_is_made_though_a_hook_ends_it)
{
    pack_model *model = pack_model_create(20000);
    cebus_pack_options options = one_at_least;
    uint64_t seed = 19;
    int asked = 0;
    options.context = &asked;
    pack_model_fill_random(model, 20000, &seed);
    cebus_pack_result result = run(model, &options);
    cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED);
    cr_assert_gt(result.height, result.bound, "more orders, rounds and the search would go on");
    cr_expect_eq(asked, 1);
    cr_expect_eq(result.steps, 0);
    options.capacity = result.height;
    cr_expect_eq(run(model, &options).verdict, CEBUS_PACK_SOLVED);
    options.capacity = result.height - 1;
    uint64_t height = result.height;
    result = run(model, &options);
    cr_expect_eq(result.verdict, CEBUS_PACK_UNDECIDED);
    cr_expect_eq(result.height, height, "what was found is answered");
    pack_model_destroy(model);
}

Test(pack, one_packing_is_made_of_every_part)
{
    pack_model *model = pack_model_create(20000);
    cebus_pack_options options = one_at_least;
    uint64_t seed = 20;
    int asked = 0;
    options.context = &asked;
    fill_parts(model, 20000, &seed);
    cr_expect_eq(run(model, &options).verdict, CEBUS_PACK_SOLVED);
    cr_expect_eq(asked, 1);
    pack_model_destroy(model);
}

Test(pack, every_allocation_can_fail)
{
    pack_model *model = pack_model_create(300);
    uint64_t seed = 17;
    pack_model_fill_random(model, 300, &seed);
    for (size_t i = 0; i < 300; i++)
        model->presets[i] = i == 0 ? 512 : CEBUS_PACK_ANYWHERE;
    cebus_status status = CEBUS_OUT_OF_HOST_MEMORY;
    for (uint64_t calls = 0; status != CEBUS_OK; calls++) {
        cebus_test_host host;
        cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
        cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
        cebus_test_host_init(&host);
        host.fail_at = calls + 1;
        host.lasting = true;
        options.host = &host.allocator;
        options.presets = model->presets;
        model->offsets[0] = 77;
        status = cebus_pack(model->blocks, model->n, &options, model->offsets, &result);
        cr_assert(status == CEBUS_OK || status == CEBUS_OUT_OF_HOST_MEMORY);
        cr_expect_eq(model->offsets[0], status == CEBUS_OK ? 512 : 77);
        cr_assert_eq(host.live, 0);
        cr_assert_lt(calls, 100);
    }
    pack_model_destroy(model);
}
