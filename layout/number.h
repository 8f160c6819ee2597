/**
 * number.h: the smaller and the larger of two numbers, and numbers rounded up. Sums here may wrap;
 * those that must not are checked.h's.
 */
#ifndef CEBUS_LAYOUT_NUMBER_H
#define CEBUS_LAYOUT_NUMBER_H

#include <stdint.h>

static inline uint64_t cebus_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t cebus_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline int64_t cebus_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cebus_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/** How many pieces of `unit` cover `n`. */
static inline int64_t cebus_ceil_div(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit;
}

/** The next multiple of `unit`. */
static inline uint64_t cebus_round_up_u64(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static inline int64_t cebus_round_up_i64(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/** The next multiple of `unit`, a power of two. */
static inline uint64_t cebus_align_up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) & ~(unit - 1);
}

#endif
