#include "layout/pack/lane.h"
#include "pack_model.h"
#include "random.h"
#include "tests/support/host.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(pack_search);

/** More than any test here needs where it expects an answer. */
#define PLENTY 4000000

static cebus_pack_result run(pack_model *model, uint64_t capacity, bool minimise, uint64_t steps)
{
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    options.capacity = capacity;
    options.minimise = minimise;
    options.max_steps = steps;
    options.presets = model->has_presets ? model->presets : NULL;
    cr_assert_eq(cebus_pack(model->blocks, model->n, &options, model->offsets, &result), CEBUS_OK);
    if (result.verdict == CEBUS_PACK_SOLVED) {
        uint64_t height;
        const char *fault = pack_model_check(model, model->offsets, &height);
        cr_assert_null(fault, "%s", fault);
        cr_assert_eq(height, result.height);
        cr_assert(capacity == 0 || height <= capacity);
        cr_assert_geq(height, result.bound);
    }
    cr_assert_leq(result.steps, steps);
    return result;
}

static void print(const pack_model *model, uint64_t capacity)
{
    fprintf(stderr, "capacity %llu\n", (unsigned long long)capacity);
    for (size_t i = 0; i < model->n; i++) {
        const cebus_pack_block *block = &model->blocks[i];
        fprintf(stderr, "[%llu, %llu) %llu align %llu preset %lld\n",
                (unsigned long long)block->lower, (unsigned long long)block->upper,
                (unsigned long long)block->bytes, (unsigned long long)block->alignment,
                (long long)model->presets[i]);
    }
}

/** What the search was asked, and what came of it. */
typedef struct tally {
    int found, ruled_out;
} tally;

/** Every capacity from the load to enough: the verdict is what trying all offsets says. */
static void compare(pack_model *model, tally *out)
{
    uint64_t best = 0;
    for (uint64_t capacity = pack_model_load(model); best == 0; capacity++) {
        bool fits = pack_model_fits(model, capacity);
        cebus_pack_result result = run(model, capacity, false, PLENTY);
        if (result.verdict != (fits ? CEBUS_PACK_SOLVED : CEBUS_PACK_INFEASIBLE))
            print(model, capacity);
        cr_assert_eq(result.verdict, fits ? CEBUS_PACK_SOLVED : CEBUS_PACK_INFEASIBLE);
        out->ruled_out += result.reason == CEBUS_PACK_SEARCHED;
        out->found += fits && result.steps > 0;
        if (fits)
            best = capacity;
    }
    cebus_pack_result result = run(model, 0, true, PLENTY);
    cr_assert_eq(result.height, best);
    cr_assert_eq(result.bound, best);
}

static int rounds(int few)
{
    return getenv("CEBUS_TEST_ALL") != NULL ? 20 * few : few;
}

static void compare_many(size_t most, bool alignments, bool presets, uint64_t seed)
{
    tally seen = {0};
    pack_model *model = pack_model_create(most);
    for (int round = 0; round < rounds(3000); round++) {
        pack_model_fill_tiny(model, most, alignments, presets, &seed);
        compare(model, &seen);
    }
    fprintf(stderr, "%d found by search, %d ruled out by search\n", seen.found, seen.ruled_out);
    cr_expect_gt(seen.found, 0);
    cr_expect_gt(seen.ruled_out, 100);
    pack_model_destroy(model);
}

/**
 * Without alignments and presets a handful of blocks nearly always reaches its load. What does not
 * comes from rectangles cut into pieces, changed as long as the load stays.
 */
static void fill_gap(pack_model *model, uint64_t *seed)
{
    enum {
        HEIGHT = 8,
        TIMES = 12
    };
    pack_model_fill_cut(model, 16, TIMES, HEIGHT, 1, seed);
    for (int move = 0; move < 120; move++) {
        cebus_pack_block *block = &model->blocks[random_below(seed, model->n)];
        cebus_pack_block before = *block;
        uint64_t what = random_below(seed, 3);
        if (what == 0)
            block->lower = random_below(seed, block->upper);
        else if (what == 1)
            block->upper = block->lower + 1 + random_below(seed, TIMES);
        else
            block->bytes = 1 + random_below(seed, HEIGHT / 2);
        if (pack_model_load(model) > HEIGHT)
            *block = before;
    }
}

Test(pack_search, the_optimum_is_that_of_trying_everything)
{
    uint64_t seed = 1;
    tally seen = {0};
    pack_model *model = pack_model_create(16);
    for (int round = 0; round < rounds(12000); round++) {
        fill_gap(model, &seed);
        compare(model, &seen);
    }
    fprintf(stderr, "%d found by search, %d ruled out by search\n", seen.found, seen.ruled_out);
    cr_expect_gt(seen.found, 100);
    cr_expect_gt(seen.ruled_out, 0);
    pack_model_destroy(model);
}

Test(pack_search, also_with_alignments)
{
    compare_many(6, true, false, 2);
}

