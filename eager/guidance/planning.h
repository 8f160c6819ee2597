/**
 * planning.h: has the policy plan what the log learned, and places chosen for what the plan says is
 * there. A plan whose values do not fit the arena side by side is made again for as much less.
 */
#ifndef CEBUS_EAGER_GUIDANCE_PLANNING_H
#define CEBUS_EAGER_GUIDANCE_PLANNING_H

#include "eager/guidance/state.h"

/** Nothing is planned yet. */
void cebus_planning_init(cebus_runtime *rt, cebus_guidance *guidance);

/** At the end of an iteration, before the log forgets its names: what will stay where it is. */
void cebus_planning_look(cebus_runtime *rt);
/** What was looked at belongs to the iteration at this place of the log. `learned`: it is new
 * there; all that went with what was there before is forgotten. */
void cebus_planning_keep(cebus_runtime *rt, uint32_t place, bool learned);

/** The program has begun to follow guidance->scheme: plans for it if there is no plan yet, or what
 * the plan was made for has changed; chooses places anew if too many were taken. Values have their
 * first places before them. */
void cebus_planning_renew(cebus_runtime *rt);

/** The scheme at this place is planned for as if it were new when it is followed next: there may be
 * a loaded plan. */
void cebus_planning_reconsider(cebus_runtime *rt, uint32_t place);

/** No plan, no places. */
void cebus_planning_clear(cebus_runtime *rt);

#endif
