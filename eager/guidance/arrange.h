/**
 * arrange.h: what persists goes to where the iteration that begins has it. Planned places (evict/
 * places/site.h) of what crosses from one iteration to the next need not be the same at the end of
 * the one and at the beginning of the other, and by a new plan hardly are: there it moves on the
 * device. Who lies in the way moves first, or aside where values are in each other's.
 *
 *     where they lie     [ a )[ b )[    )[ c )
 *     where they are to  [ b )[    )[ a )[ c )      a moves, then b
 */
#ifndef CEBUS_EAGER_GUIDANCE_ARRANGE_H
#define CEBUS_EAGER_GUIDANCE_ARRANGE_H

#include "eager/guidance/state.h"

/** Before the first call, as soon as it is known what may leave. What finds no way to its place
 * leaves by the link, and comes back to it. O(actions due x values that move). */
void cebus_arrange(cebus_runtime *rt);

#endif
