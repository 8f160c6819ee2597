#include "layout/bins.h"
#include "random.h"

#include <criterion/criterion.h>

TestSuite(bins);

#define BLOCKS 400

static cebus_bins bins;
static cebus_block blocks[BLOCKS];
static bool is_in[BLOCKS];

static cebus_block *best_of_all(uint64_t bytes, bool prefer_low)
{
    cebus_block *best = NULL;
    for (int i = 0; i < BLOCKS; i++) {
        cebus_block *block = &blocks[i];
        if (!is_in[i] || block->bytes < bytes)
            continue;
        bool wins = best == NULL || block->bytes < best->bytes;
        if (best != NULL && block->bytes == best->bytes)
            wins = (block->offset < best->offset) == prefer_low;
        if (wins)
            best = block;
    }
    return best;
}

static cebus_block *largest_of_all(void)
{
    cebus_block *largest = NULL;
    for (int i = 0; i < BLOCKS; i++) {
        if (!is_in[i])
            continue;
        if (largest == NULL || blocks[i].bytes > largest->bytes)
            largest = &blocks[i];
    }
    return largest;
}

static uint64_t random_size(uint64_t *seed, int spread)
{
    switch (spread) {
    case 0: /* few sizes: many blocks a bin */
        return 64 * (1 + random_below(seed, 4));
    case 1: /* one bin, all sizes differ */
        return 1000000 + random_below(seed, 1000);
    default:
        return random_wide(seed) | 1;
    }
}

static void flip(uint64_t *seed, int spread, uint64_t *count)
{
    uint64_t i = random_below(seed, BLOCKS);
    if (is_in[i]) {
        cebus_bins_remove(&bins, &blocks[i]);
        (*count)--;
    } else {
        blocks[i] = (cebus_block){.offset = i * 64, .bytes = random_size(seed, spread)};
        cebus_bins_insert(&bins, &blocks[i]);
        (*count)++;
    }
    is_in[i] = !is_in[i];
}

Test(bins, agree_with_a_linear_search)
{
    uint64_t seed = 4;
    for (int spread = 0; spread < 3; spread++) {
        uint64_t count = 0;
        cebus_bins_init(&bins);
        memset(is_in, 0, sizeof is_in);
        for (int i = 0; i < 4000; i++) {
            flip(&seed, spread, &count);
            uint64_t bytes = random_size(&seed, spread);
            cr_assert_eq(cebus_bins_find(&bins, bytes, true), best_of_all(bytes, true));
            cr_assert_eq(cebus_bins_find(&bins, bytes, false), best_of_all(bytes, false));
            const cebus_block *largest = largest_of_all();
            const cebus_block *got = cebus_bins_largest(&bins);
            cr_assert_eq(got == NULL, largest == NULL);
            cr_assert(got == NULL || got->bytes == largest->bytes);
            cr_assert(cebus_bins_check(&bins, count));
            cr_assert_not(cebus_bins_check(&bins, count + 1));
        }
        for (int i = 0; i < BLOCKS; i++)
            cr_assert_eq(cebus_bins_contains(&bins, &blocks[i]), is_in[i]);
    }
}

static void expect_only(uint64_t bytes)
{
    cebus_block block = {.bytes = bytes};
    cebus_bins_init(&bins);
    cebus_bins_insert(&bins, &block);
    cr_expect_eq(cebus_bins_find(&bins, bytes, true), &block);
    cr_expect_eq(cebus_bins_find(&bins, 0, false), &block);
    cr_expect_eq(cebus_bins_find(&bins, 1, false), &block);
    if (bytes != UINT64_MAX)
        cr_expect_null(cebus_bins_find(&bins, bytes + 1, true));
    cr_expect_null(bytes == UINT64_MAX ? NULL : cebus_bins_find(&bins, UINT64_MAX, true));
    cebus_bins_remove(&bins, &block);
    cr_expect_null(cebus_bins_find(&bins, 1, true));
    cr_expect_null(cebus_bins_largest(&bins));
    cr_expect(cebus_bins_check(&bins, 0));
}

Test(bins, hold_every_magnitude)
{
    for (int bit = 0; bit < 64; bit++) {
        expect_only(UINT64_C(1) << bit);
        expect_only((UINT64_C(1) << bit) | 1);
        expect_only(UINT64_MAX >> bit);
    }
}

static int depth_of(const cebus_block *tree)
{
    if (tree == NULL)
        return 0;
    int low = depth_of(tree->bin_low), high = depth_of(tree->bin_high);
    return 1 + (low > high ? low : high);
}

Test(bins, stay_shallow_with_holes_of_one_size)
{
    enum {
        HOLES = 20000
    };
    static cebus_block holes[HOLES];
    cebus_bins_init(&bins);
    for (uint64_t i = 0; i < HOLES; i++) {
        holes[i] = (cebus_block){.offset = i * 128, .bytes = 64};
        cebus_bins_insert(&bins, &holes[i]);
    }
    cr_expect_leq(depth_of(bins.root[6][0]), 50); /* 2 log2 n is 29 */
    cr_expect_eq(cebus_bins_find(&bins, 64, true), &holes[0]);
    cr_expect_eq(cebus_bins_find(&bins, 64, false), &holes[HOLES - 1]);
    for (int i = 0; i < HOLES; i++) {
        if (i % 50 != 0)
            cebus_bins_remove(&bins, &holes[i]);
    }
    cr_expect_leq(depth_of(bins.root[6][0]), 34); /* of 400 */
    cr_expect(cebus_bins_check(&bins, HOLES / 50));
}
