/**
 * order.h: orders of a graph's calls that keep its edges: the first gene (SCH) of SwapAdvisor, how
 * it is crossed and changed, and orders to start from.
 */
#ifndef CEBUS_EVICT_ADVISOR_ORDER_H
#define CEBUS_EVICT_ADVISOR_ORDER_H

#include "evict/advisor/graph.h"

/** Scratch for all of these; a thread needs one of its own. */
typedef struct cebus_order {
    const cebus_graph *graph;
    uint32_t *waits; /**< by call: predecessors that have not run */
    uint32_t *place; /**< by call: its position in an order, or its priority */
    uint32_t *heap;  /**< calls that could run, by place */
    uint32_t *index; /**< by call: where in the heap */
    size_t n_heap;
    bool *taken; /**< by call */
} cebus_order;

/** False without host memory. */
bool cebus_order_init(cebus_order *order, const cebus_graph *graph, cebus_shelf *shelf);

/** Whether `calls` is each call once, none before what it needs. O(calls + edges). */
bool cebus_order_is_valid(cebus_order *order, const uint32_t *calls);

/** @name Orders to start from */
/** @{ */
void cebus_order_program(const cebus_graph *graph, uint32_t *out);
/** Program order, but calls that only write what is persistent run as soon as they can: a gradient
 * that was used need not wait for the end. */
void cebus_order_prompt(cebus_order *order, uint32_t *out);
/** Calls that share large persistent buffers run one after another as far as they can: layer by
 * layer, where the program goes step by step. Updates are prompt. `groups` has room for each call
 * and each buffer. */
void cebus_order_layers(cebus_order *order, uint64_t large, uint32_t *groups, uint32_t *out);
/** @} */

/** The first `cut` calls of `a`, then the others as `b` has them. */
void cebus_order_cross(cebus_order *order, const uint32_t *a, const uint32_t *b, size_t cut,
                       uint32_t *out);
/** Runs `old` again, but of the calls that could run next takes any one with probability `chance`
 * (of 2^32), else the earliest in `old`. O(calls log calls + edges). */
void cebus_order_mutate(cebus_order *order, const uint32_t *old, uint32_t chance, uint64_t *random,
                        uint32_t *out);

/** @name To make others: calls one after another, of those that could run */
/** @{ */
/** Nothing has run; order.heap has what could, first in the program on top. */
void cebus_order_begin(cebus_order *order);
/** Runs the call at an index of the heap. */
uint32_t cebus_order_take(cebus_order *order, size_t at);
/** @} */

/** A number in [0, bound), bound above 0; the state moves on (splitmix64). */
uint64_t cebus_order_draw(uint64_t *random, uint64_t bound);

#endif
