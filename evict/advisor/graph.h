/**
 * graph.h: an iteration as a data-flow graph. Any order of its calls that keeps the edges makes the
 * same bits.
 *
 * A buffer is what one value after another is kept in: a call that writes in place makes a new
 * version of its buffer. Edges follow versions: a reader comes after the write of what it reads and
 * before the next write; writes stay in their order. So do calls that may keep a state of their
 * own.
 *
 *     add_(g, d1)   add_(g, d2)   step(w, g)      buffer g: versions 1, 2, 3; w: 0, 1
 *          \____________/\____________/           read of w before step: an edge to it
 *
 * Source: Huang, Jin and Li, SwapAdvisor, ASPLOS 2020, section 4.1, where graphs have no writes.
 */
#ifndef CEBUS_EVICT_ADVISOR_GRAPH_H
#define CEBUS_EVICT_ADVISOR_GRAPH_H

#include <cebus/advise.h>

#include "evict/advisor/shelf.h"
#include "layout/number.h"

#define CEBUS_GRAPH_NONE UINT32_MAX
/** More than these are refused: positions and refs fit in 32 bits with room to spare. */
#define CEBUS_GRAPH_MAX_CALLS (UINT32_C(1) << 20)
#define CEBUS_GRAPH_MAX_REFS (UINT32_C(1) << 24)
/** Bytes of all buffers and ns of all calls add up to less. */
#define CEBUS_GRAPH_MAX_SUM (UINT64_C(1) << 60)
/** Buffers lie at multiples of it. */
#define CEBUS_GRAPH_ALIGNMENT 512

/** What so many bytes take in memory. */
static inline uint64_t cebus_graph_rounded(uint64_t bytes)
{
    return cebus_align_up(bytes, CEBUS_GRAPH_ALIGNMENT);
}

typedef struct cebus_buffer {
    uint64_t bytes;
    bool persistent, given, kept;
    bool rebuildable; /**< one call makes it, once, in bytes of its own, and can run again */
    uint32_t maker;   /**< the first call that writes it; NONE: none does */
    uint32_t n_writes;
} cebus_buffer;

/** A call and a buffer, each pair once. */
typedef struct cebus_graph_ref {
    uint32_t buffer;
    uint32_t version; /**< writes before this call */
    uint32_t over;    /**< the next call that writes it; NONE: none does */
    bool reads, writes;
} cebus_graph_ref;

typedef struct cebus_graph_call {
    uint64_t cost_ns, workspace;
    uint32_t ref, n_refs;   /**< in refs */
    uint32_t pred, n_preds; /**< in preds */
    uint32_t succ, n_succs; /**< in succs */
} cebus_graph_call;

typedef struct cebus_graph {
    cebus_buffer *buffers;
    cebus_graph_call *calls;
    cebus_graph_ref *refs;
    uint32_t *preds, *succs; /**< calls */
    uint32_t *home;          /**< by value: its buffer */
    size_t n_buffers, n_calls, n_refs, n_edges;
    uint64_t ideal_ns; /**< all calls once */
    uint64_t scratch;  /**< the largest workspace */
    uint64_t need;     /**< the most any one call needs: its buffers and its workspace */
    uint32_t neediest; /**< the call that does */
} cebus_graph;

typedef enum cebus_graph_verdict {
    CEBUS_GRAPH_MADE,
    CEBUS_GRAPH_NO_HOST_MEMORY,
    CEBUS_GRAPH_NO_PROGRAM, /**< NULL, or a list of it is and should not be empty */
    CEBUS_GRAPH_TOO_LARGE,
    CEBUS_GRAPH_WRONG_REF,   /**< a call names a value that there is not, or counts past the refs */
    CEBUS_GRAPH_WRONG_WRITE, /**< more written than read or made, or other bytes than were there */
    CEBUS_GRAPH_MADE_TWICE,  /**< a value that two calls make, or one that came from outside */
    CEBUS_GRAPH_READ_EARLY,  /**< a value that is read before it is made, or after it was
                                  overwritten */
} cebus_graph_verdict;

/** *out_call: the call that is wrong. Memory is the shelf's. O(refs + edges). */
cebus_graph_verdict cebus_graph_make(const cebus_advise_program *source, cebus_shelf *shelf,
                                     cebus_graph *out, uint32_t *out_call);

#endif
