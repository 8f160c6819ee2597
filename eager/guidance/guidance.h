/**
 * guidance.h: acting ahead. Under a policy that plans, the runtime learns what an iteration of the
 * program does (lineage/access.h), has the policy plan the next ones, and while the program repeats
 * itself carries out what is due before each call: values go before room is asked for, and come
 * back before they are read.
 *
 *     before a call    does a new one begin?     detect.h
 *                      it is known: plan         cebus_policy.plan
 *                      what is due               carry_out.h -> ladder, swap, replay_call
 *     after a call     does it still repeat?     lineage/access.h
 *
 * Copies to the host are decoupled from the calls (Capuchin, ASPLOS'20, section 4.4): bytes that
 * may leave stay until a request does not fit; then those whose copies started first go first, and
 * only who takes their place waits for the copy. What is read before its room was needed never
 * left. A copy back is started only where its bytes fit without giving up what is not leaving
 * anyway, at most by moving blocks together, if that takes no longer; one that does not fit is
 * tried again before the calls that follow, until its value is needed.
 *
 * Learning costs some 0.2 us a call. Where nobody asked for a policy it begins with the call after
 * the first request that did not fit: a program that has all the memory it wants pays nothing.
 *
 * Nothing here can fail: what finds no room or no host memory is left out, and the reactive policy
 * sees to it. Under a policy that does not plan rt->guidance is NULL, and each hook costs a test of
 * it.
 */
#ifndef CEBUS_EAGER_GUIDANCE_GUIDANCE_H
#define CEBUS_EAGER_GUIDANCE_GUIDANCE_H

#include "eager/runtime.h"
#include "lineage/access.h"

/** The policy was chosen: begins to learn if its plans are wanted, or somebody wants to know where
 * iterations end (capture/watch.c); what was learned before is forgotten. */
void cebus_guidance_start(cebus_runtime *rt);
/** Whether plans are wanted now: the policy makes some, and does not wait for memory to be short.
 */
static inline bool cebus_guidance_learns(const cebus_runtime *rt)
{
    return rt->policy->plan != NULL && rt->learning == CEBUS_LEARNS;
}
/** Between calls: if it waits for memory to be short, it waits no longer. */
void cebus_guidance_learn(cebus_runtime *rt);
void cebus_guidance_stop(cebus_runtime *rt);

/** @name Where a plan has things go: an offset, or CEBUS_ANYWHERE; also where rt->guidance is NULL.
 */
/** @{ */
/** Whether the running iteration follows a placement: then nothing should move out of its place. */
bool cebus_guidance_places(const cebus_runtime *rt);
/** Output j of the call at hand, which has just been described. */
uint64_t cebus_guidance_output_spot(const cebus_runtime *rt, uint32_t j,
                                    const cebus_candidate *output);
/** The workspace of the run at hand. Answered once. */
uint64_t cebus_guidance_workspace_spot(cebus_runtime *rt);
/** What is about to come back. Answered once, where the plan brings it back. */
uint64_t cebus_guidance_spot(cebus_runtime *rt, const cebus_candidate *candidate);
/** @} */

/** @name Hooks, called while rt->guidance is not NULL. */
/** @{ */
/** A call is about to ask for its inputs and outputs. `in`: as given to it (NULL: absent);
 * `in_graph`: a backward will want it. */
void cebus_guidance_act(cebus_runtime *rt, const cebus_call *call, cebus_tensor *const *in,
                        bool in_graph);
/** The call failed, and nothing came of it: what was due goes on where it was left. */
void cebus_guidance_retract(cebus_runtime *rt);
/** Enough is free for a request, but apart: by a plan without places blocks are moved together
 * before anything leaves, if that takes no longer than to copy as much back, and nothing that moves
 * is being copied. Whether it fits then. O(blocks). */
bool cebus_guidance_gather(cebus_runtime *rt, uint64_t bytes);

/** A request does not fit: gives up one value that may leave; false when none is left. */
bool cebus_guidance_yield(cebus_runtime *rt);
/** Somebody is to have bytes at an offset: gives up what lies there and may leave; false when
 * nothing does. */
bool cebus_guidance_yield_at(cebus_runtime *rt, uint64_t offset, uint64_t bytes);
/** It ran, and is about to be committed: storages still name what it read. As cebus_record_call().
 * `recordable`: a replay can make its outputs again. */
void cebus_guidance_observe(cebus_runtime *rt, const cebus_call *call, const cebus_kernel *kernel,
                            cebus_tensor *const *in, cebus_candidate *const *out, bool recordable);
/** Whether a plan guides the running iteration: one that is known may have none, or one that was
 * given up. Also where rt->guidance is NULL. */
bool cebus_guidance_follows(const cebus_runtime *rt);
/** Some plan says what goes when: that one, or a launch's. */
bool cebus_guidance_is_planned(const cebus_runtime *rt);
/** It says all that goes and is made again, so that nothing is kept for other replays. */
bool cebus_guidance_says_all(const cebus_runtime *rt);
/** The same, and there is something left to do by it. */
bool cebus_guidance_goes_on(const cebus_runtime *rt);
/** What the next call reads is about to be asked for ahead of it: what is due before that call
 * happens now, where a plan guides. */
void cebus_guidance_prepare(cebus_runtime *rt);
/** Whether the plan wants the bytes of a version to stay although nobody holds it; also where
 * rt->guidance is NULL. */
bool cebus_guidance_keeps(const cebus_runtime *rt, const cebus_candidate *candidate);
/** The last holder of a version lets go. */
void cebus_guidance_release(cebus_runtime *rt, const cebus_candidate *candidate);
/** The host reads the bytes of a version; also where rt->guidance is NULL. */
void cebus_guidance_read(cebus_runtime *rt, const cebus_candidate *candidate);
/** A version lost its record while somebody holds it; also where rt->guidance is NULL. */
void cebus_guidance_detach(cebus_runtime *rt, const cebus_candidate *candidate);
/** A version is to persist; also where rt->guidance is NULL. */
void cebus_guidance_persist(cebus_runtime *rt, const cebus_candidate *candidate);
/** A version dies. */
void cebus_guidance_forget(cebus_runtime *rt, const cebus_candidate *candidate);
/** The program says that an iteration ended. */
void cebus_guidance_mark(cebus_runtime *rt);
/** The calls that come are those of a launch; also where rt->guidance is NULL. Answers what
 * cebus_guidance_launched() wants to know once it ended or failed. */
bool cebus_guidance_launch(cebus_runtime *rt);
void cebus_guidance_launched(cebus_runtime *rt, bool marked);
/** The budget is another one. Between iterations the next one is planned for it at once, also where
 * rt->guidance is NULL; within one the plan goes on, and what does not fit is left out. `moved`:
 * what stays may lie elsewhere now, so places are chosen an iteration later. */
void cebus_guidance_rebudget(cebus_runtime *rt, bool moved);
/** @} */

#endif
