#include "layout/pack/weld.h"
#include "pack_model.h"
#include "random.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(pack_weld);

/** A model, welded. */
typedef struct fixture {
    cebus_pack_memory memory;
    cebus_pack_problem problem;
    cebus_pack_weld weld;
} fixture;

static void weld_up(fixture *f, const pack_model *model, size_t part,
                    const cebus_pack_weld_options *options)
{
    cebus_pack_stop stop = {.go_on = NULL};
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cebus_pack_memory_init(&f->memory, NULL);
    cr_assert_eq(cebus_pack_problem_build(&f->problem, &f->memory, model->blocks, model->n,
                                          model->has_presets ? model->presets : NULL, &result),
                 CEBUS_OK);
    cr_assert_lt(part, f->problem.n_parts);
    cr_assert(cebus_pack_weld_init(&f->weld, &f->problem, &f->problem.parts[part], options, &stop,
                                   &f->memory));
}

static void tear_down(fixture *f)
{
    cebus_pack_memory_release(&f->memory, NULL);
}

static const cebus_pack_weld_options everything = {
    .capacity = UINT64_C(1) << 40,
    .most = UINT32_MAX,
    .share = 256,
};

/** Packs what is left as low as the heuristics can, and splits that into the model's offsets.
 * Returns how many bytes high it is. */
static uint64_t split_packing(fixture *f, const pack_model *model)
{
    cebus_pack_weld *weld = &f->weld;
    cebus_pack_options options = CEBUS_PACK_OPTIONS_INIT;
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    size_t n = weld->problem.n, all = model->n;
    uint64_t *packed = calloc(n, sizeof *packed), *units = calloc(n, sizeof *units);
    uint64_t *split = calloc(all, sizeof *split);
    options.presets = model->has_presets ? weld->presets : NULL;
    cr_assert_eq(cebus_pack(weld->blocks, n, &options, packed, &result), CEBUS_OK);
    for (size_t i = 0; i < n; i++)
        units[i] = packed[weld->problem.index[i]] / weld->problem.unit;
    cebus_pack_weld_split(weld, units, split);
    for (size_t i = 0; i < all; i++)
        model->offsets[f->problem.index[i]] = split[i] * f->problem.unit;
    free(packed);
    free(units);
    free(split);
    return result.height;
}

Test(pack_weld, a_heap_and_what_it_meets_are_one)
{
    fixture f;
    uint64_t height;
    pack_model *model = pack_model_create(4);
    pack_model_add(model, 0, 9, 2, 0); /* else the joint ends a part */
    pack_model_add(model, 0, 5, 3, 0);
    pack_model_add(model, 5, 9, 1, 0);
    pack_model_add(model, 5, 9, 2, 0);
    weld_up(&f, model, 0, &everything);
    cr_assert_eq(f.weld.n_welds, 1);
    cr_assert_eq(f.weld.problem.n, 2);
    cr_expect_eq(f.weld.blocks[1].lower, 0);
    cr_expect_eq(f.weld.blocks[1].upper, 9);
    cr_expect_eq(f.weld.blocks[1].bytes, 3);
    cr_expect_eq(split_packing(&f, model), 5);
    cr_expect_null(pack_model_check(model, model->offsets, &height));
    cr_expect_eq(height, 5);
    tear_down(&f);
    pack_model_destroy(model);
}

Test(pack_weld, a_joint_of_many_is_left_alone_if_so_asked)
{
    fixture f;
    cebus_pack_weld_options lone = everything;
    pack_model *model = pack_model_create(8);
    pack_model_add(model, 0, 10, 1, 0);
    pack_model_add(model, 0, 2, 4, 0);
    pack_model_add(model, 2, 4, 4, 0); /* alone with the one before it */
    pack_model_add(model, 4, 6, 2, 0); /* one of two */
    pack_model_add(model, 4, 6, 2, 0);
    lone.most = 1;
    weld_up(&f, model, 0, &lone);
    cr_expect_eq(f.weld.n_welds, 1);
    cr_expect_eq(f.weld.problem.n, 4);
    tear_down(&f);
    weld_up(&f, model, 0, &everything);
    cr_expect_eq(f.weld.n_welds, 2);
    cr_expect_eq(f.weld.problem.n, 2);
    tear_down(&f);
    pack_model_destroy(model);
}

Test(pack_weld, presets_and_alignments_of_their_own_stay)
{
    fixture f;
    pack_model *model = pack_model_create(6);
    pack_model_add(model, 0, 10, 4, 0);
    pack_model_add_at(model, 0, 2, 4, 0, 8);
    pack_model_add(model, 2, 4, 4, 0);
    pack_model_add(model, 5, 7, 4, 16);
    pack_model_add(model, 7, 9, 4, 0);
    weld_up(&f, model, 0, &everything);
    cr_expect_eq(f.weld.n_welds, 0);
    tear_down(&f);
    pack_model_destroy(model);
}

