/**
 * search.h: an exact search for a packing of a part within a capacity: depth first, bottom up,
 * branching where there is the least choice.
 *
 * A node is a component: sections that nothing still to be put crosses the ends of. It splits where
 * nothing crosses, and one piece that fails fails it whole. Else it branches on what is lowest on
 * one section (scan.h): options exclude each other, so no packing is looked at twice within a
 * niche; of blocks that are exactly alike one is tried; and when a block that nothing can lie above
 * did not help, the others cannot. Ideas from MiniMalloc (Moffitt, ASPLOS'23), the branching aside.
 *
 * What has failed is remembered (nogood.h), as a set of blocks and the lowest place of each.
 * That a failed set need not be looked at again holds although the search leaves out packings in
 * which a block rests on nothing: say a packing were lost, because a node was skipped whose set had
 * failed before. Put its upper part over what lay below when the set failed, and let everything
 * drop: that is a packing too, and lies in a branch that was looked at even earlier, since options
 * come before "nothing lies here". So there would be an earliest loss, which cannot be.
 *
 * Restarts: an order of blocks decides which option is tried first. Orders take turns, with growing
 * bounds on their nodes, first fixed ones, then shaken ones, and so do ways to choose among
 * sections; all share what is known to fail. Two in three divide a section's options by its weight,
 * which is how often it failed so far (Boussemart, Hemery, Lecoutre, Sais: Boosting Systematic
 * Search by Weighting Constraints, ECAI'04), and go on where the search last turned back (Lecoutre
 * et al.: Last Conflict Based Reasoning, ECAI'06): else what was decided far away in time is tried
 * over and over beneath a failure that it has nothing to do with.
 */
#ifndef CEBUS_LAYOUT_PACK_SEARCH_H
#define CEBUS_LAYOUT_PACK_SEARCH_H

#include "layout/pack/order.h"
#include "layout/pack/stop.h"

typedef struct cebus_pack_search cebus_pack_search;

typedef enum cebus_pack_outcome {
    CEBUS_PACK_OUTCOME_FITS,
    CEBUS_PACK_OUTCOME_CANNOT, /**< proved */
    CEBUS_PACK_OUTCOME_OPEN,   /**< out of nodes, or stopped */
    CEBUS_PACK_OUTCOME_NO_MEMORY,
} cebus_pack_outcome;

/** For a part of the order's problem; `capacity` in bytes, at least the largest block's. NULL
 * without host memory. */
cebus_pack_search *cebus_pack_search_create(cebus_pack_order *order, const cebus_pack_part *part,
                                            uint64_t capacity, uint64_t seed,
                                            cebus_pack_memory *memory);

/**
 * Goes on for about `nodes` nodes; *out_nodes: how many it was. When it fits, the offsets, units,
 * are written to out_offset, the first of them the part's first block's. May be called again while
 * it is open. Deterministic unless stopped. O(blocks + sections log sections) a node.
 */
cebus_pack_outcome cebus_pack_search_run(cebus_pack_search *search, uint64_t nodes,
                                         cebus_pack_stop *stop, uint64_t *out_nodes,
                                         uint64_t *out_offset);

#endif
