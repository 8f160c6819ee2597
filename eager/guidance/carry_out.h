/**
 * carry_out.h: doing what a plan says is due (evict/plan.h). Nothing here can fail: what finds no
 * room, or is not as the plan supposed, is left out, and the reactive policy sees to it.
 */
#ifndef CEBUS_EAGER_GUIDANCE_CARRY_OUT_H
#define CEBUS_EAGER_GUIDANCE_CARRY_OUT_H

#include "eager/guidance/guidance.h"

/** All that is due before the next call. The program follows the reference. */
void cebus_carry_out_due(cebus_runtime *rt);

/** The program does not follow any more: what only the plan kept goes. */
void cebus_carry_out_left(cebus_runtime *rt);

#endif
