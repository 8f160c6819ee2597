/**
 * cuts.h: where what values are made of comes to its end while the program holds them: parameters
 * are written, leaves are let go. Of a value that is absent then nothing could be made any more.
 * So the runtime makes it again before such a write, and keeps such a leaf for as long as the value
 * is held (lineage/version.h). What nothing reads after that may as well stay from its last use on.
 *
 *     grad   made  read by its update   update of another     ...   let go
 *     loss   made = done                labels are let go     ...   let go
 *                                       = a cut: it has to be there
 */
#ifndef CEBUS_EVICT_CUTS_H
#define CEBUS_EVICT_CUTS_H

#include "layout/pool.h"
#include "lineage/iteration.h"

typedef struct cebus_cuts {
    cebus_pool *pool;
    uint32_t *next; /**< by calls done: the next call that writes; NONE: none does any more */
    uint32_t *gone; /**< by ordinal: calls done when the first of the leaves that it is made of is
                         let go; NONE: all outlive the iteration */
    size_t n_calls, n_values;
} cebus_cuts;

/** Calls that write a persistent value of which others are made, which none is of optimizer state
 * or running statistics; what values are made of. False without host memory. O(refs). */
bool cebus_cuts_init(cebus_cuts *cuts, const cebus_iteration *iteration, cebus_pool *pool);
void cebus_cuts_deinit(cebus_cuts *cuts);

/** The first call from `at` on while which the value has to be there because it is held: one that
 * cuts, or the last before a leaf goes that it is made of. NONE: there is none, or calls still read
 * or write the value then. O(1). */
uint32_t cebus_cuts_find(const cebus_cuts *cuts, const cebus_iteration *iteration, uint32_t ordinal,
                         uint32_t at);

#endif
