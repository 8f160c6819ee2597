/**
 * hooks.h: what the rest of the runtime tells the recording at hand, rt->capture: one that the
 * program asked for (<cebus/capture.h>), or that of the running iteration while the runtime watches
 * (watch.c).
 *
 * Hooks are called under the lock, and only while rt->capture is not NULL; those said to be "always
 * allowed" also when it is. Those that may run out of host memory do so before the call at hand has
 * changed anything.
 */
#ifndef CEBUS_EAGER_CAPTURE_HOOKS_H
#define CEBUS_EAGER_CAPTURE_HOOKS_H

#include <cebus/capture.h>
#include <cebus/optim.h>

#include "eager/call.h"
#include "eager/tensor.h"

/** What a backward made of a value. */
typedef enum cebus_captured_gradient {
    CEBUS_CAPTURED_PLAIN,
    CEBUS_CAPTURED_INNER, /**< a gradient on its way */
    CEBUS_CAPTURED_LEAF,  /**< a leaf's: has no record */
} cebus_captured_gradient;

/** A place in a recording. */
typedef struct cebus_captured_point {
    uint64_t stamp; /**< of the recording; 0: there is none */
    size_t seen, n_calls;
} cebus_captured_point;

/** @name Calls and values */
/** @{ */
/** Whether a call that is about to be made is to be recorded. Always allowed. */
static inline bool cebus_capture_is_due(const cebus_runtime *rt)
{
    return (rt->capture != NULL || rt->watch.due) && !rt->watch.aside;
}
/** A call is about to be made: begins an iteration that is watched, makes room to record the call.
 * Always allowed. CEBUS_CAPTURE_ERROR when it reads what a launch could not make again. */
cebus_status cebus_capture_expect(cebus_runtime *rt, const cebus_call *call,
                                  cebus_tensor *const *in);
/** The call ran and is about to be committed: storages still name what it read. Of a call in place
 * out[j] is the version it writes; `made` has the new tensors of others. Cannot fail. */
void cebus_capture_call(cebus_runtime *rt, cebus_call *call, cebus_tensor *const *in,
                        cebus_candidate *const *out, cebus_tensor *const *made);
/** A storage is about to be freed. */
void cebus_capture_forget(cebus_runtime *rt, const cebus_storage *storage);
/** The current version is a gradient. */
void cebus_capture_gradient(cebus_runtime *rt, const cebus_candidate *version,
                            cebus_captured_gradient kind);
/** The leaf's gradient is about to be let go, replaced, or, `added`, added to. */
cebus_status cebus_capture_touch(cebus_runtime *rt, cebus_tensor *leaf, bool added);
/** The next update call is the optimizer's, of this slot; NULL: no optimizer's any more. */
void cebus_capture_update(cebus_runtime *rt, cebus_optimizer *optimizer, size_t slot);
/** Where a backward begins. Always allowed. */
cebus_captured_point cebus_capture_point(const cebus_runtime *rt);
/** A backward that began there failed, and let go of what it made: its calls are forgotten. What is
 * left of them, by hooks or other threads, or a watch, spoils the recording. */
void cebus_capture_rewind(cebus_runtime *rt, cebus_captured_point from);
/** @} */

/** @name Between calls */
/** @{ */
/** Whether the program asked for the recording, which is not only watched. */
bool cebus_capture_is_explicit(const cebus_runtime *rt);
/** Random numbers begin anew. */
void cebus_capture_reseed(cebus_runtime *rt);
/** An iteration ends here, `whole` unless it broke off: the next call begins another. Always
 * allowed. */
void cebus_capture_turn(cebus_runtime *rt, bool whole);
/** What is watched is no longer one iteration: as if the watch began here. Always
 * allowed. */
void cebus_capture_restart(cebus_runtime *rt);
/** The program does what a launch could not repeat: fails in the name of `op`. What is only watched
 * goes on, and is spoiled if this happens between two calls. Both texts live as long as the
 * program. */
cebus_status cebus_capture_forbid(cebus_runtime *rt, const char *op, const char *why);
/** The recording cannot be launched, `op` and `why` say the reason: it goes on without calls. */
void cebus_capture_spoil(cebus_capture *capture, const char *op, const char *why);
/** A tensor was made from host data; without host memory its shape is forgotten. */
void cebus_capture_upload(cebus_runtime *rt, const cebus_tensor *tensor);
/** Throws away what is being recorded, if anything is. Always allowed. */
void cebus_capture_abandon(cebus_runtime *rt);
/** @} */

#endif
