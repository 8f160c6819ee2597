/**
 * fixtures.h: what lies in the arena between two iterations and stays there in the next: no plan
 * may place anything on it.
 *
 *     an iteration ends   | w1 |  free  | w2 |  y  | w3 |      free      |
 *     gather              | w1 | w2 | w3 |          free           |  y  |   y: what it made
 *     look                [ fixtures     ]
 */
#ifndef CEBUS_EAGER_GUIDANCE_FIXTURES_H
#define CEBUS_EAGER_GUIDANCE_FIXTURES_H

#include "eager/guidance/state.h"

/** At the end of an iteration, before the log forgets its names: writes down what stays, in
 * guidance->fixtures. O(blocks). */
void cebus_fixtures_look(cebus_runtime *rt);

/** Before that, where a plan with places was followed that has all stay that persists: what left
 * all the same, for want of room, comes back. In the midst of the next iteration it would lie where
 * others have their places. O(values). */
void cebus_fixtures_fetch(cebus_runtime *rt);

/** Before that: where copies that came back have left what stays all over the arena, it is moved
 * together, so that there is room for large values. Nothing where the layout moves no blocks, or
 * places none ahead of time. */
void cebus_fixtures_gather(cebus_runtime *rt);

/** Notes them as what the scheme's places were found around, if they were not noted yet. Without
 * host memory nothing is. */
void cebus_fixtures_note(cebus_runtime *rt, cebus_scheme *scheme);
/** Between two iterations: bytes that no iteration names go back to where they were noted, so that
 * a plan that comes back finds its places free. O(fixtures^2 + blocks). */
void cebus_fixtures_restore(cebus_runtime *rt, const cebus_scheme *scheme);

/** Frees everything; none are left. */
void cebus_fixtures_clear(cebus_runtime *rt, cebus_fixtures *fixtures);

#endif
