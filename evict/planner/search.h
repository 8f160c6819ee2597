/**
 * search.h: what planner `cebus` looks for a plan with: ways to run the greedy from the bare
 * program down, marches where plans are dear, a ladder where none fits, and the search from the
 * best of all that. Where values are swapped, each of two ways to share out the link has a part of
 * the effort.
 *
 * All of it draws on one effort: what is spent (closure.h) ends at some times that, whatever the
 * program, and nothing is begun beyond.
 */
#ifndef CEBUS_EVICT_PLANNER_SEARCH_H
#define CEBUS_EVICT_PLANNER_SEARCH_H

#include "evict/planner/greedy.h"
#include "evict/planner/links.h"
#include "evict/planner/march.h"
#include "evict/planner/snapshot.h"
#include "evict/planner/trials.h"
#include "evict/planner/weights.h"

/** Times the effort that all there is may take, what places are asked for included. */
#define CEBUS_SEARCH_EFFORTS 7
/** Steps that a first plan, which the program waits for, may take in all. */
#define CEBUS_SEARCH_FIRST (UINT64_C(1) << 17)
/** Programs of more calls are long: what is looked for whatever the effort takes as long. */
#define CEBUS_SEARCH_LONG 2048
/** Times the iteration itself, beyond which a run is not worth going on with. */
#define CEBUS_SEARCH_MOST_OVERHEAD 5

typedef struct cebus_search {
    cebus_sequence sequence;
    cebus_greedy greedy;
    cebus_snapshot base; /**< what runs start from: swaps */
    cebus_snapshot best;
    cebus_weights weights;
    cebus_trials trials; /**< beside swaps: plain runs */
    cebus_links links;   /**< for what waits; `terms` NULL: nothing is swapped */
    unsigned efforts;    /**< for marches where no plan fits */
    uint64_t best_ns;    /**< of the best: replays and waiting */
    double limit, base_ns;
    double price;      /**< ns for an area, of the weights */
    double best_theta; /**< at which the best run ended */
    uint64_t begun;    /**< spent before the search at hand */
    uint64_t effort;   /**< that each march has */
    uint64_t until;    /**< what may have been spent when it is over */
    uint64_t last;     /**< that at most: places may yet have to be found */
    uint64_t first;    /**< effort for what is placed first, unless that is dear */
    uint64_t enough;   /**< of the effort: a half where so little is left to gain */
} cebus_search;

/** For a limit in bytes. False without host memory: then there is nothing to free. */
bool cebus_search_init(cebus_search *s, const cebus_iteration *iteration,
                       const cebus_plan_terms *terms, double limit, cebus_pool *pool);
void cebus_search_deinit(cebus_search *s);

/** @name False without host memory: then only deinit is left. */
/** @{ */
/** The best there is, for the effort that is to be spent first; in the sequence, too. */
bool cebus_search_run(cebus_search *s, const cebus_plan_terms *terms);
/** The best, made better until so much is spent; it is in the sequence then, too. The price at
 * which the run ended that made it stays: what a search ended at by chance says nothing. */
bool cebus_search_improve(cebus_search *s, const cebus_plan_terms *terms, uint64_t spent);
/** Where plans are dear, or none fits, as near the floor: marches, each in its way and then, until
 * one fits, by chance. They may take some times the effort; half of one is left for a search, and
 * more the dearer the plan. */
bool cebus_search_march(cebus_search *s);
/** Down to the limit from `base` in small steps, searching on each, until so much is spent: where
 * the greedy gets stuck a little above, since it leaves swaps where they are. */
bool cebus_search_descend(cebus_search *s, const cebus_plan_terms *terms, uint64_t spent);
/** Brings the sequence, which fits, to what it needs. */
bool cebus_search_prune(cebus_search *s, double limit);
/** Keeps the sequence if it is better than the best. */
bool cebus_search_offer(cebus_search *s);
/** @} */

/** One march; what it fitted in is pruned, which may make it a third as dear. Offers that. False
 * without host memory. */
bool cebus_search_march_once(cebus_search *s, const cebus_march *how, bool shares,
                             cebus_march_course *out);

/** Whether the best fits. */
static inline bool cebus_search_fits(const cebus_search *s)
{
    return s->best.peak <= s->limit;
}
static inline bool cebus_search_is_long(const cebus_search *s)
{
    return s->sequence.iteration->n_calls > CEBUS_SEARCH_LONG;
}
/** How much dearer than the best a run may get. */
uint64_t cebus_search_most_ns(const cebus_search *s);
/** Visits that a first plan may take whatever the effort: those times are beside it. */
uint64_t cebus_search_first_visits(const cebus_iteration *iteration);
/** Whether what there is takes so much of the program's time that marches may find better. */
bool cebus_search_is_dear(const cebus_search *s);

#endif
