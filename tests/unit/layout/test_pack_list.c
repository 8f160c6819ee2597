/*
 * Best fit against the rule that it states, with a look at every block that was placed: the library
 * looks by offset where many live at once, by lifetime where few do.
 */
#include "layout/pack/list.h"
#include "pack_model.h"
#include "random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(pack_list);

typedef struct fixture {
    cebus_pack_memory memory;
    cebus_pack_problem problem;
    cebus_pack_list *list;
    uint32_t *rank;   /**< of all blocks, by part */
    uint64_t *offset; /**< units, of all blocks */
    uint64_t *plain;  /**< by the rule */
    uint32_t *placed; /**< in the order of `plain` */
} fixture;

static void set_up(fixture *f, const pack_model *model)
{
    cebus_pack_result result = CEBUS_PACK_RESULT_INIT;
    cebus_pack_memory_init(&f->memory, NULL);
    cr_assert_eq(cebus_pack_problem_build(&f->problem, &f->memory, model->blocks, model->n,
                                          model->has_presets ? model->presets : NULL, &result),
                 CEBUS_OK);
    size_t n = f->problem.n;
    f->list = cebus_pack_list_create(&f->problem, &f->memory);
    f->rank = calloc(n + 1, sizeof *f->rank);
    f->offset = calloc(n + 1, sizeof *f->offset);
    f->plain = calloc(n + 1, sizeof *f->plain);
    f->placed = calloc(n + 1, sizeof *f->placed);
    cr_assert(f->list != NULL && f->rank != NULL && f->offset != NULL && f->plain != NULL &&
              f->placed != NULL);
}

static void tear_down(fixture *f)
{
    cebus_pack_memory_release(&f->memory, NULL);
    free(f->rank);
    free(f->offset);
    free(f->plain);
    free(f->placed);
}

/** Any ranks, each once. */
static void shuffle(const fixture *f, const cebus_pack_part *part, uint64_t *seed)
{
    uint32_t *rank = f->rank + part->block_begin, n = part->block_end - part->block_begin;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t other = (uint32_t)random_below(seed, i + 1);
        rank[i] = rank[other];
        rank[other] = i;
    }
}

/* --- the rule -------------------------------------------------------------------------------- */

static uint64_t fit_plainly(const fixture *f, uint32_t block, uint32_t n_placed)
{
    const cebus_pack_problem *p = &f->problem;
    uint64_t floor = 0, best = 0, least = UINT64_MAX;
    for (uint32_t k = 0; k < n_placed; k++) {
        uint32_t other = f->placed[k];
        uint64_t low = f->plain[other], top = low + p->size[other];
        if (p->first[other] >= p->end[block] || p->end[other] <= p->first[block])
            continue;
        if (low >= floor + p->size[block] && low - floor < least) {
            least = low - floor;
            best = floor;
        }
        if (top > floor)
            floor = (top + p->align[block] - 1) / p->align[block] * p->align[block];
    }
    return least < UINT64_MAX ? best : floor;
}

static void place_plainly(const fixture *f, uint32_t block, uint64_t offset, uint32_t n_placed)
{
    uint32_t at = n_placed;
    f->plain[block] = offset;
    for (; at > 0 && f->plain[f->placed[at - 1]] > offset; at--)
        f->placed[at] = f->placed[at - 1];
    f->placed[at] = block;
}

static void pack_plainly(const fixture *f, const cebus_pack_part *part)
{
    uint32_t n = part->block_end - part->block_begin, n_placed = 0;
    uint32_t *by_rank = calloc(n, sizeof *by_rank);
    for (uint32_t i = part->block_begin; i < part->block_end; i++) {
        by_rank[f->rank[i]] = i;
        if (f->problem.preset[i] != CEBUS_PACK_ANYWHERE)
            place_plainly(f, i, f->problem.preset[i], n_placed++);
    }
    for (uint32_t place = 0; place < n; place++) {
        uint32_t block = by_rank[place];
        if (f->problem.preset[block] != CEBUS_PACK_ANYWHERE)
            continue;
        place_plainly(f, block, fit_plainly(f, block, n_placed), n_placed);
        n_placed++;
    }
    free(by_rank);
}

