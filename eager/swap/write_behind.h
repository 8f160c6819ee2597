/**
 * write_behind.h: copies off the device ahead of need, where nothing was planned. When little
 * memory is free, what would go next is copied while the program computes, so that a request that
 * needs its room finds it clean: it gives the bytes up at once, with no copy to wait for.
 *
 *     free + clean   |=====......|      below the mark: the next victims are copied
 *                    0     mark  budget
 *
 * The bytes stay until somebody needs the room. A copy that nobody needed after all cost time on
 * the link and room off the device, so no other copy has to go for it, parameters and gradients,
 * which are written over soon, are left out, and so are values that cost less to make again.
 */
#ifndef CEBUS_EAGER_SWAP_WRITE_BEHIND_H
#define CEBUS_EAGER_SWAP_WRITE_BEHIND_H

#include "eager/runtime.h"

/** A request found its place. O(1) but for one search each time that a part of the budget was
 * placed. What it decides depends on values and bytes alone, not on how far copies are. */
void cebus_write_behind_look(cebus_runtime *rt);

#endif
