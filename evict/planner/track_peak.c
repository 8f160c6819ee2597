/**
 * track_peak.c: where a track has most.
 */
#include "evict/planner/track.h"

void cebus_track_find_over(const cebus_track *track, double limit, uint64_t *out_from,
                           uint64_t *out_to)
{
    size_t first = 0, end = track->n_blocks;
    while (first < end && track->sums.most[first] + track->sums.lift[first] <= limit)
        first++;
    while (end > first && track->sums.most[end - 1] + track->sums.lift[end - 1] <= limit)
        end--;
    *out_from = first * CEBUS_TRACK_BLOCK;
    *out_to = end * CEBUS_TRACK_BLOCK;
}

double cebus_track_peak(const cebus_track *track, uint32_t *out_item)
{
    double peak = 0;
    size_t at = track->n_blocks;
    for (size_t b = 0; b < track->n_blocks; b++) {
        if (track->sums.most[b] + track->sums.lift[b] <= peak)
            continue;
        peak = track->sums.most[b] + track->sums.lift[b];
        at = b;
    }
    if (out_item == NULL)
        return peak;
    *out_item = CEBUS_TRACK_NONE;
    for (uint32_t i = 0; at < track->n_blocks && *out_item == CEBUS_TRACK_NONE; i++) {
        if (track->blocks[at]->level[i] >= track->sums.most[at])
            *out_item = track->blocks[at]->items[i];
    }
    return peak;
}
