/**
 * window_bound.h: what 1/price of any window of a set can be at most, now and later.
 *
 * While nothing but time goes by, a window's price P(t) = sum w/(t - tick) only falls, and
 * 1/P(t) is concave in t (resistors in parallel), so it stays below its tangent:
 *
 *     1/P(t0 + d) <= 1/P + d Q/P^2      P = sum w/a, Q = sum w/a^2 at t0, a = t0 - tick
 *
 * The greatest of many such lines is convex. So up to any time T it lies below the chord from its
 * value at t0 to that at T, and from T on below a line of the steepest one's slope:
 *
 *     1/P |                  .'   near: the chord      far: from T on
 *         |               . '     The greater of the two is the bound: exact at t0 and at T,
 *         |         ..--''        a little too much in between and beyond.
 *         |..--'''
 *         +---------------+------ t
 *        t0               T
 *
 * Times are those since some epoch, not long ago: lines are kept by their value there. Prices
 * proper are integers, rounded up (window.h): no less than real ones.
 */
#ifndef CEBUS_LAYOUT_WINDOW_BOUND_H
#define CEBUS_LAYOUT_WINDOW_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/** "Anything is possible": above 1/P of any price. */
#define CEBUS_BOUND_OPEN 1e20
/** A bound times a price below this: no window of the set has that price. The rest of 1 covers
 * what sums and lines lose, */
#define CEBUS_BOUND_SURE 0.9999
/** if epochs are no longer ago than this. */
#define CEBUS_BOUND_EPOCH (INT64_C(1) << 36)
/** A chord ends where answers are at the time, but not before the set got cheaper by this. */
#define CEBUS_BOUND_CHEAPER 1.25
#define CEBUS_BOUND_LONGEST 0x1p40

/** 1/price may be base + rise x t. */
typedef struct cebus_line {
    double base, rise;
} cebus_line;

typedef struct cebus_bound {
    cebus_line near, far; /**< far.rise >= near.rise; the greater counts; all 0: no window */
} cebus_bound;

static inline double cebus_line_at(const cebus_line *line, double t)
{
    return line->base + line->rise * t;
}

static inline double cebus_bound_at(const cebus_bound *bound, double t)
{
    double near = cebus_line_at(&bound->near, t), far = cebus_line_at(&bound->far, t);
    return near > far ? near : far;
}

/** Through (t, value). */
static inline cebus_line cebus_line_through(double t, double value, double rise)
{
    return (cebus_line){value - rise * t, rise};
}

static inline cebus_bound cebus_bound_open(void)
{
    cebus_line line = {CEBUS_BOUND_OPEN, 0};
    return (cebus_bound){line, line};
}

/** Of a set whose lines reach at most `now` at t and `later` at t + horizon and rise by at most
 * `rise`. */
static inline cebus_bound cebus_bound_of(double t, double now, double horizon, double later,
                                         double rise)
{
    double chord = later > now ? (later - now) / horizon : 0;
    rise = rise > chord ? rise : chord;
    return (cebus_bound){cebus_line_through(t, now, chord),
                         cebus_line_through(t + horizon, later > now ? later : now, rise)};
}

/** What 1/price of windows must be, at most, for one of them to cost `price` or less. One that
 * costs nothing has an open bound. */
static inline double cebus_bound_least(uint64_t price)
{
    return CEBUS_BOUND_SURE / ((double)price + 1e-12);
}

/** Is the bound not below the line from `t` on? Where near and far meet, too, if that is to come;
 * without a division. */
static inline bool cebus_bound_covers(const cebus_bound *bound, const cebus_line *line, double t)
{
    const cebus_line *near = &bound->near, *far = &bound->far;
    double value = cebus_line_at(line, t), at_near = cebus_line_at(near, t);
    double at_far = cebus_line_at(far, t);
    bool meets = at_near > at_far;
    return (meets ? at_near : at_far) >= value && far->rise >= line->rise &&
           (!meets || (line->base - far->base) * (far->rise - near->rise) <=
                          (far->rise - line->rise) * (near->base - far->base));
}

/** Makes the bound hold for a line, too, from `t` on. Near and far meet where they did. */
static inline void cebus_bound_raise(cebus_bound *bound, const cebus_line *line, double t)
{
    if (cebus_bound_covers(bound, line, t))
        return;
    double now = cebus_bound_at(bound, t), value = cebus_line_at(line, t);
    double steeper = bound->far.rise - bound->near.rise;
    double end = steeper > 0 ? (bound->near.base - bound->far.base) / steeper : t;
    double rise = bound->far.rise > line->rise ? bound->far.rise : line->rise;
    now = now > value ? now : value;
    if (end - t < 1) {
        bound->near = bound->far = cebus_line_through(t, now, rise);
        return;
    }
    double later = cebus_line_at(&bound->far, end), reached = cebus_line_at(line, end);
    *bound = cebus_bound_of(t, now, end - t, later > reached ? later : reached, rise);
}

/** Makes `into` hold for the windows of `other`, too, from `t` on. */
static inline void cebus_bound_join(cebus_bound *into, const cebus_bound *other, double t)
{
    cebus_bound_raise(into, &other->near, t);
    cebus_bound_raise(into, &other->far, t);
}

#endif