Test(pack_search, also_with_presets)
{
    compare_many(7, false, true, 3);
}

Test(pack_search, also_with_both)
{
    compare_many(6, true, true, 4);
}

Test(pack_search, rectangles_without_a_gap_are_filled)
{
    uint64_t seed = 5;
    int searched = 0;
    pack_model *model = pack_model_create(300);
    for (int round = 0; round < rounds(40); round++) {
        uint64_t n = 20 + random_below(&seed, 200);
        uint64_t grain = UINT64_C(1) << random_below(&seed, 12);
        pack_model_fill_cut(model, n, 1000000, 1048576, grain, &seed);
        cebus_pack_result result = run(model, 1048576, false, PLENTY);
        cr_assert_eq(result.verdict, CEBUS_PACK_SOLVED);
        cr_assert_eq(result.height, 1048576);
        searched += result.steps > 0;
    }
    cr_expect_gt(searched, 10);
    pack_model_destroy(model);
}

/** The search of a rectangle as it is, nothing welded, in as many nodes for all its parts. */
static bool search_plainly(const pack_model *model, uint64_t nodes)
{
    cebus_pack_memory memory;
    cebus_pack_problem problem;
    cebus_pack_stop stop = {.go_on = NULL};
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cebus_pack_outcome outcome = CEBUS_PACK_OUTCOME_FITS;
    uint64_t height, used, *units = calloc(model->n, sizeof *units);
    cebus_pack_memory_init(&memory, NULL);
    cr_assert_eq(
        cebus_pack_problem_build(&problem, &memory, model->blocks, model->n, NULL, &result),
        CEBUS_OK);
    for (size_t p = 0; p < problem.n_parts && outcome == CEBUS_PACK_OUTCOME_FITS; p++) {
        cebus_pack_lane lane;
        const cebus_pack_part *part = &problem.parts[p];
        cebus_pack_lane_task task = {
            .problem = &problem, .part = part, .capacity = model->capacity};
        cebus_pack_lane_init(&lane, &task, CEBUS_PACK_LANE_PLAIN, NULL);
        outcome = cebus_pack_lane_run(&lane, nodes, &stop, &used, units + part->block_begin);
        cebus_pack_lane_destroy(&lane);
        cr_assert_leq(used, nodes);
        nodes -= used;
    }
    for (size_t i = 0; i < model->n; i++)
        model->offsets[problem.index[i]] = units[i] * problem.unit;
    bool fits = outcome == CEBUS_PACK_OUTCOME_FITS;
    cr_assert(!fits || pack_model_check(model, model->offsets, &height) == NULL);
    cebus_pack_memory_release(&memory, NULL);
    free(units);
    return fits;
}

/** Rectangles of which searches that do not learn where they failed take 50,000 steps and more. */
Test(pack_search, what_failed_is_looked_at_first)
{
    static const uint64_t seeds[] = {1, 4};
    pack_model *model = pack_model_create(300);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        uint64_t seed = seeds[i];
        pack_model_fill_cut(model, 200, 100, 400, 1, &seed);
        cr_expect(search_plainly(model, 40000), "number %zu", i);
    }
    pack_model_destroy(model);
}

/** Hundreds of pieces between few times, of which a search of the part as it is finds no packing in
 * a million steps: what was cut is made whole first. */
Test(pack_search, what_was_cut_is_made_whole)
{
    pack_model *model = pack_model_create(350);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t draw = seed;
        pack_model_fill_cut(model, 350, 40, 1048576, 1, &draw);
        cebus_pack_result result = run(model, 1048576, false, 20000);
        cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED, "number %llu", (unsigned long long)seed);
    }
    pack_model_destroy(model);
}

/** The same of pinwheels, which no straight cut undoes. */
Test(pack_search, pinwheels_are_made_whole)
{
    pack_model *model = pack_model_create(360);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t draw = seed;
        pack_model_fill_pinwheels(model, 350, 100, 1048576, &draw);
        cebus_pack_result result = run(model, 1048576, false, 20000);
        cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED, "number %llu", (unsigned long long)seed);
    }
    pack_model_destroy(model);
}

/** As many as fit, and one more; their lifetimes cross, so that it takes a search. */
Test(pack_search, of_blocks_that_are_alike_one_is_tried)
{
    pack_model *model = pack_model_create(64);
    for (int i = 0; i < 12; i++) {
        pack_model_add(model, 0, 10, 3, 0);
        pack_model_add(model, 5, 15, 5, 0);
        pack_model_add(model, 10, 20, 3, 0);
    }
    cebus_pack_result result = run(model, 96, false, PLENTY);
    cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED);
    pack_model_clear(model);
    for (int i = 0; i < 20; i++)
        pack_model_add(model, i % 2 == 0 ? 0 : 5, i % 2 == 0 ? 8 : 9, 5, 4);
    /* five bytes every eight: twenty of them take 157 */
    cr_expect_eq(run(model, 157, false, PLENTY).verdict, CEBUS_PACK_SOLVED);
    result = run(model, 156, false, PLENTY);
    cr_expect_eq(result.verdict, CEBUS_PACK_INFEASIBLE);
    cr_expect_lt(result.steps, 1000);
    pack_model_destroy(model);
}

