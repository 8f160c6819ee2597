/**
 * pack_wheel.h: squeaky wheel optimisation (Joslin and Clements, JAIR 1999): a packing by ranks
 * says which blocks come out too high; those go forward in the order, and all is packed again. A
 * block that is in trouble where it stands gets ahead in a few rounds, wherever its keys
 * (pack_order.h) put it.
 */
#ifndef CEBUS_LAYOUT_PACK_WHEEL_H
#define CEBUS_LAYOUT_PACK_WHEEL_H

#include "layout/pack_portfolio.h"

/**
 * Improves the packing of a part that ends above `target` bytes, for at most `rounds` packings.
 * `height`: where it ends, of which out_offset, units, is the packing; the lower one and its height
 * come back. Deterministic for a seed. Cost: a heuristic's (pack_skyline.h, pack_list.h) each
 * round.
 */
uint64_t cebus_pack_wheel_run(cebus_pack_portfolio *portfolio, const cebus_pack_part *part,
                              uint64_t target, uint64_t height, uint64_t rounds, uint64_t seed,
                              cebus_pack_stop *stop, uint64_t *out_offset);

#endif
