#include "layout/pack/nogood.h"
#include "layout/pack/sort.h"
#include "random.h"

#include <criterion/criterion.h>
#include <stdlib.h>

TestSuite(pack_nogood);

enum {
    WORDS = 200,
    SETS = 100000
};

/** Set number `i`, and its hash. */
static uint64_t spell(uint64_t i, uint32_t *words)
{
    uint64_t seed = i;
    for (size_t w = 0; w < WORDS; w++)
        words[w] = (uint32_t)random_next(&seed);
    return random_next(&seed);
}

/** Nearly all: a set may have to make room for another one. */
Test(pack_nogood, what_was_added_is_known_and_nothing_else)
{
    int known = 0;
    cebus_pack_memory memory;
    cebus_pack_nogood table;
    uint32_t words[WORDS];
    cebus_pack_memory_init(&memory, NULL);
    cr_assert(cebus_pack_nogood_init(&table, &memory));
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t hash = spell(i, words);
        cr_assert_not(cebus_pack_nogood_has(&table, hash, words, WORDS));
        cebus_pack_nogood_add(&table, hash, words, WORDS);
    }
    for (uint64_t i = 0; i < 10000; i++) {
        uint64_t hash = spell(i, words);
        known += cebus_pack_nogood_has(&table, hash, words, WORDS);
        /* another set that has the same hash */
        words[i % WORDS]++;
        cr_assert_not(cebus_pack_nogood_has(&table, hash, words, WORDS));
        cr_assert_not(cebus_pack_nogood_has(&table, hash, words, WORDS - 1));
    }
    cr_expect_gt(known, 9900);
    cr_expect_not(table.guessed);
    cebus_pack_memory_release(&memory, NULL);
}

/** More than the ring holds: what is left of old sets is a hash, and using it is a guess. */
Test(pack_nogood, a_guess_is_marked_and_can_be_forbidden)
{
    cebus_pack_memory memory;
    cebus_pack_nogood table;
    uint32_t words[WORDS];
    cebus_pack_memory_init(&memory, NULL);
    cr_assert(cebus_pack_nogood_init(&table, &memory));
    for (int strict = 0; strict < 2; strict++) {
        for (uint64_t i = 0; i < SETS; i++) {
            uint64_t hash = spell(i, words);
            cebus_pack_nogood_add(&table, hash, words, WORDS);
        }
        cr_assert_gt(table.written, table.n_ring);
        uint64_t hash = spell(SETS - 1, words);
        cr_expect(cebus_pack_nogood_has(&table, hash, words, WORDS));
        cr_expect_not(table.guessed, "a set that is still there");
        hash = spell(0, words);
        cr_expect_eq(cebus_pack_nogood_has(&table, hash, words, WORDS), strict == 0);
        cr_expect_eq(table.guessed, strict == 0);
        cebus_pack_nogood_be_strict(&table);
        cr_expect_not(table.guessed);
        hash = spell(SETS - 1, words);
        cr_expect_not(cebus_pack_nogood_has(&table, hash, words, WORDS), "all is forgotten");
    }
    cebus_pack_memory_release(&memory, NULL);
}

Test(pack_nogood, sorting_is_stable)
{
    enum {
        ITEMS = 5000
    };
    static cebus_pack_keyed items[ITEMS], spare[ITEMS];
    uint64_t seed = 3;
    for (int round = 0; round < 100; round++) {
        size_t n = (size_t)random_below(&seed, ITEMS + 1);
        uint64_t kinds = 1 + random_below(&seed, 2 * ITEMS), scale = random_wide(&seed);
        for (size_t i = 0; i < n; i++)
            items[i] = (cebus_pack_keyed){random_below(&seed, kinds) * scale, (uint32_t)i};
        cebus_pack_sort(items, spare, n);
        for (size_t i = 1; i < n; i++) {
            cr_assert_leq(items[i - 1].key, items[i].key);
            cr_assert(items[i - 1].key < items[i].key || items[i - 1].item < items[i].item);
        }
    }
}
