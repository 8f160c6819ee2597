/**
 * bound.h: what 1/price of a window, or of any window of a set, can be at most, now and
 * later.
 *
 * While nothing but time goes by, a window's price P(t) = sum w/(t - tick) only falls, and
 * 1/P(t) is concave in t (resistors in parallel), so it stays below its tangent:
 *
 *     1/P(t0 + d) <= 1/P + d Q/P^2      P = sum w/a, Q = sum w/a^2 at t0, a = t0 - tick
 *
 * Of one block that is 1/P itself. The greatest of many such lines is convex. So up to any time T
 * it lies below the chord from its value at t0 to that at T, and from T on below a line of the
 * steepest one's slope:
 *
 *     1/P |                  .'   near: the chord      far: from T on
 *         |               . '     The greater of the two is the bound: exact at t0 and at T,
 *         |         ..--''        a little too much in between and beyond.
 *         |..--'''
 *         +---------------+------ t
 *        t0               T
 *
 * Lines are kept by where they meet the axis, in floats that never make them lower: the age of
 * what they stand for is then as sure as a float is. Times are those since some epoch, not long
 * ago. Prices proper are integers, rounded up (window.h): no less than real ones.
 */
#ifndef CEBUS_LAYOUT_WINDOW_BOUND_H
#define CEBUS_LAYOUT_WINDOW_BOUND_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/** 1/price of what costs nothing: above that of any price. */
#define CEBUS_BOUND_OPEN 1e20
/** A bound times a price below this: no window of the set has that price. The rest of 1 covers
 * what sums lose. */
#define CEBUS_BOUND_SURE (1 - 1e-6)
/** Epochs are no longer ago than this. */
#define CEBUS_BOUND_EPOCH (INT64_C(1) << 36)
/** A chord ends where answers are at the time, but not before the set got cheaper by this. */
#define CEBUS_BOUND_CHEAPER 1.25
#define CEBUS_BOUND_LONGEST 0x1p40

/** 1/price may be rise x (t - zero); all 0: no window. */
typedef struct cebus_line {
    float rise, zero;
} cebus_line;

typedef struct cebus_bound {
    cebus_line near, far; /**< the greater counts */
    float until;          /**< where they meet */
} cebus_bound;

/** A time as a float that is not before it, and one that is not after it. */
static inline float cebus_bound_time(double t)
{
    float near = (float)t;
    return near + fabsf(near) * 0x1p-22F;
}

static inline float cebus_bound_time_before(double t)
{
    float near = (float)t;
    return near - fabsf(near) * 0x1p-22F;
}

static inline double cebus_line_at(const cebus_line *line, double t)
{
    return (double)line->rise * (t - (double)line->zero);
}

static inline double cebus_bound_at(const cebus_bound *bound, double t)
{
    double near = cebus_line_at(&bound->near, t), far = cebus_line_at(&bound->far, t);
    return near > far ? near : far;
}

/** Through (t, value), and not below it from there on. */
static inline cebus_line cebus_line_through(double t, double value, double rise)
{
    double least = value / CEBUS_BOUND_LONGEST; /* or else it would never meet the axis */
    rise = rise > least ? rise : least;
    if (rise <= 0)
        return (cebus_line){0, 0};
    return (cebus_line){(float)(rise * (1 + 0x1p-20)) + FLT_MIN,
                        cebus_bound_time_before(t - value / rise)};
}

/** Of a set whose lines reach at most `now` at t and `later` at t + horizon and rise by at most
 * `rise`. */
static inline cebus_bound cebus_bound_of(double t, double now, double horizon, double later,
                                         double rise)
{
    double chord = later > now ? (later - now) / horizon : 0;
    rise = rise > chord ? rise : chord;
    later = later > now ? later : now;
    return (cebus_bound){cebus_line_through(t, now, chord),
                         cebus_line_through(t + horizon, later, rise), (float)(t + horizon)};
}

/** What 1/price of windows must be, at most, for one of them to cost `price` or less. */
static inline double cebus_bound_least(uint64_t price)
{
    return CEBUS_BOUND_SURE / ((double)price + 1e-12);
}

#endif
