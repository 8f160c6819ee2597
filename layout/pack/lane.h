/**
 * lane.h: one of several ways to search for a packing of a part: as it is, or welded (weld.h).
 *
 * Times to a packing are heavy-tailed, and each way is quick where others are not, so lanes take
 * turns. The first welds only where one block ends and one starts; the second guesses, otherwise
 * each time; the last searches the part as it is, and it alone can prove that nothing fits.
 */
#ifndef CEBUS_LAYOUT_PACK_LANE_H
#define CEBUS_LAYOUT_PACK_LANE_H

#include "layout/pack/search.h"
#include "layout/pack/weld.h"

typedef enum cebus_pack_lane_kind {
    CEBUS_PACK_LANE_LONE,
    CEBUS_PACK_LANE_GUESS,
    CEBUS_PACK_LANE_PLAIN,
    CEBUS_PACK_LANE_KINDS,
} cebus_pack_lane_kind;

/** What is to be packed, and how. */
typedef struct cebus_pack_lane_task {
    const cebus_pack_problem *problem;
    const cebus_pack_part *part;
    uint64_t capacity; /**< bytes, at least the largest block's */
    uint64_t seed;
} cebus_pack_lane_task;

typedef struct cebus_pack_lane {
    cebus_pack_lane_task task;
    cebus_pack_lane_kind kind;
    uint64_t draws;           /**< ways to weld that were tried */
    cebus_pack_memory memory; /**< of all that follows */
    cebus_pack_weld weld;
    cebus_pack_order order;
    cebus_pack_search *search; /**< NULL: to be made */
    uint64_t *offset;          /**< of the welded part */
    bool is_over;              /**< it cannot find anything (any more) */
} cebus_pack_lane;

/** Takes no memory yet. */
void cebus_pack_lane_init(cebus_pack_lane *lane, const cebus_pack_lane_task *task,
                          cebus_pack_lane_kind kind, const cebus_host_allocator *host);
void cebus_pack_lane_destroy(cebus_pack_lane *lane);

/** As cebus_pack_search_run(), for the part of the task. */
cebus_pack_outcome cebus_pack_lane_run(cebus_pack_lane *lane, uint64_t nodes, cebus_pack_stop *stop,
                                       uint64_t *out_nodes, uint64_t *out_offset);

#endif
