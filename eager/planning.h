/**
 * planning.h: has the policy plan what the log learned, and places chosen for what the plan says is
 * there. A plan whose values do not fit the arena side by side is made again for as much less.
 */
#ifndef CEBUS_EAGER_PLANNING_H
#define CEBUS_EAGER_PLANNING_H

#include "eager/guidance_state.h"

/** At the end of an iteration, before the log forgets its names: what will stay where it is. */
void cebus_planning_look(cebus_runtime *rt);

/** Plans for the reference if it is new, or what the plan was made for has changed; chooses places
 * anew if too many were taken. */
void cebus_planning_renew(cebus_runtime *rt, bool learned);

/** At the start of an iteration: values have their first places before them. */
void cebus_planning_expect(cebus_guidance *guidance);

/** No plan, no places. */
void cebus_planning_clear(cebus_runtime *rt);

#endif
