/**
 * snapshot.h: the replays of a sequence, put by, to be put back later into the same program.
 */
#ifndef CEBUS_EVICT_PLANNER_SNAPSHOT_H
#define CEBUS_EVICT_PLANNER_SNAPSHOT_H

#include "evict/planner/sequence.h"

typedef struct cebus_snapshot {
    cebus_pool *pool;          /**< borrowed */
    cebus_instance *instances; /**< replays, in order */
    size_t count, capacity;
    uint64_t cost; /**< ns */
    double peak;   /**< bytes */
} cebus_snapshot;

void cebus_snapshot_init(cebus_snapshot *snapshot, cebus_pool *pool);
void cebus_snapshot_deinit(cebus_snapshot *snapshot);

/** False without host memory. O(items). */
bool cebus_snapshot_take(cebus_snapshot *snapshot, const cebus_sequence *sequence);
/** `to` becomes like `from`. False without host memory. O(replays). */
bool cebus_snapshot_copy(const cebus_snapshot *from, cebus_snapshot *to);
/** Whether both have the same replays, in the same places. O(replays). */
bool cebus_snapshot_is_same(const cebus_snapshot *a, const cebus_snapshot *b);
/** Leaves the sequence as it was when it was taken, with an empty log. False without host memory:
 * then only deinit of the sequence is left. */
bool cebus_snapshot_restore(const cebus_snapshot *snapshot, cebus_sequence *sequence);

#endif
