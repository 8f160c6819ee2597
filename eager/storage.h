/**
 * storage.h: storages (the unit of memory) and the bytes of their versions.
 *
 * A storage is what views share: it names its current version (`now`). In-place writes to a
 * rebuildable version move the bytes to a new version and leave the old one absent; writes to a
 * leaf keep the version and bump its count (lineage/version.h).
 */
#ifndef CEBUS_EAGER_STORAGE_H
#define CEBUS_EAGER_STORAGE_H

#include "eager/runtime.h"

typedef struct cebus_storage {
    cebus_candidate *now; /**< held */
    uint32_t refs;        /**< tensors that view it, and captures */
    uint32_t captured;    /**< of these: captures */
    uint64_t birth;       /**< tells storages apart, those that are gone, too; 0: saved */
    uint32_t held;        /**< pins of `now` that go over to its next version (residency.h) */
    bool persistent;
    bool saved;       /**< a name for what the graph saved, no user's */
    uint64_t version; /**< in-place writes so far */
    uint64_t rebased; /**< in-place writes the graph knows of (autograd/rebase.h) */
} cebus_storage;

/** A storage with a fresh, absent leaf version of `bytes`. NULL without host memory. */
cebus_storage *cebus_storage_create(cebus_runtime *rt, uint64_t bytes);
/** A storage that names an existing version (holds it): for reading what the graph saved. */
cebus_storage *cebus_storage_of(cebus_runtime *rt, cebus_candidate *version);
void cebus_storage_release(cebus_runtime *rt, cebus_storage *storage);

/** A version for an in-place write or an output; one holder. NULL without host memory. */
cebus_candidate *cebus_candidate_create(cebus_runtime *rt, uint64_t bytes);
/** Drops a holder; drops the bytes if nobody holds them and they can be rebuilt. */
void cebus_candidate_unhold(cebus_runtime *rt, cebus_candidate *candidate);
/** Frees every version that nothing refers to any more. */
void cebus_storage_reap(cebus_runtime *rt);

/** Gives an absent version bytes (contents undefined) for the compute stream to write, at `spot` if
 * that is free (CEBUS_ANYWHERE: no such wish), climbing the ladder. */
cebus_status cebus_candidate_place(cebus_runtime *rt, cebus_candidate *candidate, cebus_zone zone,
                                   uint64_t spot, const char *op);
/** The same, with the contents of another version of that size, which is pinned. */
cebus_status cebus_candidate_copy(cebus_runtime *rt, cebus_candidate *from, cebus_candidate *to,
                                  cebus_zone zone, uint64_t spot, const char *op);
/** Moves the bytes of one version to another of the same size (the first becomes absent). Who
 * checks hashes has taken that of the first by then: others may have been written since. */
void cebus_candidate_move(cebus_runtime *rt, cebus_candidate *from, cebus_candidate *to);
/** An absent version gets a block that already holds its bytes. */
void cebus_candidate_adopt(cebus_runtime *rt, cebus_candidate *candidate, cebus_block *block);
/**
 * Moves the bytes to the persistent end of the arena, if there is room lower down: what seldom
 * goes must not stand between windows. Not while places are planned, nor small ones, which lie
 * together anyway. Without room, or if the copy fails, they stay.
 */
void cebus_candidate_move_low(cebus_runtime *rt, cebus_candidate *candidate);
/** Gives the bytes up; answers the free block they leave (NULL: zero bytes). The version must be
 * evictable, dead, just placed, or have a copy on the host: then it is swapped out. */
cebus_block *cebus_candidate_drop(cebus_runtime *rt, cebus_candidate *candidate);
/** Drops bytes that never became the version's: what was to make them, or to bring them, failed. */
void cebus_candidate_discard(cebus_runtime *rt, cebus_candidate *candidate);
/** Drops an unheld, unpinned, rebuildable version at once. */
void cebus_candidate_settle(cebus_runtime *rt, cebus_candidate *candidate);
/** Drops all that nobody holds and no plan keeps, where nothing absent that somebody holds is made
 * of it. O(blocks). */
void cebus_candidate_settle_all(cebus_runtime *rt);
/** Whether records may be cut now. A replay goes by them, and what a call writes over in place can
 * only be made again by the record that it has had when the call decided so. */
static inline bool cebus_candidate_may_cut(const cebus_runtime *rt)
{
    return !rt->replay.busy && !rt->overwriting;
}
/**
 * Frees a leaf that only records keep, with all that read it: nobody holds or parks it, and nothing
 * can make it again. False, and nothing happened: it is none (nor is NULL), or an absent value that
 * somebody holds needs it. Blocks and copies of others may go with it. O(absent region).
 */
bool cebus_candidate_cut(cebus_runtime *rt, cebus_candidate *candidate);
/** The bytes were read or written now, on the clock that ages count. */
void cebus_candidate_touch(cebus_runtime *rt, cebus_candidate *candidate);
/** The compute stream was just given work that reads or writes the bytes. */
void cebus_candidate_used(cebus_runtime *rt, cebus_candidate *candidate);
/** For events and reports; NULL: workspace. */
cebus_memory_class cebus_memory_class_of(const cebus_candidate *candidate);

/** Address of the version's first byte; NULL when absent or empty. */
static inline char *cebus_candidate_address(const cebus_runtime *rt,
                                            const cebus_candidate *candidate)
{
    return candidate->block != NULL ? rt->base + candidate->block->offset : NULL;
}

#endif
