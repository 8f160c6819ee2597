/** By key, ties as they came: however many there are. */
#include <criterion/criterion.h>

#include "layout/pack/sort.h"

TestSuite(pack_sort);

enum {
    MOST = 400
};

/** Keys that differ in their first digit, in their last one, or hardly at all. */
static uint64_t key_of(uint32_t i, uint32_t kind)
{
    const uint64_t noise = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return kind == 0 ? noise : kind == 1 ? noise >> 61 : (noise >> 60) << 56;
}

Test(pack_sort, by_key_and_ties_as_they_came)
{
    static cebus_pack_keyed items[MOST], spare[MOST];
    for (uint32_t kind = 0; kind < 3; kind++) {
        for (size_t n = 0; n <= MOST; n += n < 100 ? 1 : 50) {
            for (uint32_t i = 0; i < n; i++)
                items[i] = (cebus_pack_keyed){.key = key_of(i, kind), .item = i};
            cebus_pack_sort(items, spare, n);
            uint64_t sum = 0;
            for (size_t i = 0; i < n; i++) {
                sum += items[i].item;
                cr_assert_eq(items[i].key, key_of(items[i].item, kind));
                cr_assert(
                    i == 0 || items[i - 1].key < items[i].key ||
                        (items[i - 1].key == items[i].key && items[i - 1].item < items[i].item),
                    "%u: %zu of %zu", kind, i, n);
            }
            cr_assert_eq(sum, n * (n - (n > 0)) / 2, "each once");
        }
    }
}
