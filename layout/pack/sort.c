#include "layout/pack/sort.h"

#include <string.h>

enum {
    DIGITS = 8,
    VALUES = 256,
    FEW = 48 /* are put in one by one: to count what their digits are takes longer */
};

static void insert_each(cebus_pack_keyed *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const cebus_pack_keyed item = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static unsigned digit_of(uint64_t key, int digit)
{
    return (unsigned)(key >> 8 * digit & (VALUES - 1));
}

static void move_by_digit(const cebus_pack_keyed *from, cebus_pack_keyed *to, size_t n, int digit,
                          const size_t *counts)
{
    size_t starts[VALUES];
    size_t sum = 0;
    for (int value = 0; value < VALUES; value++) {
        starts[value] = sum;
        sum += counts[value];
    }
    for (size_t i = 0; i < n; i++)
        to[starts[digit_of(from[i].key, digit)]++] = from[i];
}

static void sort_by_digits(cebus_pack_keyed *items, cebus_pack_keyed *spare, size_t n)
{
    size_t counts[DIGITS][VALUES] = {{0}};
    cebus_pack_keyed *from = items, *to = spare;
    for (size_t i = 0; i < n; i++) {
        for (int digit = 0; digit < DIGITS; digit++)
            counts[digit][digit_of(items[i].key, digit)]++;
    }
    for (int digit = 0; digit < DIGITS; digit++) {
        if (counts[digit][digit_of(items[0].key, digit)] == n)
            continue; /* all alike */
        move_by_digit(from, to, n, digit, counts[digit]);
        cebus_pack_keyed *moved = to;
        to = from;
        from = moved;
    }
    if (from != items)
        memcpy(items, from, n * sizeof *items);
}

void cebus_pack_sort(cebus_pack_keyed *items, cebus_pack_keyed *spare, size_t n)
{
    if (n <= FEW)
        insert_each(items, n);
    else
        sort_by_digits(items, spare, n);
}
