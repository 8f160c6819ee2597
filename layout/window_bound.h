/**
 * window_bound.h: what 1/price of any window of a set can be at most, now and later.
 *
 * While nothing but time goes by, a window's price P(t) = sum w/(t - tick) only falls, and
 * 1/P(t) is concave in t (resistors in parallel), so it stays below its tangent:
 *
 *     1/P(t0 + d) <= 1/P + d Q/P^2      P = sum w/a, Q = sum w/a^2 at t0, a = t0 - tick
 *
 * The greatest of many such lines is convex, so up to a horizon H it lies below the chord from its
 * value at t0 (`now`) to that at t0 + H (`later`), and beyond H below later * d/H. Both are one
 * formula: with r = d/H, later * r + now * max(0, 1 - r). It is exact at t0 and loosens with d/a.
 *
 * Numbers are floats, always rounded towards "may be cheaper". Prices proper are integers
 * (window.h), each less than 1 below its real number, so a run of n blocks costs more than 1/bound
 * - n.
 */
#ifndef CEBUS_LAYOUT_WINDOW_BOUND_H
#define CEBUS_LAYOUT_WINDOW_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/** "Anything is possible": above 1/P of any price. */
#define CEBUS_BOUND_OPEN 1e20f
/** A bound times a price below this: no window of the set has that price. The rest of 1 covers
 * what floats lose. */
#define CEBUS_BOUND_SURE 0.9999
/** A step of float arithmetic, rounded up. */
#define CEBUS_BOUND_UP 1.000002f

typedef struct cebus_bound {
    uint64_t since;   /**< t0 */
    float now, later; /**< at t0 and at t0 + H; later >= now >= 0, both 0: no window at all */
    float rate;       /**< 1/H */
    uint32_t blocks;  /**< no run behind it has more */
} cebus_bound;

static inline cebus_bound cebus_bound_open(uint64_t t)
{
    return (cebus_bound){
        .since = t, .now = CEBUS_BOUND_OPEN, .later = CEBUS_BOUND_OPEN, .rate = 1, .blocks = 1};
}

/** Of a set whose windows' lines reach at most `now` at t and `later` at t + horizon. */
static inline cebus_bound cebus_bound_of(uint64_t t, double now, double later, double horizon)
{
    cebus_bound bound = {.since = t, .rate = (float)(1 / horizon)};
    later = later > now ? later : now;
    bound.now = now < CEBUS_BOUND_OPEN ? (float)now * CEBUS_BOUND_UP : CEBUS_BOUND_OPEN;
    bound.later = later < CEBUS_BOUND_OPEN ? (float)later * CEBUS_BOUND_UP : CEBUS_BOUND_OPEN;
    return bound;
}

/** At r horizons after `since`. */
static inline float cebus_bound_value(const cebus_bound *bound, float r)
{
    return bound->later * r + bound->now * (r < 1 ? 1 - r : 0);
}

/** Horizons from `since` to `t`, not before it. */
static inline float cebus_bound_horizons(const cebus_bound *bound, uint64_t t)
{
    return (float)(t - bound->since) * bound->rate;
}

/** May one of the windows cost `price` or less, when the bound is at `value`? */
static inline bool cebus_bound_allows(const cebus_bound *bound, float value, uint64_t price)
{
    return (double)value * ((double)price + (double)bound->blocks) > CEBUS_BOUND_SURE;
}

/** At `t`, not before `since`. */
static inline float cebus_bound_at(const cebus_bound *bound, uint64_t t)
{
    return cebus_bound_value(bound, cebus_bound_horizons(bound, t));
}

/** Is `outer` at least `inner` from `t` on? Both are convex, and `outer` is straight up to its
 * horizon and again from there on. */
static inline bool cebus_bound_covers(const cebus_bound *outer, const cebus_bound *inner,
                                      uint64_t t)
{
    float r = cebus_bound_horizons(outer, t), s = cebus_bound_horizons(inner, t);
    float ahead = r < 1 ? (1 - r) * inner->rate / outer->rate : 0;
    return outer->blocks >= inner->blocks &&
           cebus_bound_value(outer, r) >= cebus_bound_value(inner, s) &&
           outer->later * (r < 1 ? 1 : r) >= cebus_bound_value(inner, s + ahead) &&
           outer->later * outer->rate >= inner->later * inner->rate;
}

/** Makes `into` hold for the windows of `other`, too, from `t` on. Keeps into's horizon, unless it
 * had no windows. */
static inline void cebus_bound_join(cebus_bound *into, const cebus_bound *other, uint64_t t)
{
    if (other->later <= 0)
        return;
    if (into->later <= 0) {
        *into = *other;
        return;
    }
    if (cebus_bound_covers(into, other, t))
        return;
    float r = cebus_bound_horizons(into, t), s = cebus_bound_horizons(other, t);
    float now = cebus_bound_value(into, r), later = into->later * (r + 1);
    float other_now = cebus_bound_value(other, s);
    float other_later = cebus_bound_value(other, s + other->rate / into->rate);
    now = now > other_now ? now : other_now;
    later = later > other_later ? later : other_later;
    later = later > now ? later : now;
    into->since = t;
    into->blocks = into->blocks > other->blocks ? into->blocks : other->blocks;
    into->now = now < CEBUS_BOUND_OPEN ? now * CEBUS_BOUND_UP : CEBUS_BOUND_OPEN;
    into->later = later < CEBUS_BOUND_OPEN ? later * CEBUS_BOUND_UP : CEBUS_BOUND_OPEN;
}

#endif
