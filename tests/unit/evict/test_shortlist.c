#include "evict/choice/shortlist.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/layout/random.h"

enum {
    MAX = 200
};

static cebus_block blocks[MAX];
static cebus_scored offers[MAX];

/** Few different scores, so that many are equal. */
static void make_offers(uint64_t *state, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        blocks[i] = (cebus_block){.offset = 64 * i, .bytes = 64 * (1 + random_below(state, 20))};
        offers[i] = (cebus_scored){(double)random_below(state, 40), &blocks[i]};
    }
}

static int compare(const void *a, const void *b)
{
    const cebus_scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return x->block->offset < y->block->offset ? -1 : 1;
}

/** How many of the sorted offers it takes. */
static size_t prefix(const cebus_scored *sorted, size_t n, uint64_t wanted, size_t limit)
{
    uint64_t bytes = 0;
    size_t count = 0;
    while (count < n && count < limit && (count == 0 || bytes < wanted))
        bytes += sorted[count++].block->bytes;
    return count;
}

static void check(size_t n, uint64_t wanted, size_t limit)
{
    cebus_scored sorted[MAX];
    cebus_shortlist list;
    cebus_shortlist_init(&list, wanted, limit);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = offers[i];
        cebus_shortlist_offer(&list, offers[i]);
    }
    qsort(sorted, n, sizeof *sorted, compare);
    size_t count = prefix(sorted, n, wanted, limit);
    cr_assert_eq(list.count, count, "%d offers, %d wanted", (int)n, (int)wanted);
    cr_expect_eq(list.lost.block, count < n ? sorted[count].block : NULL);
    while (count-- > 0)
        cr_expect_eq(cebus_shortlist_pop(&list).block, sorted[count].block);
    cr_expect_eq(list.bytes, 0);
}

Test(shortlist, is_what_sorting_gives)
{
    uint64_t state = 1;
    for (int round = 0; round < 3000; round++) {
        size_t n = random_below(&state, MAX), limit = 1 + random_below(&state, CEBUS_SHORTLIST_MAX);
        make_offers(&state, n);
        check(n, random_below(&state, 64 * 200), limit);
    }
}

Test(shortlist, gives_one_when_nothing_is_wanted)
{
    uint64_t state = 2;
    make_offers(&state, 10);
    check(10, 0, 5);
    check(10, 1, 5);
    check(10, UINT64_MAX, 5);
    check(0, 1, 1);
}