Test(pack_search, parts_are_searched_on_their_own)
{
    uint64_t seed = 7;
    pack_model *model = pack_model_create(404), *piece = pack_model_create(40);
    for (uint64_t part = 0; part < 10; part++) {
        pack_model_fill_cut(piece, 40, 1000, 1000, 1, &seed);
        for (size_t i = 0; i < piece->n; i++) {
            const cebus_pack_block *block = &piece->blocks[i];
            pack_model_add(model, block->lower + 1000 * part, block->upper + 1000 * part,
                           block->bytes, 0);
        }
    }
    cebus_pack_result result = run(model, 1000, false, PLENTY);
    cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED);
    cr_expect_eq(run(model, 0, true, PLENTY).height, 1000);
    /* one part that cannot be decides for all */
    uint64_t wide = 20000;
    for (int i = 0; i < 4; i++)
        pack_model_add(model, wide, wide + 1, 241, 16);
    result = run(model, 1000, false, PLENTY);
    cr_expect_eq(result.verdict, CEBUS_PACK_INFEASIBLE);
    pack_model_destroy(model);
    pack_model_destroy(piece);
}

/** An instance that the search needs some steps for; how many it needs. */
static uint64_t fill_hard(pack_model *model, uint64_t *seed)
{
    cebus_pack_result result;
    do {
        pack_model_fill_cut(model, 120, 4096, 4096, 64, seed);
        result = run(model, 4096, false, PLENTY);
    } while (result.verdict != CEBUS_PACK_SOLVED || result.steps < 200);
    return result.steps;
}

Test(pack_search, steps_bound_it_and_repeat)
{
    uint64_t seed = 9;
    static uint64_t first[120];
    pack_model *model = pack_model_create(120);
    uint64_t steps = fill_hard(model, &seed);
    memcpy(first, model->offsets, sizeof first);
    cr_expect_eq(run(model, 4096, false, PLENTY).steps, steps);
    cr_expect_arr_eq(first, model->offsets, model->n * sizeof *first);
    cebus_pack_result result = run(model, 4096, false, steps / 2);
    cr_expect_eq(result.verdict, CEBUS_PACK_UNDECIDED);
    cr_expect_gt(result.height, 4096, "the heuristics' packing");
    cr_expect_leq(result.steps, steps / 2);
    result = run(model, 0, true, steps / 4);
    cr_expect_eq(result.verdict, CEBUS_PACK_SOLVED);
    cr_expect_geq(result.height, 4096);
    pack_model_destroy(model);
}

static bool few_times(void *context)
{
    int *left = context;
    return (*left)-- > 0;
}

Test(pack_search, a_hook_ends_it)
{
    uint64_t seed = 2;
    int left = 20;
    pack_model *model = pack_model_create(450);
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    /* so many pieces of so few sizes that the search would go on for millions of nodes */
    pack_model_fill_cut(model, 450, 100, 100, 1, &seed);
    options.capacity = 100;
    options.max_steps = UINT64_MAX;
    options.go_on = few_times;
    options.context = &left;
    cr_assert_eq(cebus_pack(model->blocks, model->n, &options, model->offsets, &result), CEBUS_OK);
    cr_expect_eq(result.verdict, CEBUS_PACK_UNDECIDED);
    cr_expect_gt(result.steps, 100);
    cr_expect_eq(left, -1, "it is not asked again");
    pack_model_destroy(model);
}

Test(pack_search, every_allocation_can_fail)
{
    uint64_t seed = 13, height, refused = 0, solved = 0;
    pack_model *model = pack_model_create(120);
    fill_hard(model, &seed);
    for (uint64_t calls = 0; calls < 150; calls++) {
        cebus_test_host host;
        cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
        cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
        cebus_test_host_init(&host);
        host.fail_at = calls + 1;
        host.lasting = true;
        options.host = &host.allocator;
        options.capacity = 4096;
        options.max_steps = PLENTY;
        cebus_status status =
            cebus_pack(model->blocks, model->n, &options, model->offsets, &result);
        cr_assert_eq(host.live, 0);
        if (status == CEBUS_OUT_OF_HOST_MEMORY) {
            refused++;
            continue;
        }
        cr_assert_eq(status, CEBUS_OK);
        cr_assert_eq(result.verdict, CEBUS_PACK_SOLVED);
        cr_assert_null(pack_model_check(model, model->offsets, &height));
        solved++;
    }
    cr_expect_gt(refused, 40);
    cr_expect_gt(solved, 20);
    pack_model_destroy(model);
}
