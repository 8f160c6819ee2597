/**
 * cuts.h: where an iteration writes parameters that its values are made of. Of a value that is
 * absent then and held by the program nothing could be made any more, so the runtime makes it again
 * before the write (lineage/version.h). What nothing reads after that may as well stay from its
 * last use on.
 *
 *     grad  made  read by its update   update of another   ...   let go
 *                 = done               = a cut: it has to be there
 */
#ifndef CEBUS_EVICT_CUTS_H
#define CEBUS_EVICT_CUTS_H

#include "layout/pool.h"
#include "lineage/iteration.h"

typedef struct cebus_cuts {
    cebus_pool *pool;
    uint32_t *next; /**< by calls done: the next call that cuts; NONE: none does any more */
    size_t n_calls;
} cebus_cuts;

/** Calls that write a persistent value of which others are made, which none is of optimizer state
 * or running statistics. False without host memory. O(refs). */
bool cebus_cuts_init(cebus_cuts *cuts, const cebus_iteration *iteration, cebus_pool *pool);
void cebus_cuts_deinit(cebus_cuts *cuts);

/** The first call from `at` on that cuts while the value is held; NONE: none does, or calls still
 * read or write it then. O(1). */
uint32_t cebus_cuts_find(const cebus_cuts *cuts, const cebus_iteration *iteration, uint32_t ordinal,
                         uint32_t at);

#endif
