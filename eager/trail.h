/**
 * trail.h: the last use of free bytes by each stream, stretch by stretch. A free block keeps its
 * last uses only as a whole: whoever took a part of it would wait for what was done to all of it,
 * such as a copy that still leaves from its far end. The trail tells the stretches of it apart:
 *
 *     hole    [                free                 )
 *     trail   [ read till 7 )[ copied out till 9 )[ - )
 *     taken      [-----)                               waits for 7, not for 9
 *
 * It is kept from the first copy on: a program that copies nothing has one stream.
 */
#ifndef CEBUS_EAGER_TRAIL_H
#define CEBUS_EAGER_TRAIL_H

#include <cebus/runtime.h>

#include "eager/device/device.h"
#include "layout/block.h"

/** From its offset to that of the next one, which some block took or left as a whole. */
typedef struct cebus_stretch {
    uint64_t offset;
    uint64_t fence[CEBUS_FENCES];
} cebus_stretch;

typedef struct cebus_trail {
    cebus_stretch *items; /**< by offset, the first at 0; none: it is not kept, and what holes know
                               counts */
    size_t count, capacity;
} cebus_trail;

/** A copy is about to be asked for. */
void cebus_trail_begin(cebus_runtime *rt);
void cebus_trail_free(cebus_runtime *rt);

/** A block is about to be let go, or was moved from an offset by compute. */
void cebus_trail_add(cebus_runtime *rt, const cebus_block *block, uint64_t offset);
/** `stream` waits for what others still do with the bytes of a block it just took; false: the trail
 * is not kept. O(log stretches, and those of the block). */
bool cebus_trail_claim(cebus_runtime *rt, cebus_block *block, cebus_stream stream);

#endif
