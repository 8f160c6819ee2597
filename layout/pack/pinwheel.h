/**
 * pinwheel.h: five heaps that make a rectangle no straight cut goes through.
 *
 *     left  over  over      `left` ends where `middle` and `over` start, with as many bytes as
 * both; left middle right     `under` and `middle` end where `right` starts, likewise; `left` and
 *     under under right     `under` start at once, `over` and `right` end at once.
 *
 * Four numbers agree, so that few of those that are found are there by chance. Turned the other way
 * round it is the same: nothing in it says what is above and what below.
 */
#ifndef CEBUS_LAYOUT_PACK_PINWHEEL_H
#define CEBUS_LAYOUT_PACK_PINWHEEL_H

#include "layout/pack/joint.h"

typedef struct cebus_pack_pinwheel {
    const cebus_pack_heap *left, *middle, *over, *under, *right;
    uint64_t pairs; /**< of both joints: the more the likelier it is there by chance */
} cebus_pack_pinwheel;

/** What to look for, and who is told. */
typedef struct cebus_pack_pinwheels {
    const cebus_pack_joints *joints;
    uint64_t capacity;        /**< units: nothing higher is looked for */
    uint64_t most;            /**< pairs of a joint; it may have two at any rate */
    cebus_pack_side sides[4]; /**< of the joint that is looked at, then of another one */
    /** Heaps are valid until it returns. */
    void (*note)(void *context, const cebus_pack_pinwheel *found);
    void *context;
} cebus_pack_pinwheels;

/** Those whose middle starts at the joint of a section; not all of very many. */
void cebus_pack_pinwheels_find(cebus_pack_pinwheels *all, uint32_t section);

#endif
