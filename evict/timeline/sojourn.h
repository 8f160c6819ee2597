/**
 * sojourn.h: the stays of bytes on the device during a planned iteration: from the run that makes
 * them to when they go, on a clock that counts runs: calls of the program, and replays between
 * them. A value that goes and comes back has several.
 */
#ifndef CEBUS_EVICT_TIMELINE_SOJOURN_H
#define CEBUS_EVICT_TIMELINE_SOJOURN_H

#include "evict/plan.h"
#include "evict/timeline/outside.h"

/** What it is the stay of. */
typedef enum cebus_sojourn_kind {
    CEBUS_SOJOURN_VALUE,     /**< `index` an ordinal: made by its call */
    CEBUS_SOJOURN_ACTION,    /**< an action: what a REPLAY or SWAP_IN brings back */
    CEBUS_SOJOURN_WORKSPACE, /**< a call's */
    CEBUS_SOJOURN_SCRATCH,   /**< the workspace of a replay's run: its first action */
} cebus_sojourn_kind;

typedef struct cebus_sojourn {
    uint64_t bytes;
    uint32_t from, to; /**< runs; there while run `from` and those before `to` go on */
    uint32_t index;
    uint32_t gone_by; /**< the SWAP_OUT by which it leaves; UINT32_MAX: none */
    uint8_t kind;     /**< cebus_sojourn_kind */
} cebus_sojourn;

/** An in-place call took bytes over. */
typedef struct cebus_heir {
    uint32_t stay, value; /**< index; ordinal of the version that has it then */
    uint32_t run;         /**< from this one on */
} cebus_heir;

typedef struct cebus_sojourns {
    cebus_pool *pool; /**< borrowed */
    cebus_sojourn *items;
    size_t count, capacity;
    uint32_t runs;    /**< of the iteration */
    uint32_t *run_of; /**< by call: its run; replays before it have those since the last call's */
    size_t n_calls;
    cebus_heir *heirs; /**< by run */
    size_t n_heirs, heirs_capacity;
} cebus_sojourns;

/**
 * Of all that calls and the plan (linked) make. What an in-place call takes over is one stay, that
 * of the first version. Values that were there before the iteration, and those that are `outside`
 * (NULL: none are), have none. False without host memory: then there is nothing to free.
 * O(refs + actions + values).
 */
bool cebus_sojourns_init(cebus_sojourns *sojourns, const cebus_iteration *iteration,
                         const cebus_plan *plan, const cebus_outside *outside, cebus_pool *pool);
void cebus_sojourns_deinit(cebus_sojourns *sojourns);

#endif
