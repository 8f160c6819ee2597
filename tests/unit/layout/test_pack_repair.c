#include "pack_model.h"
#include "random.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(pack_repair);

enum {
    MOST = 700
};

/** What is answered, solved or not, is a packing. */
static cebus_pack_result run(pack_model *model, uint64_t capacity, uint64_t rounds,
                             uint64_t repairs)
{
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    options.capacity = capacity;
    options.rounds = rounds;
    options.repairs = repairs;
    options.presets = model->has_presets ? model->presets : NULL;
    cr_assert_eq(cebus_pack(model->blocks, model->n, &options, model->offsets, &result), CEBUS_OK);
    if (result.height > 0) {
        uint64_t height;
        const char *fault = pack_model_check(model, model->offsets, &height);
        cr_assert_null(fault, "%s", fault);
        cr_assert_eq(height, result.height);
        cr_assert_eq(capacity == 0 || height <= capacity, result.verdict == CEBUS_PACK_SOLVED);
    }
    return result;
}

/** Bytes times time above a capacity. */
static double excess(const pack_model *model, uint64_t capacity)
{
    double sum = 0;
    for (size_t i = 0; i < model->n; i++) {
        const cebus_pack_block *b = &model->blocks[i];
        const uint64_t top = model->offsets[i] + b->bytes;
        if (top > capacity)
            sum += (double)b->bytes * (double)(b->upper - b->lower);
    }
    return sum;
}

/** Blocks of a few sizes that are no multiples of each other, some of which live long. */
static void fill(pack_model *model, size_t n, uint64_t *seed)
{
    static const uint64_t sizes[] = {71, 149, 283, 617, 1223};
    pack_model_clear(model);
    for (size_t i = 0; i < n; i++) {
        const uint64_t lower = random_below(seed, 1000),
                       most = random_below(seed, 4) == 0 ? 500 : 20,
                       bytes = sizes[random_below(seed, sizeof sizes / sizeof *sizes)];
        pack_model_add(model, lower, lower + 1 + random_below(seed, most), bytes, 0);
    }
}

Test(pack_repair, more_fits_than_by_rounds_and_less_lies_too_high)
{
    pack_model *model = pack_model_create(MOST);
    uint64_t seed = 3;
    int by_rounds = 0, by_repairs = 0;
    double before = 0, after = 0;
    for (int i = 0; i < 30; i++) {
        fill(model, 300 + random_below(&seed, 400), &seed);
        const uint64_t load = pack_model_load(model), capacity = load + load / 50;
        by_rounds += run(model, capacity, 100, 0).verdict == CEBUS_PACK_SOLVED;
        before += excess(model, capacity);
        by_repairs += run(model, capacity, 0, 4000).verdict == CEBUS_PACK_SOLVED;
        after += excess(model, capacity);
    }
    cr_expect_gt(by_repairs, by_rounds);
    cr_expect_lt(after, before / 4);
    pack_model_destroy(model);
}

Test(pack_repair, same_input_same_offsets)
{
    static uint64_t first[MOST];
    pack_model *model = pack_model_create(MOST);
    uint64_t seed = 5;
    fill(model, MOST, &seed);
    const uint64_t load = pack_model_load(model);
    for (uint64_t part = 0; part < 5; part++) {
        (void)run(model, load + load * part / 100, 3, 500);
        memcpy(first, model->offsets, sizeof first);
        (void)run(model, load + load * part / 100, 3, 500);
        cr_expect_arr_eq(model->offsets, first, sizeof first);
    }
    pack_model_destroy(model);
}

/** Presets and alignments are kept, and nothing that fits some other way is said not to. */
Test(pack_repair, tiny_problems_are_solved_or_left_undecided)
{
    pack_model *model = pack_model_create(MOST);
    uint64_t seed = 7;
    int solved = 0, undecided = 0;
    for (int i = 0; i < 400; i++) {
        pack_model_fill_tiny(model, 9, true, i % 2 == 0, &seed);
        const uint64_t load = pack_model_load(model);
        const cebus_pack_result result = run(model, load + 1 + random_below(&seed, 4), 0, 50);
        solved += result.verdict == CEBUS_PACK_SOLVED;
        undecided += result.verdict == CEBUS_PACK_UNDECIDED;
        cr_expect(result.verdict != CEBUS_PACK_INFEASIBLE || result.reason != CEBUS_PACK_SEARCHED);
    }
    cr_expect_gt(solved, 100);
    cr_expect_gt(undecided, 0);
    pack_model_destroy(model);
}

/** It is for a capacity: where there is none, or less is wanted, nothing changes. */
Test(pack_repair, as_low_as_possible_is_not_repaired)
{
    pack_model *model = pack_model_create(MOST);
    uint64_t seed = 13;
    fill(model, 300, &seed);
    const uint64_t height = run(model, 0, 5, 0).height;
    cr_expect_eq(run(model, 0, 5, 1000).height, height);
    pack_model_destroy(model);
}

Test(pack_repair, where_only_what_fits_counts_it_begins_with_nothing)
{
    pack_model *model = pack_model_create(MOST);
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    uint64_t seed = 9;
    int solved = 0;
    for (int i = 0; i < 20; i++) {
        fill(model, 300, &seed);
        const uint64_t load = pack_model_load(model);
        options.capacity = load + load / 20;
        options.fits_only = true;
        options.repairs = 4000;
        cr_assert_eq(cebus_pack(model->blocks, model->n, &options, model->offsets, &result),
                     CEBUS_OK);
        uint64_t height = 0;
        if (result.verdict != CEBUS_PACK_SOLVED)
            continue;
        solved++;
        cr_expect_null(pack_model_check(model, model->offsets, &height));
        cr_expect_leq(height, options.capacity);
    }
    cr_expect_gt(solved, 10);
    pack_model_destroy(model);
}
