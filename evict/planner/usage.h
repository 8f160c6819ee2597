/**
 * usage.h: what a call uses at once. No plan can do with less than the call that uses most.
 */
#ifndef CEBUS_EVICT_PLANNER_USAGE_H
#define CEBUS_EVICT_PLANNER_USAGE_H

#include "lineage/iteration.h"

/** Bytes that a call reads, writes and makes: of what persists, and of others, with its workspace;
 * not what it takes over, which has the place of what it makes. */
typedef struct cebus_usage {
    uint64_t persistent, others;
} cebus_usage;

cebus_usage cebus_usage_of(const cebus_iteration *iteration, uint32_t call);

/** Bytes without which nothing fits in which all that persists stays. O(refs). */
uint64_t cebus_usage_least(const cebus_iteration *iteration);

#endif
