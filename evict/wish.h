/**
 * wish.h: what a hint (<cebus/hint.h>) means to the chooser and to who carries out plans.
 * Pure functions.
 */
#ifndef CEBUS_EVICT_WISH_H
#define CEBUS_EVICT_WISH_H

#include <cebus/hint.h>

#include "evict/candidate.h"

/** "Prefer" moves a price by so much, as a power of two; "must" by so much. */
#define CEBUS_WISH_PREFER 4
#define CEBUS_WISH_MUST 8

/** Only the last resort may take it. */
static inline bool cebus_wish_saves(const cebus_candidate *candidate)
{
    return candidate->hint == CEBUS_HINT_MUST_SAVE;
}

/** It is made again, not copied, where that is possible. */
static inline bool cebus_wish_recomputes(const cebus_candidate *candidate)
{
    return (candidate->hint == CEBUS_HINT_MUST_RECOMPUTE ||
            candidate->hint == CEBUS_HINT_PREFER_RECOMPUTE) &&
           cebus_value_is_replayable(&candidate->value);
}

/** It is copied off the device, not made again, where that is possible. */
static inline bool cebus_wish_offloads(const cebus_candidate *candidate)
{
    return candidate->hint == CEBUS_HINT_MUST_CPU_OFFLOAD ||
           candidate->hint == CEBUS_HINT_PREFER_CPU_OFFLOAD;
}

/** Binary digits by which the price moves, up if positive; by the method it was priced for. */
static inline int cebus_wish_shift(const cebus_candidate *candidate)
{
    bool drop = candidate->method == CEBUS_GO_DROP;
    switch (candidate->hint) {
    case CEBUS_HINT_MUST_SAVE:
        return CEBUS_WISH_MUST; /* among those that the last resort may take */
    case CEBUS_HINT_PREFER_SAVE:
        return CEBUS_WISH_PREFER;
    case CEBUS_HINT_MUST_RECOMPUTE:
        return drop ? -CEBUS_WISH_MUST : 0;
    case CEBUS_HINT_PREFER_RECOMPUTE:
        return drop ? -CEBUS_WISH_PREFER : 0;
    case CEBUS_HINT_MUST_CPU_OFFLOAD:
        return drop ? 0 : -CEBUS_WISH_MUST;
    case CEBUS_HINT_PREFER_CPU_OFFLOAD:
        return drop ? 0 : -CEBUS_WISH_PREFER;
    default:
        return 0;
    }
}

/** Binary digits by which its age counts more to who goes by age, whatever the method; at most. */
static inline int8_t cebus_wish_haste(const cebus_candidate *candidate)
{
    switch (candidate->hint) {
    case CEBUS_HINT_NONE:
        return 0;
    case CEBUS_HINT_MUST_SAVE:
        return -CEBUS_WISH_MUST;
    case CEBUS_HINT_PREFER_SAVE:
        return -CEBUS_WISH_PREFER;
    case CEBUS_HINT_PREFER_RECOMPUTE:
    case CEBUS_HINT_PREFER_CPU_OFFLOAD:
        return CEBUS_WISH_PREFER;
    default:
        return CEBUS_WISH_MUST;
    }
}

/** `price` moved by so many binary digits; what is not free stays above zero. */
static inline uint64_t cebus_wish_price(uint64_t price, int shift)
{
    if (shift > 0)
        return price > UINT64_MAX >> shift ? UINT64_MAX : price << shift;
    return price == 0 ? 0 : (price >> -shift) + (shift != 0);
}

#endif
