/**
 * report_blocks.h: the blocks of the arena that are in use now, by address. No two share a byte.
 */
#ifndef REPORT_BLOCKS_H
#define REPORT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A block from one time to another, at one place. */
struct report_block {
    uint64_t ordinal; /**< in the order of a run, from 1 */
    uint64_t offset, bytes;
    uint64_t from; /**< where it was moved from; REPORT_NOT_MOVED: it was placed */
    uint64_t value;
    uint64_t begin_ns, end_ns; /**< end_ns: of a block that is gone */
    uint64_t call;             /**< calls of the program before it came */
    uint32_t op;               /**< that it came for: report_names.h */
    uint8_t memory_class;      /**< enum cebus_memory_class */
    bool guessed;              /**< its bytes: those of the value, at least */
};

#define REPORT_NOT_MOVED UINT64_MAX

/** At once; an arena of more would take hours to run. */
#define REPORT_MOST_BLOCKS ((size_t)1 << 20)

/** Zero is an empty set. */
struct report_blocks {
    void *root; /**< tsearch(3): blocks that overlap are equal */
    size_t count;
};

/** The block that begins there, or NULL. O(log n). */
struct report_block *report_blocks_find(const struct report_blocks *blocks, uint64_t offset);
/** Adds a copy; NULL when it overlaps one that is there. O(log n). */
struct report_block *report_blocks_add(struct report_blocks *blocks,
                                       const struct report_block *block);
/** Takes a block out and frees it. O(log n). */
void report_blocks_remove(struct report_blocks *blocks, struct report_block *block);
/** Any block; NULL when there is none. */
struct report_block *report_blocks_any(const struct report_blocks *blocks);
/** All of them by address: blocks->count pointers, to be freed. */
const struct report_block **report_blocks_list(const struct report_blocks *blocks);
void report_blocks_free(struct report_blocks *blocks);

#endif
