/**
 * guidance_state.h: what guidance remembers, shared by its files: guidance.c learns, planning.c
 * plans, carry_out.c does what is due.
 */
#ifndef CEBUS_EAGER_GUIDANCE_STATE_H
#define CEBUS_EAGER_GUIDANCE_STATE_H

#include "eager/draft.h"
#include "eager/guidance.h"
#include "evict/guide.h"
#include "evict/placement.h"

/** What lies in the arena between two iterations, and will be there in the next one. */
typedef struct cebus_fixtures {
    cebus_fixture *items; /**< by offset, neighbours as one */
    size_t count, capacity;
    uint64_t silent; /**< bytes of them that the iteration did not name */
    bool complete;   /**< there was host memory to write them all down */
} cebus_fixtures;

typedef struct cebus_guidance {
    cebus_access_log log;
    cebus_plan plan;           /**< for the log's reference */
    cebus_plan_terms terms;    /**< it was made for */
    cebus_placement placement; /**< of the plan; empty: none, or the layout does not follow any */
    cebus_fixtures fixtures;
    cebus_draft draft; /**< a better plan on its way */
    cebus_guide guide;
    uint64_t *spots; /**< by ordinal: where the value is to go next; n_values of the placement */
    uint64_t workspace_spot; /**< the same of the run at hand */
    uint64_t iteration_ns;   /**< the reference's calls together */
    uint64_t missed;         /**< missed placements until this iteration began */
    uint32_t moves;          /**< times in a row that places were chosen anew */
    bool left;               /**< the reference was left: what only the plan kept is still there */
} cebus_guidance;

#endif
