/**
 * hint.h: the hint that the calling thread's scopes give to what it makes.
 */
#ifndef CEBUS_EAGER_HINT_H
#define CEBUS_EAGER_HINT_H

#include "eager/runtime.h"

/** Of a value made now; `former`: of the version that it overwrites (NONE: of none). */
uint8_t cebus_hint_for(cebus_runtime *rt, uint8_t former);

/** The program let go of its last handle to the version; the graph may still hold it. */
void cebus_hint_let_go(cebus_runtime *rt, cebus_candidate *candidate);

#endif
