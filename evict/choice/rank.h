/**
 * rank.h: a lower bound on the scores of a chunk's blocks, without looking at each of them.
 *
 * A score is weight / (bytes x age) at least, bytes with the holes beside it; or less by no policy.
 * So 1/score of a block is a line in time: bytes x (now - tick) / weight. The greatest of a chunk's
 * lines has a bound that holds from then on (layout/window/bound.h), for as long as nothing but
 * time goes by: it is worked out when a chunk has changed, and read otherwise.
 */
#ifndef CEBUS_EVICT_CHOICE_RANK_H
#define CEBUS_EVICT_CHOICE_RANK_H

#include "evict/choice/chooser.h"
#include "layout/window/chunk.h"

/** A chunk and the holes around it, in bytes: what ends where it begins, begins where it ends. */
typedef struct cebus_rank_place {
    uint32_t chunk;
    uint64_t low, high;
} cebus_rank_place;

/** A bit for each block that may have a score. */
uint32_t cebus_rank_candidates(const cebus_chunk *chunk);

/** Of a chunk's blocks: the bytes of the holes beside each, and what its score is at least, by what
 * is kept. Both have room for CEBUS_CHUNK_MAX. */
void cebus_rank_scores(const cebus_chooser *chooser, const cebus_rank_place *at,
                       uint64_t *out_beside, double *out_scores);

/** The least of those, or less. O(1) where it is known, else O(CEBUS_CHUNK_MAX). */
double cebus_rank_least(const cebus_chooser *chooser, const cebus_rank_place *at);

#endif
