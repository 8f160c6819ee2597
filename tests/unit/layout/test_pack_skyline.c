/*
 * The skyline against the rule that it states, followed section by section: of all stretches of one
 * height the lowest is next, wherever it is. The library fills niches in another order, which
 * changes nothing, since a niche is between higher neighbours until it is raised.
 */
#include "layout/number.h"
#include "layout/pack/skyline.h"
#include "pack_model.h"
#include "random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(pack_skyline);

typedef struct fixture {
    cebus_pack_memory memory;
    cebus_pack_problem problem;
    cebus_pack_skyline *skyline;
    uint32_t *rank;    /**< of all blocks, by part */
    uint64_t *offset;  /**< units, of all blocks */
    uint64_t *plain;   /**< by the rule */
    uint64_t *heights; /**< by section */
    bool *is_put;
} fixture;

static void set_up(fixture *f, const pack_model *model)
{
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cebus_pack_memory_init(&f->memory, NULL);
    cr_assert_eq(
        cebus_pack_problem_build(&f->problem, &f->memory, model->blocks, model->n, NULL, &result),
        CEBUS_OK);
    size_t n = f->problem.n;
    f->skyline = cebus_pack_skyline_create(&f->problem, &f->memory);
    f->rank = calloc(n + 1, sizeof *f->rank);
    f->offset = calloc(n + 1, sizeof *f->offset);
    f->plain = calloc(n + 1, sizeof *f->plain);
    f->is_put = calloc(n + 1, sizeof *f->is_put);
    f->heights = calloc((size_t)f->problem.n_sections + 1, sizeof *f->heights);
    cr_assert(f->skyline != NULL && f->rank != NULL && f->offset != NULL && f->plain != NULL &&
              f->is_put != NULL && f->heights != NULL);
}

static void tear_down(fixture *f)
{
    cebus_pack_memory_release(&f->memory, NULL);
    free(f->rank);
    free(f->offset);
    free(f->plain);
    free(f->is_put);
    free(f->heights);
}

/** Any ranks, each once. */
static void shuffle(fixture *f, const cebus_pack_part *part, uint64_t *seed)
{
    uint32_t *rank = f->rank + part->block_begin, n = part->block_end - part->block_begin;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t other = (uint32_t)random_below(seed, i + 1);
        rank[i] = rank[other];
        rank[other] = i;
    }
}

/* --- the rule -------------------------------------------------------------------------------- */

/** The lowest stretch of one height, the first of them. */
static void find_lowest(const fixture *f, const cebus_pack_part *part, uint32_t *out_begin,
                        uint32_t *out_end)
{
    *out_begin = part->section_begin;
    for (uint32_t s = part->section_begin; s < part->section_end; s++) {
        if (f->heights[s] < f->heights[*out_begin])
            *out_begin = s;
    }
    *out_end = *out_begin;
    while (*out_end < part->section_end && f->heights[*out_end] == f->heights[*out_begin])
        ++*out_end;
}

/** The best-ranked block that fits in there, or UINT32_MAX. */
static uint32_t find_best(const fixture *f, const cebus_pack_part *part, uint32_t begin,
                          uint32_t end)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = part->block_begin; i < part->block_end; i++) {
        bool fits = !f->is_put[i] && f->problem.first[i] >= begin && f->problem.end[i] <= end;
        if (fits && (best == UINT32_MAX || f->rank[i] < f->rank[best]))
            best = i;
    }
    return best;
}

static void set(fixture *f, uint32_t begin, uint32_t end, uint64_t height)
{
    for (uint32_t s = begin; s < end; s++)
        f->heights[s] = height;
}

/** Packs a part by the rule into `plain`; answers where it ends. */
static uint64_t pack_plainly(fixture *f, const cebus_pack_part *part)
{
    uint32_t begin, end;
    uint64_t highest = 0;
    set(f, part->section_begin, part->section_end, 0);
    memset(f->is_put, 0, f->problem.n * sizeof *f->is_put);
    for (;;) {
        find_lowest(f, part, &begin, &end);
        uint32_t block = find_best(f, part, begin, end);
        if (block != UINT32_MAX) {
            f->plain[block] = cebus_align_up(f->heights[begin], f->problem.align[block]);
            uint64_t top = f->plain[block] + f->problem.size[block];
            set(f, f->problem.first[block], f->problem.end[block], top);
            f->is_put[block] = true;
            highest = top > highest ? top : highest;
            continue;
        }
        uint64_t left = begin > part->section_begin ? f->heights[begin - 1] : UINT64_MAX;
        uint64_t right = end < part->section_end ? f->heights[end] : UINT64_MAX;
        if (left == UINT64_MAX && right == UINT64_MAX)
            return highest;
        set(f, begin, end, left < right ? left : right);
    }
}

