/**
 * streams.h: three streams side by side: calls, copies out, copies in. What timeline.h and
 * planner/links.h have in common: each stream does one thing at a time, in its order, and a call
 * that needs a copy waits for it.
 */
#ifndef CEBUS_EVICT_TIMELINE_STREAMS_H
#define CEBUS_EVICT_TIMELINE_STREAMS_H

#include <stdint.h>

/** When, in ns from the start. */
typedef struct cebus_span {
    uint64_t from, to;
} cebus_span;

typedef struct cebus_streams {
    uint64_t out_rate, in_rate; /**< bytes/s, above 0 where anything is copied */
    uint64_t latency_ns;        /**< of each copy, before its first byte */
    uint64_t compute, out, in;  /**< until when each has something to do */
    uint64_t stall_ns;          /**< that compute waited */
    uint64_t issue_ns, host;    /**< what the host takes to ask for each, and until when it does */
    uint64_t held_ns;           /**< that compute waited for that; 0 if it takes nothing */
    uint64_t requests;
} cebus_streams;

/** The host asks for the next call: compute goes on no earlier than that. */
void cebus_streams_ask(cebus_streams *streams);
/** Compute goes on no earlier than this. */
void cebus_streams_wait(cebus_streams *streams, uint64_t until);
/** Copies bytes that are there from `ready` on; says when. */
cebus_span cebus_streams_copy_out(cebus_streams *streams, uint64_t bytes, uint64_t ready);
/** The same for bytes on the host with room for them from `ready` on. */
cebus_span cebus_streams_copy_in(cebus_streams *streams, uint64_t bytes, uint64_t ready);

#endif
