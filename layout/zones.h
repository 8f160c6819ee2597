/**
 * zones.h: which end of the arena, and of a hole, a block is placed at (Coop, NeurIPS'23: place
 * together what is evicted together, so that windows are cheap and whole). PERSISTENT and
 * EXPENSIVE grow up from offset 0, CHEAP and TRANSIENT down from the top. Boundaries are soft:
 * a zone with no room of its own takes any hole that fits.
 */
#ifndef CEBUS_LAYOUT_ZONES_H
#define CEBUS_LAYOUT_ZONES_H

#include "layout/block.h"

static inline bool cebus_zone_grows_up(cebus_zone zone)
{
    return zone == CEBUS_ZONE_PERSISTENT || zone == CEBUS_ZONE_EXPENSIVE;
}

const char *cebus_zone_name(cebus_zone zone);

/**
 * The class of a value from its cost density (ns to rebuild per byte) against a running median
 * of all densities seen: above is EXPENSIVE, else CHEAP. Op names play no part. A class that was
 * given `before` (CEBUS_ZONE_COUNT: none was) stays until the density is CEBUS_DENSITY_STICKS times
 * on the other side of the median: values of one op lie together.
 */
#define CEBUS_DENSITY_STICKS 2

typedef struct cebus_density {
    uint64_t median; /**< fixed point: ns << 16 per byte; moves by a small step per sample */
    uint64_t samples;
} cebus_density;

cebus_zone cebus_density_classify(cebus_density *density, uint64_t cost_ns, uint64_t bytes,
                                  cebus_zone before);

#endif
