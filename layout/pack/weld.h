/**
 * weld.h: a part with fewer blocks: those that seem to fill a rectangle are made one.
 *
 * Where blocks end just as others start, and as many bytes, they may well lie side by side: what
 * one end of a rectangle was cut from is the other. If one block ends at a joint of two sections,
 * one starts there and there is no room to spare, that is so for certain; else it is a guess, the
 * better the fewer end and start there, and the fewer are taken together. Blocks of one lifetime
 * may make a heap first. Five heaps may also be a pinwheel (pinwheel.h). What is welded is welded
 * again, so that of a rectangle that was cut in two, again and again, hardly anything is left.
 * Example: a ends at 5 and has 3 bytes, b and c live from 5 to 9 and have 1 and 2: one block of 3
 * bytes that begins with a and ends at 9.
 *
 * A packing of the welded part is one of the part. That there is none says nothing.
 */
#ifndef CEBUS_LAYOUT_PACK_WELD_H
#define CEBUS_LAYOUT_PACK_WELD_H

#include "layout/pack/joint.h"
#include "layout/pack/stop.h"

/** How much to guess. */
typedef struct cebus_pack_weld_options {
    uint64_t capacity; /**< bytes: nothing is made larger */
    uint32_t most;     /**< pairs of blocks, one that ends and one that starts, at a joint */
    uint32_t share;    /**< of 256: how many welds are made, by chance */
    uint64_t seed;
} cebus_pack_weld_options;

typedef struct cebus_pack_weld {
    const cebus_pack_problem *from;
    const cebus_pack_part *part;
    cebus_pack_weld_piece *pieces; /**< the part's blocks, then what they were welded to */
    uint32_t n_pieces;
    uint32_t n_welds;
    uint32_t *left;             /**< the pieces that are in no other */
    cebus_pack_block *blocks;   /**< and as blocks */
    uint64_t *presets;          /**< of those */
    uint64_t *offset;           /**< by piece: units of `from` */
    cebus_pack_problem problem; /**< of those */
} cebus_pack_weld;

/** All of it lies in `memory`, as does what is used in between. False without. When it is
 * stopped less is welded. Typically O(n log n). */
bool cebus_pack_weld_init(cebus_pack_weld *weld, const cebus_pack_problem *from,
                          const cebus_pack_part *part, const cebus_pack_weld_options *options,
                          cebus_pack_stop *stop, cebus_pack_memory *memory);

/** The part's offsets from those of weld->problem, both in their own units. */
void cebus_pack_weld_split(cebus_pack_weld *weld, const uint64_t *offset, uint64_t *out_offset);

#endif
