/**
 * capture.h: the inside of a capture: an iteration's calls with the values they read and made
 * (<cebus/capture.h>). capture.c takes them down, capture_end.c says what came of it,
 * capture_launch.c runs them again.
 *
 *     value     one version of a buffer's contents, numbered in the order calls name them. What no
 *               recorded call made is an input: it keeps its storage. A write in place makes a new
 *               value `over` the old one; a chain of these is one buffer
 *     call      its lineage record, kept for op, views and attributes, and its values
 *
 * A version knows its value by candidate->capture_id; ids count over the runtime's life, so that
 * those of an earlier capture are told by their size.
 *
 * Hooks are called under the lock, and only while rt->capture is not NULL. Those that may run out
 * of host memory do so before the call at hand has changed anything.
 */
#ifndef CEBUS_EAGER_CAPTURE_H
#define CEBUS_EAGER_CAPTURE_H

#include <cebus/capture.h>
#include <cebus/optim.h>

#include "eager/call.h"
#include "eager/tensor.h"

#define CEBUS_CAPTURE_NONE UINT32_MAX

/** What a backward made of a value. */
typedef enum cebus_captured_gradient {
    CEBUS_CAPTURED_PLAIN,
    CEBUS_CAPTURED_INNER, /**< a gradient on its way */
    CEBUS_CAPTURED_LEAF,  /**< a leaf's: has no record */
} cebus_captured_gradient;

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

typedef struct cebus_captured_call {
    cebus_call *call;           /**< counted */
    size_t refs;                /**< in refs: n_in values (NONE: absent), then n_out */
    uint64_t in_graph;          /**< bit i: input i is a parameter, or a view of one */
    cebus_optimizer *optimizer; /**< whose step it is, counted; NULL: nobody's */
    size_t slot;                /**< of the optimizer */
} cebus_captured_call;

/** A leaf whose gradient the iteration touched. */
typedef struct cebus_captured_leaf {
    cebus_tensor *leaf;          /**< counted */
    cebus_tensor *grad;          /**< at the end, counted; NULL: none */
    const cebus_storage *former; /**< of its gradient when it was first touched; NULL: none */
    bool added;                  /**< first by a backward, not by letting it go */
} cebus_captured_leaf;

struct cebus_capture {
    cebus_runtime *rt;
    cebus_captured_call *calls;
    cebus_captured_value *values;
    uint32_t *refs;
    cebus_captured_leaf *leaves;
    size_t n_calls, n_values, n_refs, n_leaves;
    size_t calls_room, values_room, refs_room, leaves_room;

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
    struct cebus_capture_plan *plan; /**< capture_plan.h; NULL: none */
    uint64_t launches;               /**< complete ones */
    size_t step;                     /**< of the launch that is under way */
    bool under_way;
    uint64_t launch_seed, launch_offset;
};

/** @name Hooks of what is recorded */
/** @{ */
/** A call is about to be made: room to take it down. CEBUS_CAPTURE_ERROR when it reads what a
 * launch could not make again. */
cebus_status cebus_capture_expect(cebus_runtime *rt, const cebus_call *call,
                                  cebus_tensor *const *in);
/** It ran and is about to be committed: storages still name what it read. Of a call in place out[j]
 * is the version it writes; `made` has the new tensors of others. Cannot fail. */
void cebus_capture_call(cebus_runtime *rt, cebus_call *call, cebus_tensor *const *in,
                        cebus_candidate *const *out, cebus_tensor *const *made);
/** A storage goes. */
void cebus_capture_forget(cebus_runtime *rt, const cebus_storage *storage);
/** The current version is a gradient. */
void cebus_capture_gradient(cebus_runtime *rt, const cebus_candidate *version,
                            cebus_captured_gradient kind);
/** The leaf's gradient is about to be let go, replaced, or, `added`, added to. */
cebus_status cebus_capture_touch(cebus_runtime *rt, cebus_tensor *leaf, bool added);
/** The next update is the optimizer's, of this slot; NULL: it was. */
void cebus_capture_update(cebus_runtime *rt, cebus_optimizer *optimizer, size_t slot);
/** A backward that began at the call of this number failed: what it did is forgotten. */
void cebus_capture_rewind(cebus_runtime *rt, size_t n_calls);
/** Fails in the name of `op`: "cannot be captured: why". */
cebus_status cebus_capture_refuse(const char *op, const char *why);
/** @} */

/** Puts a program of the calls together, which are all there, and room for launches
 * (capture_program.c). False without host memory. */
bool cebus_capture_describe(cebus_capture *capture);
/** Frees all that. */
void cebus_capture_strip(cebus_capture *capture);
/** Says of the program's values where they come from and what becomes of them. */
void cebus_capture_label(cebus_capture *capture);

/** The value a version has in the capture; NONE: none. */
uint32_t cebus_capture_value_of(const cebus_capture *capture, const cebus_candidate *version);

/** Throws away what is being recorded, if anything is. */
void cebus_capture_abandon(cebus_runtime *rt);
/** Lets go of all it has (capture.c). */
void cebus_capture_free(cebus_capture *capture);

#endif
