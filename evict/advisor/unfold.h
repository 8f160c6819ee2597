/**
 * unfold.h: what runs, step by step: the calls in an order, and between them further runs of calls
 * whose values were dropped to be made again (the gene that SwapAdvisor lacks).
 *
 * A value that is to be dropped goes after the call before its longest idle time. The first step
 * that reads it after that, a further run for its own part perhaps, has its call run again just
 * before, and that of what this reads and was dropped, too.
 *
 *     order     conv  norm  relu  ....  relu'  conv'         dropped: y of norm, z of relu
 *     steps     conv  norm  relu  ....  norm  relu'  relu  conv'
 *               y:     makes last       makes last
 */
#ifndef CEBUS_EVICT_ADVISOR_UNFOLD_H
#define CEBUS_EVICT_ADVISOR_UNFOLD_H

#include "evict/advisor/graph.h"

enum {
    CEBUS_USE_READS = 1 << 0,  /**< needs the contents */
    CEBUS_USE_MAKES = 1 << 1,  /**< its bytes come to be with this step */
    CEBUS_USE_WRITES = 1 << 2, /**< what the host may hold of it is out of date */
    CEBUS_USE_LAST = 1 << 3,   /**< its bytes go after this step, for good or until it is remade */
};

typedef struct cebus_use {
    uint32_t buffer;
    uint32_t next; /**< the next step that uses it; number of steps + the next iteration's; LAST: of
                        no meaning */
    uint32_t flags;
} cebus_use;

typedef struct cebus_step {
    uint64_t cost_ns;
    uint64_t scratch; /**< workspace, and what a further run makes that is there already */
    uint32_t call;
    uint32_t use, n_uses; /**< in uses */
    bool again;
} cebus_step;

typedef struct cebus_unfold {
    const cebus_graph *graph;
    cebus_step *steps;
    cebus_use *uses;
    size_t n_steps, n_uses;
    size_t n_again;  /**< uses of further runs: bounded */
    uint64_t run_ns; /**< all steps */
    /* of buffers */
    uint32_t *first, *drop, *version, *stack, *back;
    uint32_t *place; /**< by call: its position in the order */
    uint64_t *idle, *seen;
    uint8_t *state;
    size_t uses_room, steps_room;
    uint32_t failed; /**< what could not be remade */
} cebus_unfold;

/** False without host memory. */
bool cebus_unfold_init(cebus_unfold *unfold, const cebus_graph *graph, cebus_shelf *shelf);

/**
 * Unfolds an order. remakes, by buffer: whether it is dropped to be made again; NULL: none is. What
 * cannot be made again in this order, as something it was made from is overwritten by then, is
 * cleared there. O(refs + edges) unless that happens.
 */
void cebus_unfold_make(cebus_unfold *unfold, const uint32_t *order, uint8_t *remakes);

#endif
