/**
 * capture.h: the inside of a capture: an iteration's calls with the values they read and made
 * (<cebus/capture.h>). capture.c records them as its hooks are called (hooks.h), end.c checks that
 * they can come again, launch.c runs them again.
 *
 *     value     one version of a buffer's contents, numbered in the order calls name them. What no
 *               recorded call made is an input: it keeps its storage. A write in place makes a new
 *               value `over` the old one; a chain of these is one buffer
 *     call      its lineage record, kept for op, views and attributes, and its values
 *
 * A version knows its value by candidate->capture_id; ids count over the runtime's life, so that
 * those of an earlier capture are told by their size.
 *
 * While the runtime watches (watch.c) rt->capture is the iteration at hand, which the
 * program did not ask for: where others refuse it is `spoiled` instead, and goes on without calls.
 */
#ifndef CEBUS_EAGER_CAPTURE_CAPTURE_H
#define CEBUS_EAGER_CAPTURE_CAPTURE_H

#include <cebus/capture.h>
#include <cebus/optim.h>

#include "eager/call.h"
#include "eager/capture/hooks.h"
#include "eager/tensor.h"

#define CEBUS_CAPTURE_NONE UINT32_MAX

typedef struct cebus_captured_value {
    cebus_storage *storage; /**< of inputs, and of the first value of a buffer that the program
                                 holds at the end: counted. While recording, of others: not
                                 counted, whose current version it is */
    uint64_t bytes;
    uint32_t maker;    /**< call; NONE: an input */
    uint32_t over;     /**< the value it was written over; NONE: bytes of its own */
    uint32_t under;    /**< the value written over it; NONE */
    uint32_t reads;    /**< by calls, those that overwrite it included */
    uint32_t left;     /**< of these, in the launch at hand */
    uint8_t gradient;  /**< cebus_captured_gradient */
    bool held;         /**< by the program at the end, or an input: stays */
    cebus_storage *at; /**< in the launch at hand: what reads it; counted, NULL: not there */
} cebus_captured_value;

/** An input, and how the program sees all of it. */
typedef struct cebus_captured_input {
    uint32_t value;
    cebus_view view;
} cebus_captured_input;

/** A tensor made from host data while the runtime watches. */
typedef struct cebus_captured_upload {
    uint64_t serial; /**< of its version: ascending */
    size_t at;       /**< calls seen before */
    cebus_view view;
} cebus_captured_upload;

/** What a launch could not repeat. */
typedef struct cebus_captured_blemish {
    const char *op, *why; /**< live as long as the program; why NULL: nothing */
    const char *after;    /**< the op of the call before */
    size_t at;            /**< calls seen before */
} cebus_captured_blemish;

typedef struct cebus_captured_call {
    cebus_call *call;           /**< counted */
    size_t refs;                /**< in refs: n_in values (NONE: absent), then n_out */
    uint64_t in_graph;          /**< bit i: input i is a parameter, or a view of one */
    cebus_optimizer *optimizer; /**< whose step it is, counted; NULL: nobody's */
    size_t slot;                /**< of the optimizer */
    uint32_t turns;             /**< of a step: how many like it an iteration has */
    uint64_t costs[2];          /**< of its last two runs, in ns */
} cebus_captured_call;

/** A leaf whose gradient the iteration touched. */
typedef struct cebus_captured_leaf {
    cebus_tensor *leaf; /**< counted */
    cebus_tensor *grad; /**< at the end, counted; NULL: none */
    uint64_t former;    /**< its gradient's storage when it was first touched, by birth; 0: none */
    bool added;         /**< first by a backward, not by letting it go */
    size_t let_go;      /**< calls seen when it was last let go or replaced; SIZE_MAX: it
                             was not, or added to since */
    uint64_t later;     /**< its gradient's storage then */
} cebus_captured_leaf;

struct cebus_capture {
    cebus_runtime *rt;
    cebus_captured_call *calls;
    cebus_captured_value *values;
    uint32_t *refs;
    cebus_captured_leaf *leaves;
    cebus_captured_input *inputs;
    size_t n_calls, n_values, n_refs, n_leaves, n_inputs;
    size_t calls_room, values_room, refs_room, leaves_room, inputs_room;

