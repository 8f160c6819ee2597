/**
 * duration.h: exact integer arithmetic of times, amounts and rates. Results that do not fit stop at
 * CEBUS_NS_MAX: what takes longer than 146 years may take as long as it likes.
 */
#ifndef CEBUS_EAGER_DEVICE_SIM_DURATION_H
#define CEBUS_EAGER_DEVICE_SIM_DURATION_H

#include <stdint.h>

#define CEBUS_NS_MAX (UINT64_MAX >> 2)
#define CEBUS_NS_PER_S UINT64_C(1000000000)

__extension__ typedef unsigned __int128 cebus_wide;

/** a + b, both at most CEBUS_NS_MAX. */
static inline uint64_t cebus_ns_add(uint64_t a, uint64_t b)
{
    uint64_t sum = a + b;
    return sum < CEBUS_NS_MAX ? sum : CEBUS_NS_MAX;
}

/** ns that `amount` takes at `rate` a second, rounded up; rate > 0. */
static inline uint64_t cebus_ns_of(uint64_t amount, uint64_t rate)
{
    cebus_wide ns = ((cebus_wide)amount * CEBUS_NS_PER_S + rate - 1) / rate;
    return ns < CEBUS_NS_MAX ? (uint64_t)ns : CEBUS_NS_MAX;
}

/** What `rate` a second makes of `ns`, rounded down. */
static inline uint64_t cebus_amount_in(uint64_t ns, uint64_t rate)
{
    cebus_wide amount = (cebus_wide)ns * rate / CEBUS_NS_PER_S;
    return amount < UINT64_MAX ? (uint64_t)amount : UINT64_MAX;
}

/** a x b, UINT64_MAX where it does not fit. */
static inline uint64_t cebus_amount_mul(uint64_t a, uint64_t b)
{
    cebus_wide product = (cebus_wide)a * b;
    return product < UINT64_MAX ? (uint64_t)product : UINT64_MAX;
}

/** a + b, UINT64_MAX where it does not fit. */
static inline uint64_t cebus_amount_add(uint64_t a, uint64_t b)
{
    return a <= UINT64_MAX - b ? a + b : UINT64_MAX;
}

#endif
