/**
 * stream.h: chooses which persistent buffers do not stay on the device from one iteration to the
 * next, where not all of them can: these are fetched in each iteration, and let go.
 *
 * Belady's rule, the farthest next use, keeps what an iteration uses first, and has the link idle
 * while that is used. Here what is streamed is spread over the iteration's time instead.
 *
 *     uses      a  b  c  d  e  f  g  h         three of eight do not stay
 *     farthest                 f  g  h         the link idles, then everything waits for it
 *     spread       b     d        g            copies beside calls
 */
#ifndef CEBUS_EVICT_ADVISOR_STREAM_H
#define CEBUS_EVICT_ADVISOR_STREAM_H

#include "evict/advisor/graph.h"

typedef struct cebus_stream_terms {
    uint64_t least; /**< smaller ones are always there */
    uint64_t stay;  /**< bytes that stay, at most */
    uint64_t large; /**< a size: few copies are quicker than many */
    uint64_t lag;   /**< bytes that the copies may lag behind until smaller ones are taken */
} cebus_stream_terms;

/** Sets `out`, by buffer, for calls in an order; `seen` has room for each buffer. O(refs), and as
 * often again as `large` can be halved. */
void cebus_stream_choose(const cebus_graph *graph, const uint32_t *order,
                         const cebus_stream_terms *terms, uint8_t *seen, uint8_t *out);

#endif
