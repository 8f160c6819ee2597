/**
 * window_look.h: looks at the blocks themselves, for window_index.h: at all windows that start in
 * one chunk, and at the runs around one block that may have become cheaper.
 *
 * Both read what the chunks keep of the blocks, which makes no run dearer than it is. A window
 * that may win by that is read anew, block by block; if it was kept too cheap, the look begins
 * again with what is known now.
 */
#ifndef CEBUS_LAYOUT_WINDOW_LOOK_H
#define CEBUS_LAYOUT_WINDOW_LOOK_H

#include "layout/window_index.h"
#include "layout/window_pool.h"

/** One search, under way. */
typedef struct cebus_window_search {
    cebus_window_index *index;
    cebus_table *table; /**< NULL: of a size that has none */
    uint64_t bytes, now;
    cebus_weigher weigher;
    const cebus_window *taken; /**< windows no other may share a block with */
    size_t n_taken;
    cebus_window best;       /**< so far; first NULL: none */
    cebus_window_pool *pool; /**< several are wanted: theirs, instead; or NULL */
} cebus_window_search;

/** What costs more cannot win; UINT64_MAX: anything can. */
static inline uint64_t cebus_window_search_most(const cebus_window_search *search)
{
    if (search->pool != NULL)
        return cebus_window_pool_most(search->pool);
    return search->best.first != NULL ? search->best.price : UINT64_MAX;
}

/** Looks at the runs of at least `bytes` that start in `chunk`: betters search->best, bounds them
 * in the table. O(blocks of the chunk + of one window). */
void cebus_window_look(cebus_window_search *search, uint32_t chunk);

/** Reads what was noted since the last search, and turns it into events of the tables. */
void cebus_window_settle(cebus_window_search *search);

#endif
