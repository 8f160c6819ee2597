/**
 * choose.h: the reactive chooser. A request did not fit: which values go? It answers with blocks
 * of candidates; the runtime drops them and places again.
 *
 * Every block whose owner is set must be owned by a cebus_candidate; blocks without an owner
 * (workspace) are barriers.
 */
#ifndef CEBUS_EVICT_CHOOSE_H
#define CEBUS_EVICT_CHOOSE_H

#include "evict/move_terms.h"
#include "evict/policy.h"
#include "evict/regen.h"
#include "evict/shortlist.h"
#include "layout/window.h"
#include "lineage/replay.h"

typedef struct cebus_chooser {
    const cebus_policy *policy;
    cebus_arena *arena;
    cebus_lineage *lineage;
    cebus_swap_terms swap;
    cebus_move_terms moves;
    bool replaying; /**< the request is a replay's */
    bool strained;  /**< rebuilding took longer than the program itself so far */
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
    struct cebus_standing *standing; /**< prices that outlast a choice (lowest.h); NULL: none do */
    bool compare;                    /**< fill in next_price: somebody wants to know what lost */
} cebus_chooser;

/** How a request was met; see contest.h. */
typedef enum cebus_way {
    CEBUS_WAY_WINDOW, /**< also of policies that have no other, and of single victims */
    CEBUS_WAY_CLEARING,
    CEBUS_WAY_VACANCY,
    CEBUS_WAY_SCATTERED,
    CEBUS_WAY_COUNT
} cebus_way;

/** Blocks first..last (address neighbours): every EVICTABLE one of them is to go. None may be,
 * where blocks only move. */
typedef struct cebus_victims {
    cebus_block *first, *last; /**< NULL: nothing can be given up (that would help) */
    uint64_t price;            /**< what was paid, in window prices (layout/window.h) */
    uint64_t next_price;       /**< of the cheapest that lost; 0: nothing else could go */
    uint64_t from, to;         /**< offsets, where it vacates */
    cebus_way way;
    bool moves;   /**< what stays between them is moved together then, for the hole to be one */
    bool vacates; /**< what stays in [from, to) moves elsewhere, for those bytes to be the hole */
    bool weighs_moves; /**< moving was among what was chosen from */
} cebus_victims;

/**
 * Whether `bytes` would be free if everything went that may go. A request for more gives up
 * nothing: it would fail all the same, with much to rebuild. O(blocks) at worst; stops when it is
 * enough.
 */
bool cebus_choose_suffices(const cebus_chooser *chooser, uint64_t bytes);
/** The same bytes, all of them. O(blocks). */
uint64_t cebus_choose_room(const cebus_chooser *chooser);

/**
 * What the policy gives up toward a request of `bytes`. UNIT_WINDOW answers everything at once,
 * UNIT_ONE one victim: ask again until the request fits. O(blocks), and O(neighbours) for each
 * that had a change next to it since the last choice.
 */
cebus_victims cebus_choose_victims(const cebus_chooser *chooser, uint64_t bytes);

/**
 * The cheapest single victim whatever the policy's unit: for the ladder's last rungs, which only
 * need bytes, not an address range. UNIT_NONE answers nothing. O(blocks).
 */
cebus_victims cebus_choose_one(const cebus_chooser *chooser);

/**
 * The same as often as it takes to give up `bytes`, in one sweep: writes the victims to `out`,
 * cheapest first, `limit` and CEBUS_SHORTLIST_MAX at most, and answers how many. Ask again (with
 * keep_prices) when they do not do: policies with a score of their own give one at a time, since
 * what is free beside a block may matter to it.
 */
size_t cebus_choose_cheapest(const cebus_chooser *chooser, uint64_t bytes, cebus_victims *out,
                             size_t limit);

/**
 * What it would take next, without anything having gone: the values whose blocks have the lowest
 * scores and together `bytes`, lowest first. An estimate where scores look at neighbours.
 */
size_t cebus_choose_next(const cebus_chooser *chooser, uint64_t bytes, cebus_victims *out,
                         size_t limit);

/** What giving a block's value up really adds, in window prices: the calls behind and ahead of it
 * that are absent, each once (choose.c). */
uint64_t cebus_choose_exact_price(const cebus_chooser *chooser, cebus_block *block);

#endif
