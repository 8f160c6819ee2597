/**
 * scheme.h: the plan that is followed for an iteration, with its places; and one that was set aside
 * while another is tried, which may come back.
 */
#ifndef CEBUS_EAGER_GUIDANCE_SCHEME_H
#define CEBUS_EAGER_GUIDANCE_SCHEME_H

#include "eager/guidance/state.h"

/** The iteration that it goes with; not of the idle one. */
static inline const cebus_iteration *cebus_scheme_iteration(const cebus_guidance *guidance,
                                                            const cebus_scheme *scheme)
{
    return &guidance->log.known.at[scheme - guidance->schemes].iteration;
}

/** No plan, no places. */
void cebus_scheme_init(cebus_scheme *scheme, cebus_pool *pool);
/** Forgets all but who it takes memory from. */
void cebus_scheme_clear(cebus_runtime *rt, cebus_scheme *scheme);

void cebus_scheme_clear_places(cebus_runtime *rt, cebus_scheme *scheme);
/** The plan with its places. */
void cebus_scheme_clear_plan(cebus_runtime *rt, cebus_scheme *scheme);

/** The placement is there, but for what is looked up as values come back. False: without host
 * memory there are no places. */
bool cebus_scheme_make_spots(cebus_runtime *rt, cebus_scheme *scheme);

/** Another plan, linked, and its placement, if it has one, take the place of the plan at hand.
 * Both are the scheme's from now on. */
void cebus_scheme_take(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan plan,
                       cebus_placement placement);

/** The opposite: the scheme has none now, and the caller clears both. */
void cebus_scheme_take_out(cebus_runtime *rt, cebus_scheme *scheme, cebus_plan *out_plan,
                           cebus_placement *out_placement);

/** Keeps the plan at hand for later, with its places: the scheme has none now. */
void cebus_scheme_set_aside(cebus_runtime *rt, cebus_scheme *scheme);
/** It comes back in the place of the plan at hand. False: none was kept. */
bool cebus_scheme_restore(cebus_runtime *rt, cebus_scheme *scheme);
/** It is of no more use. */
void cebus_scheme_clear_aside(cebus_runtime *rt, cebus_scheme *scheme);

/** A better plan that is on its way is not wanted any more. */
void cebus_scheme_cancel_draft(cebus_guidance *guidance);

#endif
