/**
 * loaded.h: plans that were read from files, held to what the program turns out to do
 * (<cebus/plan.h>).
 */
#ifndef CEBUS_EAGER_GUIDANCE_LOADED_H
#define CEBUS_EAGER_GUIDANCE_LOADED_H

#include "eager/guidance/plan_book.h"
#include "eager/runtime.h"

/** Whether one was loaded for an iteration. */
bool cebus_loaded_has(const cebus_runtime *rt, const cebus_iteration *iteration);
/**
 * The loaded plan for an iteration in `out` (empty), in order and not linked; false where there is
 * none, or where it does not fit the iteration or these terms: that is counted, and told by an
 * event. *out_placed: its values had places side by side. O(refs + actions).
 */
bool cebus_loaded_take(cebus_runtime *rt, const cebus_iteration *iteration,
                       const cebus_plan_terms *terms, cebus_plan *out, bool *out_placed);
/** One that was taken is not used after all. */
void cebus_loaded_refuse(cebus_runtime *rt, const cebus_iteration *iteration, const char *why);

void cebus_loaded_clear(cebus_runtime *rt);

#endif
