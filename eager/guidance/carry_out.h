/**
 * carry_out.h: doing what a plan says is due (evict/plan.h). Nothing here can fail: what finds no
 * room, or is not as the plan supposed, is left out, and the reactive policy sees to it.
 */
#ifndef CEBUS_EAGER_GUIDANCE_CARRY_OUT_H
#define CEBUS_EAGER_GUIDANCE_CARRY_OUT_H

#include "eager/guidance/state.h"

/** All that is due before the next call. The program follows the reference. */
void cebus_carry_out_due(cebus_runtime *rt);

/** Whose ordinal it is in the iteration at hand; persistent values have theirs before a call names
 * them. NULL: nobody's yet. */
cebus_candidate *cebus_carry_out_bearer(const cebus_guidance *guidance, uint32_t ordinal);
/** What is there goes to the host at once, if it may. */
void cebus_carry_out_send_off(cebus_runtime *rt, cebus_candidate *candidate);

/** The program does not follow any more: what only the plan kept goes. */
void cebus_carry_out_left(cebus_runtime *rt);

#endif