/** With small sizes nearly everything meets, mostly by chance. */
static void check_splits(bool alignments, bool presets, uint64_t seed)
{
    int welded = 0;
    pack_model *model = pack_model_create(24);
    for (int round = 0; round < 20000; round++) {
        fixture f;
        uint64_t height;
        pack_model_fill_tiny(model, 24, alignments, presets, &seed);
        cebus_pack_weld_options options = everything;
        options.share = 64 + (uint32_t)random_below(&seed, 193);
        options.seed = seed;
        weld_up(&f, model, 0, &options);
        if (f.weld.n_welds > 0 && f.problem.n_parts == 1) {
            welded++;
            uint64_t packed = split_packing(&f, model);
            const char *fault = pack_model_check(model, model->offsets, &height);
            cr_assert_null(fault, "round %d: %s", round, fault);
            cr_assert_leq(height, packed);
        }
        tear_down(&f);
    }
    cr_expect_gt(welded, 1000);
    pack_model_destroy(model);
}

Test(pack_weld, a_packing_of_what_is_left_is_one_of_all)
{
    check_splits(false, false, 1);
}

Test(pack_weld, also_with_alignments)
{
    check_splits(true, false, 2);
}

Test(pack_weld, also_with_presets)
{
    check_splits(false, true, 3);
}

Test(pack_weld, also_with_both)
{
    check_splits(true, true, 4);
}

/** Cuts at places that nothing else shares are all undone. */
Test(pack_weld, of_a_rectangle_cut_in_two_again_and_again_little_is_left)
{
    pack_model *model = pack_model_create(401);
    for (uint64_t seed = 1, end = 21; seed < end; seed++) {
        fixture f;
        uint64_t height, draw = seed;
        pack_model_fill_cut(model, 400, UINT64_C(1) << 40, UINT64_C(1) << 40, 1, &draw);
        pack_model_add(model, 0, UINT64_C(1) << 40, 1, 0); /* all is one part */
        weld_up(&f, model, 0, &everything);
        cr_expect_lt(f.weld.problem.n, 100, "%zu", f.weld.problem.n);
        (void)split_packing(&f, model);
        cr_assert_null(pack_model_check(model, model->offsets, &height));
        tear_down(&f);
    }
    pack_model_destroy(model);
}

/** ' over over      The long block makes one part of it. `under` is a heap of two.
 *  left mid right
 *  under under '   */
static void add_pinwheel(pack_model *model, bool turned)
{
    uint64_t early = turned ? 4 : 0, late = turned ? 0 : 4;
    pack_model_add(model, 0, 10, 1, 0);
    pack_model_add(model, 0, 4, turned ? 5 : 8, 0);
    pack_model_add(model, 7, 10, turned ? 8 : 5, 0);
    pack_model_add(model, 4, 7, 2, 0);
    pack_model_add(model, late, turned ? 7 : 10, 6, 0);
    pack_model_add(model, early, turned ? 10 : 7, 2, 0);
    pack_model_add(model, early, turned ? 10 : 7, 1, 0);
}

Test(pack_weld, a_pinwheel_is_made_one_either_way_round)
{
    for (int turned = 0; turned < 2; turned++) {
        fixture f;
        uint64_t height;
        pack_model *model = pack_model_create(7);
        add_pinwheel(model, turned == 1);
        weld_up(&f, model, 0, &everything);
        cr_expect_eq(f.weld.n_welds, 1);
        cr_assert_eq(f.weld.problem.n, 2);
        cr_expect_eq(f.weld.blocks[1].upper - f.weld.blocks[1].lower, 10);
        cr_expect_eq(f.weld.blocks[1].bytes, 11);
        cr_expect_eq(split_packing(&f, model), 12);
        cr_expect_null(pack_model_check(model, model->offsets, &height));
        cr_expect_eq(height, 12);
        tear_down(&f);
        cebus_pack_weld_options low = everything;
        low.capacity = 10;
        weld_up(&f, model, 0, &low);
        cr_expect_eq(f.weld.n_welds, 0, "it would be higher than the capacity");
        tear_down(&f);
        pack_model_destroy(model);
    }
}

Test(pack_weld, of_pinwheels_within_pinwheels_little_is_left)
{
    pack_model *model = pack_model_create(410);
    for (uint64_t seed = 1, end = 21; seed < end; seed++) {
        fixture f;
        uint64_t height, draw = seed;
        pack_model_fill_pinwheels(model, 400, UINT64_C(1) << 40, UINT64_C(1) << 40, &draw);
        pack_model_add(model, 0, UINT64_C(1) << 40, 1, 0); /* all is one part */
        weld_up(&f, model, 0, &everything);
        cr_expect_eq(f.weld.problem.n, 2, "%zu", f.weld.problem.n);
        (void)split_packing(&f, model);
        cr_assert_null(pack_model_check(model, model->offsets, &height));
        tear_down(&f);
    }
    pack_model_destroy(model);
}

Test(pack_weld, nothing_is_made_larger_than_the_capacity)
{
    fixture f;
    cebus_pack_weld_options options = everything;
    pack_model *model = pack_model_create(4);
    pack_model_add(model, 0, 4, 8, 8);
    pack_model_add(model, 0, 2, 7, 8);
    pack_model_add(model, 2, 4, 7, 8);
    options.capacity = 7; /* of eight, rounded */
    weld_up(&f, model, 0, &options);
    cr_expect_eq(f.weld.n_welds, 0);
    tear_down(&f);
    options.capacity = 8;
    weld_up(&f, model, 0, &options);
    cr_expect_eq(f.weld.n_welds, 1);
    tear_down(&f);
    pack_model_destroy(model);
}
