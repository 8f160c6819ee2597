/**
 * plan.h: a plan of cebus_advise() carried out on launches of a capture: steps in its
 * order, copies as early as it says, everything at its offset.
 *
 *     begin     what was there before goes to where the plan has it at the start, if it is
 * elsewhere step k    its outputs and scratch ask for their offsets (cebus_spots); an `again` is a
 * replay after k   what leaves with it goes; copies whose turn has come are asked for end       the
 * copies that are left
 *
 * Where the host runs the calls itself it is back between them only: there copies are asked for as
 * soon as they may start.
 *
 * The host never waits: streams wait for what they need (swap.h, ladder.h). Nothing here can fail:
 * a place that is taken, or a copy without room, is left out, and the policy sees to it. Bits do
 * not depend on it.
 */
#ifndef CEBUS_EAGER_CAPTURE_PLAN_H
#define CEBUS_EAGER_CAPTURE_PLAN_H

#include "eager/capture/capture.h"
#include "evict/advisor/shelf.h"

/** Where the step or the copy at hand is to put things; CEBUS_ANYWHERE where nothing is said. */
typedef struct cebus_spots {
    uint64_t out[CEBUS_MAX_OUTPUTS]; /**< by output of a call */
    uint64_t workspace;
    uint32_t n_back;                                /**< of what comes back */
    const cebus_candidate *back[CEBUS_MAX_OUTPUTS]; /**< these */
    uint64_t back_at[CEBUS_MAX_OUTPUTS];            /**< there */
} cebus_spots;

typedef struct cebus_capture_plan {
    cebus_shelf shelf;         /**< has all of it */
    cebus_advice_step *steps;  /**< n_steps */
    cebus_advice_copy *copies; /**< n_copies */
    cebus_advice_block *blocks;
    uint32_t *home;        /**< by value: its buffer */
    uint32_t *newest;      /**< by buffer: the last value made in the launch at hand; NONE */
    uint32_t *reads;       /**< by value: by all steps */
    uint32_t *born, *dies; /**< by step: a block; by copy, after them; lists; NONE */
    uint32_t *edges;       /**< by buffer: the block it begins with; NONE */
    uint32_t *born_next, *dies_next; /**< by block */
    uint32_t *outs, *ins;            /**< copies of each direction */
    size_t n_steps, n_copies, n_blocks, n_buffers, n_outs, n_ins;
    size_t out, in; /**< next copies of the launch at hand */
    cebus_spots spots;
} cebus_capture_plan;

/** At the start of a launch. */
void cebus_capture_plan_begin(cebus_capture *capture);
/** Before step k: what it needs is on its way, its places are chosen. */
void cebus_capture_plan_before(cebus_capture *capture, size_t k);
/** Step k is one that runs again. */
void cebus_capture_plan_again(cebus_capture *capture, size_t k);
/** After step k was asked for. */
void cebus_capture_plan_after(cebus_capture *capture, size_t k);
/** NULL is allowed. */
void cebus_capture_plan_free(cebus_capture *capture);

#endif