/* --- comparing ------------------------------------------------------------------------------- */

static bool run(fixture *f, const cebus_pack_part *part, uint64_t limit)
{
    cebus_pack_stop stop = {.go_on = NULL};
    return cebus_pack_skyline_run(f->skyline, part, f->rank + part->block_begin, limit, &stop,
                                  f->offset + part->block_begin);
}

static void expect_plain(const fixture *f, const cebus_pack_part *part)
{
    for (uint32_t i = part->block_begin; i < part->block_end; i++)
        cr_assert_eq(f->offset[i], f->plain[i], "block %u of %zu", i, f->problem.n);
}

/** Without a limit, with the lowest one that does not matter, and with lower ones, where all that
 * may come of it is that it is given up. */
static void compare_part(fixture *f, const cebus_pack_part *part, uint64_t *seed)
{
    size_t n = part->block_end - part->block_begin;
    shuffle(f, part, seed);
    uint64_t height = pack_plainly(f, part);
    cr_assert(run(f, part, UINT64_MAX));
    expect_plain(f, part);
    memset(f->offset + part->block_begin, 0xff, n * sizeof *f->offset);
    cr_assert(run(f, part, height + 1));
    expect_plain(f, part);
    cr_assert_not(run(f, part, height));
    cr_assert_not(run(f, part, 1 + random_below(seed, height)));
}

/** All parts, several orders each; answers the parts. */
static size_t compare(const pack_model *model, uint64_t *seed)
{
    fixture f;
    set_up(&f, model);
    size_t parts = f.problem.n_parts;
    for (size_t p = 0; p < parts; p++) {
        for (int order = 0; order < 3; order++)
            compare_part(&f, &f.problem.parts[p], seed);
    }
    tear_down(&f);
    return parts;
}

Test(pack_skyline, follows_the_rule_on_small_instances)
{
    pack_model *model = pack_model_create(16);
    size_t parts = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        uint64_t draw = seed;
        pack_model_fill_tiny(model, 12, seed % 2 == 0, false, &draw);
        parts += compare(model, &draw);
    }
    cr_expect_gt(parts, 5000, "several parts in one problem are covered");
    pack_model_destroy(model);
}

Test(pack_skyline, follows_the_rule_on_larger_instances)
{
    pack_model *model = pack_model_create(400);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        uint64_t draw = seed;
        pack_model_fill_random(model, 100 + 20 * seed, &draw);
        compare(model, &draw);
        pack_model_fill_training(model, 100 + 20 * seed, &draw);
        compare(model, &draw);
        pack_model_fill_cut(model, 100 + 20 * seed, 60, 60, 1, &draw);
        compare(model, &draw);
    }
    pack_model_destroy(model);
}

Test(pack_skyline, one_block_and_blocks_of_one_lifetime)
{
    pack_model *model = pack_model_create(8);
    uint64_t seed = 1;
    pack_model_add(model, 3, 4, 7, 0);
    cr_expect_eq(compare(model, &seed), 1);
    pack_model_add(model, 3, 4, 9, 8);
    pack_model_add(model, 3, 4, 1, 4);
    cr_expect_eq(compare(model, &seed), 1);
    pack_model_destroy(model);
}

static bool never(void *context)
{
    ++*(int *)context;
    return false;
}

Test(pack_skyline, ends_when_it_is_stopped)
{
    pack_model *model = pack_model_create(20000);
    fixture f;
    int asked = 0;
    uint64_t seed = 1;
    cebus_pack_stop stop = {.go_on = never, .context = &asked};
    pack_model_fill_random(model, 20000, &seed);
    set_up(&f, model);
    for (uint32_t i = 0; i < f.problem.n; i++)
        f.rank[i] = i;
    cr_expect_not(cebus_pack_skyline_run(f.skyline, &f.problem.parts[0], f.rank, UINT64_MAX, &stop,
                                         f.offset));
    cr_expect_eq(asked, 1, "and it is not asked again");
    tear_down(&f);
    pack_model_destroy(model);
}
