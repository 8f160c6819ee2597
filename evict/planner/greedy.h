/**
 * greedy.h: replays put in, the best first, until nothing is over the limit: by time for an area
 * taken off the curve, as closure.h weighs it. What one replay changes for others is found out when
 * their turn comes: their score, which was but a guess from below, is worked out, and if it is no
 * longer the best they wait. The dearest score taken is theta, the price at which the next ones
 * keep bytes for each other.
 */
#ifndef CEBUS_EVICT_PLANNER_GREEDY_H
#define CEBUS_EVICT_PLANNER_GREEDY_H

#include "evict/plan.h"
#include "evict/planner/closure.h"
#include "evict/planner/picks.h"

/** What an area was found to be: that of so many bytes between two keys. Many values are alike, and
 * idle from before all that is over the limit until after it. */
typedef struct cebus_known_area {
    uint64_t from, to;
    double bytes, area;
    uint64_t sight; /**< the sight of the greedy when that was */
} cebus_known_area;

#define CEBUS_GREEDY_KNOWN 64

typedef struct cebus_greedy {
    cebus_pool *pool;         /**< borrowed */
    cebus_sequence *sequence; /**< borrowed */
    cebus_closure closure;
    cebus_picks picks; /**< up to which use (instance) a value could be evicted */
    uint32_t *touched; /**< values to look at again */
    uint32_t *marks;   /**< of values: the round that touched them */
    size_t n_touched, touched_capacity;
    uint32_t round, noted, looks;
    bool changed;                /**< since it was last seen whether it fits */
    uint64_t over_from, over_to; /**< keys between which something is over the limit: */
    uint64_t over_version;       /**< of the track, when that was seen */
    double over_limit;
    uint64_t sight; /**< how often that was seen */
    cebus_known_area known[CEBUS_GREEDY_KNOWN];
    double least;                  /**< bytes of the values worth a look */
    uint64_t most_spent;           /**< by the closure, beyond which a run gives up */
    uint64_t end;                  /**< the same for all that is done with it */
    double dearest;                /**< of the scores taken */
    const cebus_plan_terms *terms; /**< borrowed: asked whether to go on; NULL: nobody is */
    uint32_t noise;   /**< above 0: scores are off by a part, each value's by its own */
    bool marches;     /**< march.h is at work, which looks for more than others */
    bool brisk;       /**< repairs are brief: there are others to come */
    bool learns;      /**< and guess by what was found before */
    uint32_t *barred; /**< of values: the noise under which they stay where they are */
    uint32_t *worth;  /**< values of at least so many bytes that can be made again: */
    double worth_least;
    size_t n_worth;
    double *factors; /**< of values: what the guess of a score was too low by; 1: not known */
} cebus_greedy;

typedef enum cebus_greedy_end {
    CEBUS_GREEDY_FITS,
    CEBUS_GREEDY_STUCK,    /**< nothing gains any more, or it costs more than allowed */
    CEBUS_GREEDY_HOPELESS, /**< it is going to cost more than allowed, as far as can be seen */
    CEBUS_GREEDY_NO_HOST_MEMORY,
} cebus_greedy_end;

/** Whether all is spent, or the plan is no longer wanted. */
static inline bool cebus_greedy_is_stopped(const cebus_greedy *greedy)
{
    const cebus_plan_terms *terms = greedy->terms;
    if (greedy->closure.spent >= greedy->end)
        return true;
    return terms != NULL && terms->go_on != NULL && !terms->go_on(terms->context);
}

/** False without host memory: then there is nothing to free. */
bool cebus_greedy_init(cebus_greedy *greedy, cebus_sequence *sequence, cebus_pool *pool);
void cebus_greedy_deinit(cebus_greedy *greedy);

/** Makes repairs brisk, or thorough again; nothing is barred then. One that learns guesses what a
 * score is by what it was found to be before, not by what it cannot be less than: it weighs a third
 * as many chains for each that it takes, but not as various ones. */
void cebus_greedy_hurry(cebus_greedy *greedy, bool on, bool learns);

/** Shares the keeping of inputs among the values that idle over the limit and are made of them; or,
 * off, does not. */
void cebus_greedy_share(cebus_greedy *greedy, double limit, bool on);

/**
 * Brings the sequence to the limit by replays of at most `most_ns` in all. theta: to begin with.
 */
cebus_greedy_end cebus_greedy_run(cebus_greedy *greedy, double limit, double theta,
                                  uint64_t most_ns);
/** The same after a small change: looks first at what idles where most is over the limit. If it is
 * brisk it looks nowhere else, and gives up as soon as it seems to cost too much. */
cebus_greedy_end cebus_greedy_repair(cebus_greedy *greedy, double limit, double theta,
                                     uint64_t most_ns);
/** Sets out for a limit, with no price paid yet. */
void cebus_greedy_begin(cebus_greedy *greedy, double limit, double theta);
/** Whether a run costs too much, took too long or is no longer wanted. */
bool cebus_greedy_is_astray(const cebus_greedy *greedy, uint64_t most_ns);
/** Notes the stretches that cross an instance. False without host memory. */
bool cebus_greedy_note_at(cebus_greedy *greedy, uint32_t instance);
/** The best of those noted that cross an instance. *out_found: there is one, its chain is in the
 * closure. False without host memory. */
bool cebus_greedy_best_at(cebus_greedy *greedy, uint32_t instance, uint64_t most_ns,
                          bool *out_found);

/** Takes n replays at most that bring the sequence nearer to a limit where an instance runs, needed
 * or not: others may have become too much by them. */
cebus_greedy_end cebus_greedy_stir(cebus_greedy *greedy, double limit, double theta,
                                   uint64_t most_ns, uint32_t instance, uint32_t n);

#endif
