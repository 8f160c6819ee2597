/**
 * block.h: a range of the arena.
 *
 * Blocks tile [0, capacity) without gap or overlap; `prev` and `next` are address neighbours.
 * No two neighbours are both free. What a used block holds is the owner's business; layout sees
 * only an opaque owner, a weight and a tick, from which windows are priced (window.h).
 */
#ifndef CEBUS_LAYOUT_BLOCK_H
#define CEBUS_LAYOUT_BLOCK_H

#include <cebus/base.h>

typedef enum cebus_zone {
    CEBUS_ZONE_PERSISTENT, /**< parameters, optimizer state, buffers, gradients: the very bottom */
    CEBUS_ZONE_EXPENSIVE,  /**< dear to rebuild: grows up from the persistent end */
    CEBUS_ZONE_CHEAP,      /**< cheap to rebuild: grows down from the top */
    CEBUS_ZONE_TRANSIENT,  /**< workspace, replay scratch: dies within the call; from the top */
    CEBUS_ZONE_COUNT,
} cebus_zone;

typedef enum cebus_block_state {
    CEBUS_BLOCK_FREE,
    CEBUS_BLOCK_BARRIER,   /**< used and not to be given up now: pinned, foreign, unevictable */
    CEBUS_BLOCK_EVICTABLE, /**< used; the owner offers it at the price of `weight` and `tick` */
} cebus_block_state;

#define CEBUS_FENCES 3

/** The weight of a block that has no price yet. As a BARRIER it stays one until its owner has said
 * otherwise (window/index.h). */
#define CEBUS_WEIGHT_WALL UINT64_MAX

/** What a window search reads of every block is the first cache line of its record. */
typedef struct cebus_block {
    uint64_t offset;
    uint64_t bytes; /**< length of the range, a multiple of the arena's alignment */
    struct cebus_block *prev, *next; /**< address neighbours */
    void *owner;                     /**< opaque; NULL while free */
    union {
        struct {             /* while used */
            uint64_t weight; /**< opaque price numerator, e.g. ns to rebuild; owner writes it */
            uint64_t tick;   /**< when last used, on the owner's clock; owner writes it */
        };
        struct {                                    /* while free */
            struct cebus_block *bin_low, *bin_high; /**< children in the tree of its bin */
        };
    };
    uint8_t state;      /**< cebus_block_state; the owner may flip BARRIER <-> EVICTABLE */
    uint8_t zone;       /**< cebus_zone it was placed for */
    bool immovable : 1; /**< compaction must leave it in place (its address was handed out) */
    bool unmapped : 1;  /**< no bytes behind it (segments.h): a BARRIER that nobody owns or uses */
    int8_t haste;   /**< by so many binary digits its age counts more, at most; owner writes it */
    uint32_t chunk; /**< of the window index (window/chunk.h), where the arena has one */
    /** Last uses of these bytes, a number for each of the owner's streams; whoever takes the block
     * waits for them. Merged holes keep the greater numbers; parts of a hole inherit them. */
    uint64_t fence[CEBUS_FENCES];
} cebus_block;

/** NULL is no block, so not a free one. */
static inline bool cebus_block_is_free(const cebus_block *block)
{
    return block != NULL && block->state == CEBUS_BLOCK_FREE;
}

#endif
