#include "layout/spans.h"
#include "random.h"

#include <criterion/criterion.h>

TestSuite(spans);

#define ADDRESSES 64
#define ROUNDS 2000

typedef struct item {
    uint64_t offset;
    int mark;
} item;

/** Beside a mark for each address. Runs that are alike are never joined. */
Test(spans, hold_what_was_last_written_to_each_address)
{
    item items[ADDRESSES + CEBUS_SPANS_ADDED] = {{0, 0}};
    int marks[ADDRESSES] = {0};
    size_t count = 1;
    uint64_t seed = 5;
    for (int round = 1; round <= ROUNDS; round++) {
        uint64_t from = random_below(&seed, ADDRESSES);
        uint64_t bytes = 1 + random_below(&seed, ADDRESSES - from);
        size_t at = cebus_spans_cover(items, &count, sizeof *items, from, bytes);
        cr_assert_leq(count, ADDRESSES + 1);
        cr_expect_eq(items[at].offset, from);
        cr_expect_eq(items[at].mark, marks[from], "as it was");
        cr_expect(at + 1 < count && items[at + 1].offset == from + bytes);
        items[at].mark = round;
        for (uint64_t a = from; a < from + bytes; a++)
            marks[a] = round;
        for (uint64_t a = 0; a < ADDRESSES; a++) {
            size_t i = cebus_spans_find(items, count, sizeof *items, a);
            cr_assert(items[i].offset <= a && (i + 1 == count || items[i + 1].offset > a));
            cr_assert_eq(items[i].mark, marks[a]);
        }
    }
    cr_expect_eq(items[cebus_spans_find(items, count, sizeof *items, UINT64_MAX)].mark, 0,
                 "nothing was written beyond");
}
