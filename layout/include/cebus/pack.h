/**
 * @file pack.h
 * Offline placement: blocks whose lifetimes are known in advance get offsets such that those that
 * live at the same time never overlap, within a capacity or as low as possible. (The problem is
 * known as dynamic storage allocation, and is NP-hard.)
 *
 * Two engines stand behind one call. Constructive heuristics take about a microsecond a block and
 * reach the largest sum of live bytes, which nothing can go below, on most real programs. Where
 * they do not, an exact search goes on until it has found a packing, has proved that there is
 * none, or is stopped by its bounds: a number of steps, which repeats on every machine, or a hook
 * of the caller's, which may look at a clock.
 *
 * Thread-safety: any thread may call; calls share nothing. Nothing here sets cebus_last_error():
 * the result says which block is wrong and why.
 */
#ifndef CEBUS_PACK_H
#define CEBUS_PACK_H

#include <cebus/base.h>

CEBUS_BEGIN_DECLS

/** Instead of a preset offset: the packer chooses. */
#define CEBUS_PACK_ANYWHERE UINT64_MAX
/** What numbers may add up to: the bytes and alignments of all blocks, a preset and its bytes. */
#define CEBUS_PACK_MAX_BYTES (UINT64_C(1) << 60)

/** A block: so many bytes from `lower` on, until just before `upper`. */
typedef struct cebus_pack_block {
    uint64_t lower;     /**< when it begins to live, on any clock */
    uint64_t upper;     /**< when it ends: exclusive, and above lower */
    uint64_t bytes;     /**< 0: takes no room, and gets an offset all the same */
    uint64_t alignment; /**< of its offset: a power of two; 0 means 1 */
} cebus_pack_block;

/** What a call came to. */
typedef enum cebus_pack_verdict {
    CEBUS_PACK_SOLVED,     /**< the offsets keep to the capacity */
    CEBUS_PACK_INFEASIBLE, /**< proved: no offsets do */
    CEBUS_PACK_UNDECIDED,  /**< stopped first: allow more steps or time, or a larger capacity */
} cebus_pack_verdict;

/** Why a packing was refused or proved impossible; `first` and `second` of the result say where. */
typedef enum cebus_pack_reason {
    CEBUS_PACK_NO_REASON,
    CEBUS_PACK_EMPTY_LIFETIME,        /**< refused: upper is not above lower */
    CEBUS_PACK_WRONG_ALIGNMENT,       /**< refused: the alignment is not a power of two */
    CEBUS_PACK_TOO_LARGE,             /**< refused: past CEBUS_PACK_MAX_BYTES, summed up to here */
    CEBUS_PACK_MISALIGNED_PRESET,     /**< refused: the preset is no multiple of the alignment */
    CEBUS_PACK_COLLIDING_PRESETS,     /**< refused: two blocks' presets overlap in time and place */
    CEBUS_PACK_BLOCK_ABOVE_CAPACITY,  /**< impossible: one block has more bytes than that */
    CEBUS_PACK_PRESET_ABOVE_CAPACITY, /**< impossible: a preset block ends past it */
    CEBUS_PACK_LOAD_ABOVE_CAPACITY,   /**< impossible: what lives when `first` begins is more */
    CEBUS_PACK_SEARCHED,              /**< impossible: the search has been through all packings */
} cebus_pack_reason;

/** How to pack. Start from CEBUS_PACK_OPTIONS_INIT: all zero is minimise, heuristics only. */
typedef struct cebus_pack_options {
    size_t struct_size; /**< sizeof this struct, as the caller was compiled */
    uint64_t capacity;  /**< no block may end above it; 0: no such limit, and minimise */
    bool minimise;      /**< as low as possible, not only within the capacity */
    /** An offset or CEBUS_PACK_ANYWHERE for each block; NULL: all anywhere. */
    const uint64_t *presets;
    /** Nodes the exact search may visit, each some microseconds per hundred blocks; 0: none. */
    uint64_t max_steps;
    /** Asked now and then, every few milliseconds unless blocks are many; false ends the call with
     * the best that it has. NULL: go on. */
    bool (*go_on)(void *context);
    void *context;                    /**< handed to go_on */
    const cebus_host_allocator *host; /**< NULL: malloc and free */
    uint64_t seed;                    /**< other seeds, other random orders */
    /** Further tries for each part of the blocks that the heuristics leave too high: in each one
     * the blocks that ended too high are placed earlier. 0: none. They come before the exact
     * search, and are far quicker than it where there are many blocks. */
    uint64_t rounds;
    /** Packings that end above the capacity are of no use: each is given up as soon as that is
     * known, which is far quicker. A packing within the capacity is the same as without this; where
     * none is found no offsets are answered. Ignored where the call minimises or searches, and
     * by those of the rounds that another one follows from. */
    bool fits_only;
    /** The first heuristic order is packed to its end even if go_on has said no before, so that
     * there is an answer: a second or two for a million blocks, longer around presets. */
    bool at_least_one;
    /** Steps of a repair of what the rounds leave too high: in each one a block goes where it takes
     * the place of as little as it can, which then waits for a place itself. 0: none. They come
     * before the exact search. Where they fail the packing is answered in which the least of bytes
     * and time lies too high. Ignored where the call minimises. */
    uint64_t repairs;
} cebus_pack_options;

/** All defaults. */
#define CEBUS_PACK_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .struct_size = sizeof(cebus_pack_options)                                                  \
    }

/** What a call found. Filled up to struct_size. */
typedef struct cebus_pack_result {
    size_t struct_size;         /**< sizeof this struct, as the caller was compiled */
    cebus_pack_verdict verdict; /**< meaningful when the call returned CEBUS_OK */
    cebus_pack_reason reason;   /**< of a refusal or a proof */
    size_t first;               /**< the block that the reason is about, by index */
    size_t second;              /**< the other one, where it is about two */
    uint64_t height;            /**< of the offsets found: the highest end. 0: none found */
    uint64_t bound;             /**< proved: no packing is lower */
    uint64_t max_load;          /**< the most bytes that live at once */
    uint64_t steps;             /**< nodes the exact search visited */
} cebus_pack_result;

/** To be handed to cebus_pack(). */
#define CEBUS_PACK_RESULT_INIT                                                                     \
    {                                                                                              \
        .struct_size = sizeof(cebus_pack_result)                                                   \
    }

/**
 * Chooses offsets for `n` blocks. Which offsets depends on the arguments alone, as long as go_on
 * never ends the call.
 *
 * CEBUS_OK: see out_result->verdict. SOLVED: out_offsets has an offset for each block, multiples of
 * their alignments; presets are kept. Of UNDECIDED, out_offsets holds the lowest packing found if
 * out_result->height is not 0; it ends above the capacity. Otherwise out_offsets is untouched.
 * Minimising without a capacity solves, unless go_on ends it before the first heuristic order has
 * and at_least_one is not set; it is optimal where height equals bound.
 *
 * CEBUS_INVALID_ARGUMENT: see out_result->reason. CEBUS_OUT_OF_HOST_MEMORY: nothing was written
 * but out_result. `options` NULL means all defaults.
 *
 * Cost: O(n log n) typically for each of at most nine heuristic orders, O(n^2) around presets; the
 * same a round; O(n) a step.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_pack(const cebus_pack_block *blocks, size_t n,
                                                   const cebus_pack_options *options,
                                                   uint64_t *out_offsets,
                                                   cebus_pack_result *out_result);

/** The reason as a clause, as in "its lifetime is empty". Never NULL. */
CEBUS_API const char *cebus_pack_reason_text(cebus_pack_reason reason);

CEBUS_END_DECLS

#endif
