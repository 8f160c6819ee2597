/**
 * presets.h: checks that blocks with preset offsets do not overlap while they live.
 */
#ifndef CEBUS_LAYOUT_PACK_PRESETS_H
#define CEBUS_LAYOUT_PACK_PRESETS_H

#include "layout/pack/problem.h"

/** Names two that overlap in out_result, if any do. O(n log n). */
cebus_status cebus_pack_presets_check(const cebus_pack_problem *problem, cebus_pack_memory *memory,
                                      cebus_pack_result *out_result);

#endif
