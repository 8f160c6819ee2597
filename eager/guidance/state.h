/**
 * state.h: what guidance remembers, shared by its files: guidance.c learns, planning.c
 * plans, carry_out.c does what is due.
 */
#ifndef CEBUS_EAGER_GUIDANCE_STATE_H
#define CEBUS_EAGER_GUIDANCE_STATE_H

#include "eager/guidance/detect.h"
#include "eager/guidance/draft.h"
#include "eager/guidance/guidance.h"
#include "eager/guidance/trial.h"
#include "eager/guidance/worth.h"
#include "evict/guide.h"
#include "evict/placement.h"
#include "evict/trigger.h"

/** What lies in the arena between two iterations, and will be there in the next one. */
typedef struct cebus_fixtures {
    cebus_fixture *items; /**< by offset; neighbours that stay as one */
    size_t count, capacity;
    uint64_t silent; /**< bytes of them that the iteration did not name */
    bool complete;   /**< there was host memory to write them all down */
} cebus_fixtures;

/** Who bears ordinals (shuttles.h). */
typedef struct cebus_shuttles {
    cebus_value **bearers; /**< by ordinal; NULL: not persistent, or not known */
    size_t count, capacity;
} cebus_shuttles;

/** Counters of the runtime: at an instant, or over an iteration. */
typedef struct cebus_tally {
    uint64_t compute_ns, recompute_ns, stall_ns;
    uint64_t moving_ns; /**< of blocks that moved, by the rate that the device says */
    uint64_t clock_ns;  /**< of the device */
    uint64_t evictions, recomputes, planned_replays, swap_outs, swap_ins, prefetches, out_bytes;
} cebus_tally;

/** What goes with one of the iterations that the log knows. */
typedef struct cebus_scheme {
    cebus_plan plan;
    cebus_plan_terms terms;    /**< it was made for; no rates: there is none yet */
    uint64_t memory;           /**< the budget then, of which the terms have what is not silent */
    cebus_placement placement; /**< of the plan; empty: none, or the layout does not follow any */
    cebus_plan aside;          /**< one that is kept while none, or one without its places, is tried
                                    (scheme.h) */
    cebus_placement aside_placement;
    cebus_fixtures around,
        aside_around;        /**< when all found their places by these; empty: not yet */
    cebus_fixtures fixtures; /**< when such an iteration ended last */
    uint64_t *spots; /**< by ordinal: where the value is to go next; n_values of the placement */
    uint64_t iteration_ns;   /**< its calls together */
    uint64_t held_ns;        /**< of it: they wait for the host */
    uint64_t unplanned_ns;   /**< what it takes beside them without a plan, at best; or the last
                                  time, once one was given up; 0: unknown */
    uint64_t dear_lost;      /**< what it took when a plan was given up for it; 0: none was */
    uint32_t dear;           /**< times in a row that it took more with one */
    uint32_t unplanned;      /**< iterations without a plan since one was given up */
    cebus_shuttles shuttles; /**< persistent values of the iteration */
    cebus_trigger *triggers; /**< by ordinal, of n_triggers; NULL: nothing came back yet */
    size_t n_triggers;
    uint64_t fed_lost;           /**< the least replays and waiting took while triggers moved */
    uint32_t fed;                /**< iterations after which triggers moved (feedback.h) */
    uint64_t predicted_ns;       /**< what one takes by the plan; 0: unknown */
    uint64_t predicted_lost;     /**< of it: replays and waiting */
    uint64_t predicted_anywhere; /**< the same if any place would do */
    uint64_t predicted_held;     /**< waiting for the host */
    uint64_t predicted_wait;     /**< for places that copies still leave (crossing.h) */
    uint64_t reckoned_ns;        /**< its calls together, when the plan was made */
    uint64_t foretold_ns;        /**< and when that was predicted */
    uint32_t seen;               /**< times it was done again, up to a few */
    uint64_t best_lost;          /**< the least replays and waiting took, as the link was slowed */
    uint32_t guided;             /**< iterations by this plan */
    uint64_t lost;               /**< replays and waiting in the last of them */
    uint64_t lost_before;        /**< and in the one before it */
    uint64_t usually_lost;       /**< the same by and large, where no two are alike */
    uint64_t usually_moving;     /**< of it: blocks that move */
    uint32_t parted;             /**< of these in a row, the last: not as predicted */
    uint32_t replans;            /**< plans made because of that */
    uint32_t slower;             /**< times 5%: slower than measured the link is taken to be */
    bool settled;                /**< to no more use */
    bool shuttling; /**< the plan has persistent values come and go (evict/planner/shuttle.h) */
    bool renewed;   /**< it was planned for anew: what was loaded is out of date */
    uint32_t moves; /**< times in a row that places were chosen anew */
    bool missed;    /**< some places were taken the last time */
    bool found_all; /**< none was */
    bool placeless; /**< without places its plan may cost less, or did */
    uint64_t placed_lost; /**< what replays and waiting took with them; 0: both were not tried */
    uint64_t aside_lost;  /**< what they were to take with places that were set aside, since it
                               would wait for them; 0: none were */
    bool patient;         /**< it waits for places rather than to go without */
    bool doubted;         /**< it was, or is, held against none where runs repeat */
    cebus_trial trial;    /**< of the plan, or the one aside, against none */
    bool waits;           /**< for a better plan: it is not worth one yet, or one is made for
                               another */
    bool better_placed;   /**< that one is to have places */
    cebus_worth worth;
    cebus_plan_terms better; /**< that it is to be made for; no rates: none was ever waited for */
} cebus_scheme;

typedef struct cebus_guidance {
    cebus_access_log log;
    cebus_detector detector;
    cebus_scheme schemes[CEBUS_REFERENCES]; /**< by the log's places */
    cebus_scheme idle;                      /**< of what is not known: nothing is due */
    cebus_scheme *scheme;                   /**< of what is followed, or idle */
    cebus_fixtures fixtures;                /**< as they are now (planning.h: look) */
    cebus_shuttles shuttles;                /**< of the iteration that is being recorded */
    cebus_draft draft;                      /**< a better plan on its way */
    cebus_scheme *drafted;                  /**< the scheme it is for; NULL: none is on its way */
    cebus_pace first;                       /**< of first plans */
    cebus_pace searching;                   /**< of better ones */
    cebus_guide guide;                      /**< of the scheme's plan */
    size_t relocated;                       /**< values of the placement's that moved so far */
    uint64_t workspace_spot;                /**< where that of the run at hand is to go */
    const cebus_candidate *comer;           /**< it comes back before the iteration names it */
    uint32_t comer_ordinal;                 /**< and will have this number */
    uint64_t below;           /**< what the arena was told about the placement's height */
    cebus_tally begun;        /**< when this iteration began */
    cebus_scheme *begun_with; /**< the scheme then */
    bool planned;             /**< it began with a plan */
    size_t done;              /**< of the plan's actions in this iteration */
    size_t given_up;          /**< values, because the plan said so */
    uint64_t missed;          /**< missed placements until this iteration began */
    bool left;                /**< a plan was left: what only it kept is still there */
} cebus_guidance;

#endif
