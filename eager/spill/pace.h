/**
 * pace.h: what it takes to move bytes, learned from what it took: so much each time, and so much a
 * byte. A least-squares line through the last thousand moves or so, in which a nanosecond counts
 * less the more bytes were moved: an unlucky large one must not hide what small ones cost.
 *
 *     ns  |            .  x
 *         |       x  .
 *         |    .  x           slope: ns a byte
 *         | x                 where it meets the axis: the latency
 *         +----------------
 *                     bytes
 */
#ifndef CEBUS_EAGER_SPILL_PACE_H
#define CEBUS_EAGER_SPILL_PACE_H

#include <cebus/base.h>

/** Weighted sums; zero at first. */
typedef struct cebus_pace {
    double n, x, y, xx, xy;
} cebus_pace;

void cebus_pace_add(cebus_pace *pace, uint64_t bytes, uint64_t ns);

/** *out_rate: bytes/s, above 0 once something was added. Moves of one size tell no latency: then it
 * is in the rate. */
void cebus_pace_fit(const cebus_pace *pace, uint64_t *out_rate, uint64_t *out_latency_ns);

#endif
