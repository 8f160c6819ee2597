/**
 * replayer.h: a program on a runtime of a simulated machine, as any user's program: each op is a
 * call of a custom op with the trace's cost, bytes and workspace.
 *
 * Constants are leaves: made by an op that cannot be repeated, in no time. Persistent ones are made
 * once, largest first, and live across passes; the others in each pass at their place. A view is a
 * call that reads nothing and makes nothing. At the end of a pass one call more reads everything
 * that was not freed, all at once; then it is let go, and the iteration is marked (or not:
 * unmarked).
 */
#ifndef REPLAYER_H
#define REPLAYER_H

#include <cebus/capture.h>
#include <cebus/custom.h>
#include <cebus/log.h>
#include <cebus/memory.h>
#include <cebus/runtime.h>

#include "program.h"

/** How far a pass came. */
enum replay_outcome {
    REPLAY_DONE,
    REPLAY_NO_MEMORY, /**< it does not fit the budget: cebus_last_error() */
    REPLAY_THRASHED,  /**< it took longer than it may */
    REPLAY_FAILED,    /**< anything else: cebus_last_error(), and it was printed */
};

/** How long a pass may take, and each call in it, replays included. */
struct replay_limit {
    double times, call_times; /**< as long as the pass without a budget */
    uint64_t base_ns;         /**< which is this */
};

/** What the kernels of a pass did so far, replays included, and may do at most. */
struct replay_work {
    uint64_t ns, launches;
    uint64_t limit_ns, limit_launches;
    uint64_t call_ns, call_end_ns; /**< for each call; until when for the one that runs */
};

struct replayer {
    const struct program *program;
    cebus_runtime *rt;
    cebus_custom_op *ops;   /**< by form */
    cebus_custom_op leaf;   /**< makes a constant */
    cebus_custom_op end;    /**< reads what is left at the end of a pass */
    cebus_tensor **handles; /**< by storage; NULL: not there */
    struct replay_work work;
    bool unmarked; /**< iterations are not marked; may be set once it has begun */
    size_t op;     /**< running now, n_ops past the last: for observers of events */
};

/** A runtime and the persistent constants. `hook` (may be NULL) gets every event. End it in any
 * case. */
enum replay_outcome replayer_begin(struct replayer *replayer, const struct program *program,
                                   const cebus_runtime_options *options, cebus_event_hook hook,
                                   void *context);
/** One pass; `limit` NULL: it may take any time. */
enum replay_outcome replayer_pass(struct replayer *replayer, const struct replay_limit *limit);
/** A pass that is captured: constants are made before, what lives at its end is an output. */
enum replay_outcome replayer_capture(struct replayer *replayer, cebus_capture **out);
void replayer_end(struct replayer *replayer);

/** Counters of the runtime. */
cebus_memory_stats replayer_stats(const struct replayer *replayer);

#endif
