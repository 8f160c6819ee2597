/**
 * demotion.h: moves values from host memory on to the spill file. Where host memory for values is
 * used up, those that have been off the device for longest go to the file and make room for those
 * that leave now: what a forward made first its backward reads last.
 *
 *     device -> host memory | x9 x8 x7 x6 x5 |  -> file | x4 x3 x2 x1 |
 *                             warmest   coldest
 *
 * Little room left starts it, so that who needs room finds some. A value keeps its bytes on the
 * host, and may be copied back from there, until they are known to be in the file: a write that
 * fails costs nothing but the try.
 */
#ifndef CEBUS_EAGER_SWAP_DEMOTION_H
#define CEBUS_EAGER_SWAP_DEMOTION_H

#include "eager/runtime.h"

/** Its bytes are on the device again, or wanted no more: what is under way for it comes to nothing.
 */
void cebus_demotion_cancel(cebus_runtime *rt, const cebus_candidate *candidate);

/** Host memory was taken: starts what should be gone before more is. Waits for nothing. */
void cebus_demotion_look(cebus_runtime *rt);
/** Sends so many bytes to the file, or as many as there are and as go, and waits for them. */
void cebus_demotion_make_room(cebus_runtime *rt, uint64_t bytes);

#endif
