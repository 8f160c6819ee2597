/**
 * wheel.h: squeaky wheel optimisation (Joslin and Clements, JAIR 1999): a packing by ranks
 * says which blocks come out too high; those go forward in the order, and all is packed again. A
 * block that is in trouble where it stands gets ahead in a few rounds, wherever its keys
 * (order.h) put it.
 */
#ifndef CEBUS_LAYOUT_PACK_WHEEL_H
#define CEBUS_LAYOUT_PACK_WHEEL_H

#include "layout/pack/portfolio.h"

/** A part, and the lowest packing of it so far. */
typedef struct cebus_pack_wheel {
    cebus_pack_portfolio *portfolio; /**< heuristics, and room for their trials */
    const cebus_pack_part *part;
    uint64_t target;  /**< bytes: where it may end */
    uint64_t limit;   /**< units: what ends there or above is of no use */
    uint64_t height;  /**< bytes: where `offset` ends */
    uint64_t *offset; /**< units; the first is the part's first block's */
    uint64_t seed;
} cebus_pack_wheel;

/**
 * Lowers the packing in at most `rounds` trials, until it ends at the target. Deterministic for a
 * seed. Cost: a heuristic's (skyline.h, list.h) each round.
 */
void cebus_pack_wheel_run(cebus_pack_wheel *wheel, uint64_t rounds, cebus_pack_stop *stop);

#endif
