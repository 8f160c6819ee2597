/**
 * residency.h: brings back what a call reads, and keeps it until the call is done.
 * Missing versions are rebuilt (rebuild.h), in one go, or each with all others pinned. When that
 * leaves too little room they are made one after the other, so that each one's chain runs before
 * the others take their room; then dearer values go for it, and at last all.
 */
#ifndef CEBUS_EAGER_RESIDENCY_H
#define CEBUS_EAGER_RESIDENCY_H

#include "eager/storage.h"

/**
 * Pins `values` (NULL entries allowed, duplicates pinned twice) and makes all of them resident. On
 * failure nothing is pinned. `op` names the caller in messages.
 */
cebus_status cebus_residency_begin(cebus_runtime *rt, cebus_candidate *const *values, size_t n,
                                   const char *op);
/** Unpins; versions that nobody holds any more go at once. */
void cebus_residency_end(cebus_runtime *rt, cebus_candidate *const *values, size_t n);

/** What must stay until leaves are overwritten in place. */
typedef struct cebus_pinned {
    cebus_candidate **items;  /**< pinned; an owned list */
    size_t count, capacity;   /**< of items */
    cebus_candidate **leaves; /**< borrowed, in an owned list */
    size_t n_leaves, room;    /**< of leaves */
} cebus_pinned;
/**
 * Before a leaf is overwritten in place: rebuilds every absent version somebody holds whose replay
 * needs the old contents, and pins these and all else that was made of them: what another request
 * of the same call gave up could not come back. For the caller to cut and to unpin. Where that does
 * not fit, or would strand more than it has to, records read a copy of the leaf from then on; not
 * under policies that plan, nor where values go to the host.
 */
cebus_status cebus_residency_before_write(cebus_runtime *rt, cebus_candidate *leaf,
                                          cebus_pinned *pinned, const char *op);
/** What reads the leaves lives on without them, and is a leaf itself. Before anything that the call
 * read is let go: then it cannot fail. */
void cebus_residency_cut(cebus_runtime *rt, const cebus_pinned *pinned);
/** Unpins and empties the list. */
void cebus_residency_unpin(cebus_runtime *rt, cebus_pinned *pinned);

/**
 * Whether `tensors` (NULL allowed) must be taken in parts: they are more bytes than the budget, and
 * what is not in use can be swapped. With the lock.
 */
bool cebus_residency_exceeds(const cebus_runtime *rt, cebus_tensor *const *tensors, size_t n);

/**
 * Takes the lock and pins the storages of `tensors` (NULL allowed), all resident, with what
 * writing to the leaves among them will need: an optimizer holds all it touches before its
 * first write, so that running out of memory changes nothing. Balanced by unhold with the same
 * list. The pins follow the storages: a write to what a call made makes a new version, which has
 * them from then on.
 */
CEBUS_MUST_CHECK cebus_status cebus_residency_hold(cebus_runtime *rt, cebus_tensor *const *tensors,
                                                   size_t n);
void cebus_residency_unhold(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n);

#endif
