/**
 * checked.h: size arithmetic that cannot wrap. Each function returns false, and leaves *out
 * alone, when the exact result does not fit.
 */
#ifndef CEBUS_LAYOUT_CHECKED_H
#define CEBUS_LAYOUT_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool cebus_checked_add(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a > UINT64_MAX - b)
        return false;
    *out = a + b;
    return true;
}

static inline bool cebus_checked_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *out = a * b;
    return true;
}

/** Rounds up to a multiple of `unit`, a power of two. */
static inline bool cebus_checked_align(uint64_t value, uint64_t unit, uint64_t *out)
{
    uint64_t sum;
    if (!cebus_checked_add(value, unit - 1, &sum))
        return false;
    *out = sum & ~(unit - 1);
    return true;
}

#endif
