/**
 * chooser.h: what a choice is made from, and what it answers (choose.h).
 */
#ifndef CEBUS_EVICT_CHOICE_CHOOSER_H
#define CEBUS_EVICT_CHOICE_CHOOSER_H

#include "evict/choice/move_terms.h"
#include "evict/policy.h"
#include "evict/regen.h"
#include "layout/arena.h"
#include "lineage/replay.h"

typedef struct cebus_chooser {
    const cebus_policy *policy;
    cebus_arena *arena;
    cebus_lineage *lineage;
    cebus_swap_terms swap;
    cebus_move_terms moves;
    bool replaying; /**< the request is a replay's */
    bool strained;  /**< rebuilding took longer than the program itself so far */
    bool waits;     /**< the device has nothing to do while the host chooses */
    uint64_t now;   /**< the runtime's clock, ns */
    /** Offer leaf gradients, too. They are small and to be read at the step; rebuilding one runs
     * most of the backward again, which no neighbourhood cost tells. */
    bool last_resort;
    /** Take weights and states as the last choice left them: for the second and later victims of
     * one request that needs many. What went since has only made its neighbours dearer. */
    bool keep_prices;
    /** A rebuild in short memory: what it reads soon goes last, single victims whatever the policy.
     * NULL: none. */
    const cebus_replay_cursor *rebuild;
    /** What takes longer than this to rebuild stays: a rebuild must not cost more than it gives.
     * 0: no limit. */
    uint64_t dearest;
    /** What calls with a higher serial made and somebody holds is taken for a gradient on its way,
     * which goes as a last resort. 0: none is. */
    uint64_t turn;
    struct cebus_standing *standing; /**< prices that outlast a choice (lowest.h); NULL: none do */
    bool compare;                    /**< fill in next_price: somebody wants to know what lost */
} cebus_chooser;

/** How a request is met (contest.h), and what becomes of the blocks in the range that do not go. */
typedef enum cebus_way {
    CEBUS_WAY_WINDOW,    /**< all go; also single victims, and policies with no other way */
    CEBUS_WAY_CLEARING,  /**< they are moved together, so that the hole is one */
    CEBUS_WAY_VACANCY,   /**< those in [from, to) move elsewhere: these bytes are the hole */
    CEBUS_WAY_SCATTERED, /**< they stay where they are */
    CEBUS_WAY_COUNT
} cebus_way;

static inline bool cebus_way_moves(cebus_way way)
{
    return way == CEBUS_WAY_CLEARING || way == CEBUS_WAY_VACANCY;
}

/** Blocks first..last (address neighbours): every EVICTABLE one of them is to go. None may be,
 * where blocks only move. */
typedef struct cebus_victims {
    cebus_block *first, *last; /**< NULL: nothing can be given up (that would help) */
    uint64_t price;            /**< what was paid, in window prices (layout/window/window.h) */
    uint64_t next_price;       /**< of the cheapest that lost; 0: nothing else could go */
    uint64_t from, to;         /**< offsets, of CEBUS_WAY_VACANCY */
    cebus_way way;
    bool weighs_moves; /**< ways that move blocks were compared with this one, too */
} cebus_victims;

#endif
