/**
 * look.h: looks at the blocks themselves, for index.h: at one window, at all that
 * start in one chunk, at all.
 *
 * Both read what the chunks keep of the blocks, which makes no run dearer than it is. A window
 * that may win by that is read anew, block by block; if it was kept too cheap, the look begins
 * again with what is known now.
 */
#ifndef CEBUS_LAYOUT_WINDOW_LOOK_H
#define CEBUS_LAYOUT_WINDOW_LOOK_H

#include "layout/window/index.h"
#include "layout/window/pool.h"

/** One search, under way. */
typedef struct cebus_window_search {
    cebus_window_index *index;
    cebus_table *table; /**< NULL: of a size that has none */
    uint64_t bytes, now;
    cebus_weigher weigher;
    const cebus_window *taken; /**< windows no other may share a block with */
    size_t n_taken;
    bool brief;              /**< most windows are of few blocks */
    cebus_window best;       /**< so far; first NULL: none */
    cebus_window_pool *pool; /**< several are wanted: theirs, instead; or NULL */
} cebus_window_search;

/** What is no better cannot win; NULL: anything can. */
static inline const cebus_window *cebus_window_search_last(const cebus_window_search *search)
{
    if (search->pool != NULL)
        return cebus_window_pool_last(search->pool);
    return search->best.first != NULL ? &search->best : NULL;
}

/** What costs more cannot win; UINT64_MAX: anything can. */
static inline uint64_t cebus_window_search_most(const cebus_window_search *search)
{
    const cebus_window *last = cebus_window_search_last(search);
    return last != NULL ? last->price : UINT64_MAX;
}

static inline void cebus_window_weigh(const cebus_window_search *search, cebus_block *block)
{
    if (search->weigher.weigh != NULL && block->state != CEBUS_BLOCK_FREE)
        search->weigher.weigh(search->weigher.context, block);
}

/** Betters search->best by all runs of at least search->bytes, without a table. O(blocks), pricing
 * few of them. */
void cebus_window_look_all(cebus_window_search *search);

/** Finds what is hot in a chunk of search->table, and when more may be; false if there was no room
 * for all: it is due still. O(blocks of the chunk + of one window). */
bool cebus_window_learn(cebus_window_search *search, uint32_t chunk);

/** Where a hot window starts; the place is `count` of the chunk if it is gone. */
cebus_seat cebus_window_seat(const cebus_window_search *search, uint32_t hot);

/** The bytes evicted by the shortest run of search->bytes from a spot on, by what is kept. */
uint64_t cebus_window_evicted(const cebus_window_search *search, cebus_seat at);

/** Betters search->best by a hot window, makes its line exact. False: it is not hot, or gone; it is
 * to be removed. O(its blocks). */
bool cebus_window_try(cebus_window_search *search, uint32_t hot);

#endif
