/**
 * trail.h: which bytes were let go since a launch by a plan began, and what the streams still did
 * with them then. A hole knows its last uses only as a whole: whoever takes a part of it waits for
 * what was done to all of it. A plan counts on less: that who takes bytes waits for these bytes.
 */
#ifndef CEBUS_EAGER_CAPTURE_TRAIL_H
#define CEBUS_EAGER_CAPTURE_TRAIL_H

#include "eager/runtime.h"

typedef struct cebus_released {
    uint64_t offset, bytes;
    uint64_t fence[CEBUS_FENCES];
} cebus_released;

typedef struct cebus_trail {
    cebus_released *items;
    size_t count, capacity;
    bool lost; /**< it is not complete: what holes know counts */
} cebus_trail;

/** A launch begins: all that is free now waits for all that was asked of the streams. */
void cebus_trail_begin(cebus_runtime *rt, cebus_trail *trail);
void cebus_trail_free(cebus_runtime *rt, cebus_trail *trail);

/** A block is about to be let go. */
void cebus_trail_add(cebus_runtime *rt, const cebus_block *block);
/** `stream` waits for what others still do with the bytes of a block it just took; false: the trail
 * does not know. */
bool cebus_trail_claim(cebus_runtime *rt, cebus_block *block, cebus_stream stream);

#endif
