/**
 * report_snapshot.h: a run as the dictionary that torch.cuda.memory._snapshot() returns and that
 * PyTorch's memory viewer reads: "segments", here one, the arena, with all its blocks, free ones
 * included, and "device_traces", every block that came and went. (Its shape: the comments of
 * torch.cuda.memory._snapshot, PyTorch 2; the opcodes its viewer knows: torch/utils/viz.)
 *
 * The state is that of the last iteration mark or failed request, before a program lets go of
 * everything; without either, that of the last event.
 */
#ifndef REPORT_SNAPSHOT_H
#define REPORT_SNAPSHOT_H

#include "report_survey.h"
#include "report_writer.h"

struct report_snapshot {
    const struct report_survey *survey;
    const struct report_blocks *blocks; /**< of the timeline */
    struct writer writer;
    uint64_t bytes; /**< of the arena */
    uint64_t used_bytes;
    uint64_t events; /**< so far */
    bool done;
};

/** Writes to `file` as the run is read. `blocks` are those in use at each event. */
struct report_sink report_snapshot_begin(struct report_snapshot *snapshot, FILE *file,
                                         enum writer_form form, const struct report_survey *survey,
                                         const struct report_blocks *blocks);
/** After the last event. */
void report_snapshot_end(struct report_snapshot *snapshot);

#endif
