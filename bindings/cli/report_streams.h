/**
 * report_streams.h: what the three streams did over time, for a page, and when values were evicted.
 * Of a run of many pieces, neighbours shorter than a step are drawn together.
 */
#ifndef REPORT_STREAMS_H
#define REPORT_STREAMS_H

#include "report_array.h"
#include "report_survey.h"

/** Pieces that are drawn as one. */
struct report_bundle {
    uint64_t begin_ns, end_ns;
    uint64_t count;
    uint64_t work_ns[REPORT_WORKS];
    struct report_piece piece; /**< the last of them */
};

struct report_streams {
    const struct report_survey *survey;
    uint64_t step_ns, eviction_step_ns;
    struct report_lane {
        struct report_bundle bundle;
        struct report_array array;
        uint64_t last_ns; /**< the end of the last piece that was written */
        uint64_t count;
    } lanes[REPORT_STREAMS];
    struct report_array evicted;
    uint64_t evicted_at_ns, evicted_count, evicted_bytes; /**< not yet written; count 0: none */
    uint64_t last_evicted_ns;
};

struct report_sink report_streams_begin(struct report_streams *streams,
                                        const struct report_survey *survey);
/** The arrays as "streams" and "evicted" of the page's data. */
void report_streams_put(struct report_streams *streams, struct writer *writer);
void report_streams_free(struct report_streams *streams);

#endif
