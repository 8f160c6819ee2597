/**
 * greedy.h: puts replays into a sequence, the best first, until no call has more bytes than the
 * limit. The words:
 *
 *     area      bytes over the limit, summed over the calls at which they are over it
 *     stretch   from one event of a value to its next use: it could be evicted in between
 *     chain     the calls that run again so that it is there for that use (closure.h)
 *     score     time of the chain / area that evicting over the stretch takes off
 *
 * Stretches wait in a heap by a guess of their score that is mostly too low. The lowest is weighed
 * exactly when its turn comes, taken if it is still the lowest, and put back if not (lazy greedy):
 * so what one replay changes for all others need not be worked out. The dearest score taken so far
 * is theta, the price of area at which chains decide between keeping an input and making it again.
 */
#ifndef CEBUS_EVICT_PLANNER_GREEDY_H
#define CEBUS_EVICT_PLANNER_GREEDY_H

#include "evict/plan.h"
#include "evict/planner/closure.h"
#include "evict/planner/picks.h"

/** A remembered area: of `bytes` fewer between two keys. Often asked again, since many values have
 * the same size and idle over all that is over the limit. */
typedef struct cebus_known_area {
    uint64_t from, to;
    double bytes, area;
    uint64_t sight; /**< cebus_greedy.sight when it was worked out: else it is outdated */
} cebus_known_area;

#define CEBUS_GREEDY_KNOWN 64

/** A value worth a look. */
typedef struct cebus_worthy {
    double bytes;
    uint32_t value, call; /**< and the call that makes it */
} cebus_worthy;

typedef struct cebus_greedy {
    cebus_pool *pool;         /**< borrowed */
    cebus_sequence *sequence; /**< borrowed */
    cebus_closure closure;
    cebus_picks picks; /**< stretches, by their value and the use (instance) they end at */
    uint32_t *touched; /**< values to look at again */
    uint32_t *marks;   /**< of values: the round that touched them */
    size_t n_touched, touched_capacity;
    uint32_t round, noted, looks;
    bool changed;                /**< since it was last checked whether it fits */
    uint64_t over_from, over_to; /**< keys between which something is over the limit: */
    uint64_t over_version;       /**< of the track, when that was seen */
    double over_limit;
    uint64_t sight; /**< how often that was seen */
    cebus_known_area known[CEBUS_GREEDY_KNOWN];
    double least;                  /**< bytes of the values worth a look */
    uint64_t most_spent;           /**< by the closure, beyond which a run gives up */
    uint64_t end;                  /**< the same for all that is done with it */
    double dearest;                /**< of the scores taken */
    double most_score;             /**< dearer ones are of no use to a march */
    const cebus_plan_terms *terms; /**< borrowed: asked whether to go on; NULL: nobody is */
    uint32_t noise;   /**< above 0: a seed; each value's scores are multiplied by a random factor */
    bool marches;     /**< march.h is at work, which looks for more than others */
    bool brisk;       /**< repairs are brief, since many are to come */
    bool learns;      /**< scores are guessed by what they were found to be before */
    uint32_t *barred; /**< of values: the noise (seed) under which they must not be evicted */
    cebus_worthy *worth; /**< values that can be made again, of at least worth_least bytes */
    double worth_least;
    size_t n_worth;
    double *factors; /**< of values: how many times too low the bound was; 1: unknown */
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

/** Makes repairs brisk, or thorough again, and lifts all bars. With `learns` scores are guessed by
 * what they were found to be before instead of by a lower bound: a third as many chains are weighed
 * for each that is taken, but plans differ less from each other. */
void cebus_greedy_hurry(cebus_greedy *greedy, bool on, bool learns);

/** Whether the price of keeping an input is shared among all values that are made of it and idle
 * over the limit, since it serves all of them. */
void cebus_greedy_share(cebus_greedy *greedy, double limit, bool on);

/** Brings the sequence to the limit by replays of at most `most_ns` in all. theta: the first one.
 */
cebus_greedy_end cebus_greedy_run(cebus_greedy *greedy, double limit, double theta,
                                  uint64_t most_ns);
/** The same after a small change: looks first at what idles where most is over the limit. A brisk
 * repair looks nowhere else, and gives up as soon as it seems to cost too much. */
cebus_greedy_end cebus_greedy_repair(cebus_greedy *greedy, double limit, double theta,
                                     uint64_t most_ns);
/** Sets out for a limit, with no price paid yet. */
void cebus_greedy_begin(cebus_greedy *greedy, double limit, double theta);
/** Whether a run costs more than `most_ns`, has put in too many replays, or should stop. */
bool cebus_greedy_is_astray(const cebus_greedy *greedy, uint64_t most_ns);
/** Notes the stretches that cross an instance. False without host memory. */
bool cebus_greedy_note_at(cebus_greedy *greedy, uint32_t instance);
/** Notes the stretch of a value behind an event with that key. */
bool cebus_greedy_note_behind(cebus_greedy *greedy, uint32_t value, uint64_t key);
/** The best of those noted that cross an instance. *out_found: there is one, its chain is in the
 * closure. False without host memory. */
bool cebus_greedy_best_at(cebus_greedy *greedy, uint32_t instance, uint64_t most_ns,
                          bool *out_found);

/** Takes up to n replays that free bytes where an instance runs, needed there or not. Others may
 * turn out superfluous by them: a step of the search (improve.h). */
cebus_greedy_end cebus_greedy_stir(cebus_greedy *greedy, double limit, double theta,
                                   uint64_t most_ns, uint32_t instance, uint32_t n);

#endif
