/**
 * shuttles.h: who bears the ordinals of persistent values, which a plan may have come and go
 * (evict/planner/shuttle.h). Other values are named by the calls that make them, before anything is
 * due on them; persistent ones are there before the iteration, and have to come before the call
 * that names them. They are the same from one iteration to the next, so who bore an ordinal the
 * last time does again.
 *
 * Where that is wrong, because the program reads other parameters in turn, copies are made in vain.
 */
#ifndef CEBUS_EAGER_GUIDANCE_SHUTTLES_H
#define CEBUS_EAGER_GUIDANCE_SHUTTLES_H

#include "eager/guidance/state.h"

/** A call was made, of an iteration that is being recorded: notes which persistent values it reads.
 * Without host memory nobody is known. */
void cebus_shuttles_note(cebus_runtime *rt, const cebus_access *access);
/** That iteration was learned: what was noted belongs to the scheme. */
void cebus_shuttles_adopt(cebus_runtime *rt, cebus_scheme *scheme);
/** An iteration begins. */
void cebus_shuttles_begin(cebus_guidance *guidance);

/** A value dies. */
void cebus_shuttles_forget(cebus_runtime *rt, const cebus_candidate *candidate);

void cebus_shuttles_clear(cebus_runtime *rt, cebus_shuttles *shuttles);

/** Who bore it; NULL: nobody that is known. */
static inline cebus_value *cebus_shuttles_bearer(const cebus_scheme *scheme, uint32_t ordinal)
{
    return ordinal < scheme->shuttles.count ? scheme->shuttles.bearers[ordinal] : NULL;
}

#endif
