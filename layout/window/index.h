/**
 * index.h: cebus_window_find() without looking at every block: the same answer, found among
 * the few windows known to be cheap, and where time or a change may have made more of them.
 *
 * What holds between searches (numbers as in the tests):
 * I1. Of a size with a table, each window that does not come after what the table knows, by price,
 * evicted bytes and offset, is hot, with a line that is not below its 1/price now and at any later
 * time, unless its chunk is due; nothing else that starts in a chunk gets there before the chunk is
 * due. So an answer that does not come after that is exact. I2. Lines and times
 * price a BARRIER as if it were EVICTABLE, so that the owner may flip the two freely. I3. When a
 * single block gets to a level is known exactly, of no one's horizon. I4. An event concerns the
 * runs around it of every size asked for. A hole that serves a size alone is no window of that
 * size: while there is one, the plain sweep answers, and a new table takes over nothing of
 * another's. I5. A chunk number without blocks is not due and has nothing hot, in any table. I6. A
 * window is tried once in a search, whatever the time. I7. One clock. If it is set back, all tables
 * go. I8. What a chunk keeps of a block makes it no dearer than it is, and says where it lies,
 * unless it is noted.
 *
 * What the owner of a block must say: cebus_window_index_cheaper() whenever a block's weight falls,
 * its tick goes back or its haste grows, before the next search. A weight that rises, a tick that
 * moves on, a state that flips need no word. A block just placed weighs CEBUS_WEIGHT_WALL; the
 * first weight it is given is a fall, and so is to become EVICTABLE at that weight. The arena
 * itself says what it places, releases and moves.
 *
 * Without host memory, or for a size that was not asked for lately, the sweep answers, too. Where
 * all that following and looking comes near to what sweeps would have been, it forgets its tables
 * and leaves the sweep alone for a while.
 */
#ifndef CEBUS_LAYOUT_WINDOW_INDEX_H
#define CEBUS_LAYOUT_WINDOW_INDEX_H

#include "layout/window/chunk.h"
#include "layout/window/table.h"
#include "layout/window/window.h"

/** With fewer blocks than this the sweep is as quick (tests/bench/window.md). */
#if CEBUS_CHECKS >= 2
#define CEBUS_WINDOW_INDEX_BLOCKS 4
#else
#define CEBUS_WINDOW_INDEX_BLOCKS 3000
#endif

/** A size gets a table when it is asked for again within so many searches, or as many as there are
 * chunks: each table costs something at each change, so it must be of use soon. */
#define CEBUS_WINDOW_ASKED 64
/** Sizes that are remembered, by hash. */
#define CEBUS_WINDOW_SIZES 256

typedef struct cebus_window_asked {
    uint64_t bytes, query;
    uint64_t price; /**< of the answer that had no table, or the last of several */
} cebus_window_asked;

/**
 * Brings weight and state of a used block up to date: called on each block whose price a search
 * reads, before it does, so that an owner whose prices only rise unseen need not walk them all.
 */
typedef struct cebus_weigher {
    void (*weigh)(void *context, cebus_block *block); /**< NULL: they are */
    void *context;
} cebus_weigher;

/** What it did. */
typedef struct cebus_window_count {
    uint64_t searches, sweeps;
    uint64_t falls;  /**< of levels: nothing was at one any more */
    uint64_t looks;  /**< at chunks */
    uint64_t tries;  /**< at windows */
    uint64_t events; /**< changes worked out */
    uint64_t raises; /**< the same, for each table */
} cebus_window_count;

typedef struct cebus_window_index {
    cebus_arena *arena; /**< borrowed */
    cebus_chunks chunks;
    cebus_tables tables;
    uint64_t now; /**< of the last search */
    bool lost;    /**< it could not follow a change: to be built anew */
    cebus_window_asked asked[CEBUS_WINDOW_SIZES];
    uint64_t resting; /**< searches for which no size gets a table: they did not pay */
    cebus_window_count count, reviewed; /**< since it was made; by the last review */
} cebus_window_index;

/** Gives the arena an index; false without host memory. O(blocks). */
bool cebus_window_index_create(cebus_arena *arena);
/** NULL is allowed. The arena's own end does this, too. */
void cebus_window_index_destroy(cebus_window_index *index);

/** Of the arena: `block` was linked in, is about to be unlinked, became a hole or a larger one. */
void cebus_window_index_insert(cebus_window_index *index, cebus_block *block);
void cebus_window_index_erase(cebus_window_index *index, cebus_block *block);
/** Its price may have fallen. NULL index: nothing to do. O(1). */
void cebus_window_index_cheaper(cebus_window_index *index, cebus_block *block);

/**
 * As cebus_window_find_best(): the same windows, bit for bit. Typically O(chunks /
 * (CEBUS_GROUP x CEBUS_GROUPS) + chunks due x their blocks); at worst twice the sweep.
 */
size_t cebus_window_index_find(cebus_window_index *index, uint64_t bytes, uint64_t now,
                               const cebus_weigher *weigher, cebus_window *out, size_t limit);

/** Reads what was noted, so that what the chunks keep makes no block dearer than it is at `now`.
 * False without host memory: it could not follow. */
bool cebus_window_index_settle(cebus_window_index *index, uint64_t now);

/** Bytes of the largest hole: sizes up to it have windows that the index does not look for (I4). */
uint64_t cebus_window_index_hole(const cebus_window_index *index);

/** Verifies I1, I2 at the time of the last search (prices being up to date), I5, and that chunks
 * hold the arena's blocks. Only where nothing was noted since. O(tables x blocks x window). */
bool cebus_window_index_check(const cebus_window_index *index, char *why, size_t why_bytes);

#endif