    bool watched;   /**< recorded by the runtime (watch.c) */
    bool spoiled;   /**< by the blemish: it cannot come again, and goes on without calls */
    size_t seen;    /**< calls made since it began, recorded or not */
    uint64_t print; /**< of their number and the last one; 0: it began in the middle */
    cebus_captured_blemish blemish;
    size_t reseeded_at; /**< calls seen before the random numbers began anew */
    uint64_t rng_end;   /**< after the last call */
    size_t past;        /**< of a spoiled one: leaves and uploads are of so many calls */
    cebus_captured_upload *uploads;
    size_t n_uploads, uploads_room;

    uint64_t before;     /**< ids up to here are not of this capture */
    uint64_t stamp;      /**< tells captures apart, on tensors */
    uint64_t serial;     /**< versions with a greater one were made since it began */
    uint64_t open_nodes; /**< when it began */
    uint64_t seed, rng_offset;
    bool reseeded;
    cebus_optimizer *optimizer; /**< that makes the call at hand; NULL: none does */
    size_t slot;

    cebus_advise_program program; /**< of the calls, once they are all there */
    cebus_advise_value *program_values;
    cebus_advise_call *program_calls;
    uint32_t *program_refs;
    uint64_t rng_blocks; /**< that an iteration draws */

    uint32_t *order;     /**< by step: the call */
    cebus_tensor *views; /**< of the inputs of the call at hand: most_in */
    cebus_tensor **in;   /**< they, or NULL */
    uint32_t most_in;
    struct cebus_capture_plan *plan; /**< plan.h; NULL: none */
    uint64_t launches;               /**< complete ones, and what the program did in their place */
    size_t step;                     /**< of the launch that is under way */
    bool under_way;
    uint64_t launch_seed, launch_offset;
};

/** @name The watch (watch.c) */
/** @{ */
/** A call was made in the iteration that is watched. */
void cebus_capture_see(cebus_capture *capture, const cebus_call *call);
/** The next call begins an iteration: its recording takes the place of the last. Without host
 * memory, a spoiled one, or none. */
void cebus_capture_renew(cebus_runtime *rt);
/** Starts watching in the middle of an iteration, if that is wished for and nothing is recorded. */
void cebus_capture_resume(cebus_runtime *rt);
/** What is known of such a version; NULL: none is. */
const cebus_captured_upload *cebus_capture_upload_of(const cebus_capture *capture,
                                                     const cebus_candidate *version);
/** Recorded calls and values are let go; leaves stay. */
void cebus_capture_clear(cebus_capture *capture);
/** And leaves. */
void cebus_capture_clear_leaves(cebus_capture *capture);
/** Of a spoiled recording only what stands after its last call is of use: all else goes. */
void cebus_capture_let_past_go(cebus_capture *capture);
/** Takes a leaf down. False without host memory. */
bool cebus_capture_add_leaf(cebus_capture *capture, cebus_tensor *leaf, uint64_t former,
                            bool added);
/** A new recording. NULL without host memory. */
cebus_capture *cebus_capture_create(cebus_runtime *rt);
/** Whether a complete recording can come again; fails in the name of `op` (end.c). */
cebus_status cebus_capture_check(const cebus_capture *capture, const char *op);
/** Makes it a capture, which is the caller's. Without host memory it is still the runtime's. */
cebus_status cebus_capture_finish(cebus_runtime *rt, const char *op, cebus_capture **out);
/** @} */

/** Puts a program of the calls together, which are all there, and room for launches
 * (program.c). False without host memory. */
bool cebus_capture_describe(cebus_capture *capture);
/** Frees all that. */
void cebus_capture_strip(cebus_capture *capture);
/** Call `k` ran again and took that long: the program has the median of its last three runs, so
 * neither what the first run had to set up nor one that was interrupted counts for long. */
void cebus_capture_learn(cebus_capture *capture, uint32_t k, uint64_t ns);
/** Says of the program's values where they come from and what becomes of them. */
void cebus_capture_label(cebus_capture *capture);

/** The value a version has in the capture; NONE: none. */
uint32_t cebus_capture_value_of(const cebus_capture *capture, const cebus_candidate *version);

/** Fails in the name of `op`: "cannot be captured: why". */
cebus_status cebus_capture_refuse(const char *op, const char *why);
/** Lets go of all it has (capture.c). */
void cebus_capture_free(cebus_capture *capture);

#endif
