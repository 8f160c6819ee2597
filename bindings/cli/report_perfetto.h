/**
 * report_perfetto.h: a run as trace events of Chrome's JSON format, which ui.perfetto.dev and
 * chrome://tracing open ("Trace Event Format", Google): slices on a thread for each stream,
 * counters of memory by class, instants for evictions and requests that failed.
 */
#ifndef REPORT_PERFETTO_H
#define REPORT_PERFETTO_H

#include "report_survey.h"
#include "report_writer.h"
#include "run_file.h"

struct report_perfetto {
    const struct report_survey *survey;
    struct writer writer;
    uint64_t at_ns;                                          /**< of the counters */
    uint64_t bytes[REPORT_CLASSES], written[REPORT_CLASSES]; /**< now, and as last written */
    uint64_t done_ns, iteration_ns; /**< the latest end of a piece; where the iteration began */
    uint64_t iterations;
};

/** Writes to `file` as the run is read. */
struct report_sink report_perfetto_begin(struct report_perfetto *perfetto, FILE *file,
                                         const struct report_survey *survey,
                                         const struct run_head *head);
/** After the last event. */
void report_perfetto_end(struct report_perfetto *perfetto);

#endif