/* --- both ------------------------------------------------------------------------------------ */

/** Twice, so that nothing is left of the first time. */
static void compare(const pack_model *model, uint64_t *seed)
{
    fixture f;
    cebus_pack_stop stop = {0};
    set_up(&f, model);
    for (size_t k = 0; k < 2 * f.problem.n_parts; k++) {
        const cebus_pack_part *part = &f.problem.parts[k % f.problem.n_parts];
        shuffle(&f, part, seed);
        pack_plainly(&f, part);
        cr_assert(cebus_pack_list_run(f.list, part, f.rank + part->block_begin, UINT64_MAX, &stop,
                                      f.offset + part->block_begin));
        for (uint32_t i = part->block_begin; i < part->block_end; i++)
            cr_assert_eq(f.offset[i], f.plain[i], "block %u of %zu", i, f.problem.n);
    }
    tear_down(&f);
}

/** Lives of all lengths; any alignment, every tenth block far up where it must stay. */
static void fill(pack_model *model, size_t n, uint64_t time, uint64_t *seed)
{
    pack_model_clear(model);
    for (size_t i = 0; i < n; i++) {
        uint64_t lower = random_below(seed, time);
        uint64_t upper = lower + 1 + random_below(seed, UINT64_C(1) << random_below(seed, 11));
        uint64_t bytes = 1 + random_below(seed, 3000), align = UINT64_C(1) << random_below(seed, 7);
        if (i % 10 == 0)
            pack_model_add_at(model, lower, upper, bytes, 64, 4096 * i);
        else
            pack_model_add(model, lower, upper, bytes, align);
    }
    model->has_presets = true;
}

Test(pack_list, puts_each_block_where_the_rule_does)
{
    pack_model *model = pack_model_create(6000);
    uint64_t seed = 31;
    const struct {
        size_t n;
        uint64_t time;
    } cases[] = {{1, 1}, {70, 30}, {400, 100}, {1500, 3000}, {4000, 40000}, {6000, 1000000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill(model, cases[i].n, cases[i].time, &seed);
        compare(model, &seed);
    }
    pack_model_destroy(model);
}

/** Many that live all the time, with gaps between some that small ones fit into: to most others
 * runs of these are as one. */
Test(pack_list, puts_blocks_among_those_that_live_all_the_time)
{
    pack_model *model = pack_model_create(3000);
    uint64_t seed = 33, offset = 0;
    for (size_t i = 0; i < 1000; i++) {
        const uint64_t bytes = 1 + random_below(&seed, 900);
        offset += random_below(&seed, 4) == 0 ? 64 * random_below(&seed, 8) : 0;
        pack_model_add_at(model, random_below(&seed, 3), 3000 - random_below(&seed, 3), bytes, 64,
                          offset);
        offset += (bytes + 63) / 64 * 64;
    }
    for (size_t i = 0; i < 2000; i++) {
        const uint64_t lower = random_below(&seed, 2990), bytes = 1 + random_below(&seed, 600);
        pack_model_add(model, lower, lower + 1 + random_below(&seed, 2999 - lower), bytes,
                       UINT64_C(1) << random_below(&seed, 10));
    }
    model->has_presets = true;
    compare(model, &seed);
    pack_model_destroy(model);
}

static bool count(void *context)
{
    ++*(int *)context;
    return true;
}

/** The hook is asked once for each million steps of work. */
Test(pack_list, looks_at_no_block_that_lives_at_another_time)
{
    pack_model *model = pack_model_create(40001);
    uint64_t seed = 32;
    int asked = 0;
    fixture f;
    cebus_pack_stop stop = {.go_on = count, .context = &asked};
    fill(model, 40000, 4000000, &seed);
    pack_model_add(model, 0, 4002048, 1, 1); /* one part */
    set_up(&f, model);
    cr_assert_eq(f.problem.n_parts, 1);
    shuffle(&f, f.problem.parts, &seed);
    cr_expect(cebus_pack_list_run(f.list, f.problem.parts, f.rank, UINT64_MAX, &stop, f.offset));
    cr_expect_lt(asked, 40, "%d: half of all the pairs are 800 million", asked);
    tear_down(&f);
    pack_model_destroy(model);
}
