/**
 * @file plan.h
 * Plans as data: what the runtime worked out for the iterations of a program, kept in a file, so
 * that the next run of the program need not work it out again.
 *
 * A policy that plans (`capuchin`, `cebus`, ...) learns an iteration, plans it, and acts by the
 * plan from the next one on. The plan of an iteration is keyed by its signature: a number made of
 * all its calls, in order, with what each reads, makes and how many bytes that is. A program that
 * does the same again has the same signature, in another process and on another day.
 *
 *     first run      learn, search a plan, act by it ...    cebus_plan_save(rt, "net.plan")
 *     later runs     cebus_plan_load(rt, "net.plan")        learn, act by the plan in the file
 *
 * A file is not trusted. What it says is bounded and checked as it is read; once the program has
 * done an iteration of the signature, the plan is held to it, and to the budget there is now,
 * before it is used. One that does not fit is left alone, and the policy plans as if there were no
 * file. In no case does a plan decide any result: it only says what goes when, and comes back.
 *
 * The format is JSON lines, one object a line:
 *
 *     {"cebus_plans": 1, "version": "0.1.0", "device": "sim:p100-16g", "policy": "cebus",
 *      "layout": "planned", "swap": "default", "budget": 4294967296, "host_budget": 0, "plans": 1}
 *     {"plan": "9f3c...", "calls": 812, "values": 1310, "budget": 4294967296, "holes": 0,
 *      "host": 0, "out_rate": 12000000000, "in_rate": 12000000000, "placed": 1,
 *      "predicted_ns": 81250000, "actions": 2}
 *     {"drop": 12, "at": 40}
 *     {"replay": 12, "at": 730}
 *
 * The first line says what the runtime was that saved them; of it only `policy` and `plans` must be
 * there. Each plan is followed by its actions, in the order in which they are due: `drop`,
 * `copy_out`, `swap_out`, `swap_in` or `replay` of a value (they count from 0 in the order in which
 * the iteration's calls name them), `at` so many calls. Keys may stand in any order; others are
 * ignored. `budget`, `host` are bytes, the rates bytes/s: what the plan was made for.
 */
#ifndef CEBUS_PLAN_H
#define CEBUS_PLAN_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/**
 * Writes the plans in force to `path`: one for each kind of iteration that the program did
 * twice or more. Under a policy that goes on searching in the background it is the best so far.
 * CEBUS_INVALID_ARGUMENT when the policy does not plan, when nothing is planned yet (the program
 * must have done the same iteration twice), or when the file cannot be created;
 * CEBUS_DEVICE_ERROR when it cannot be written. After a failure a file that was there before is as
 * it was. O(actions).
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_plan_save(cebus_runtime *rt, const char *path);

/**
 * Reads plans from `path`, to be used from the second time on that the program does an iteration
 * of their signature, under the policy they were made by. Allowed at any time, before the first
 * call, too; plans of the same signature and policy that were loaded before are replaced. The
 * first iteration with a plan is followed without a search. A plan made for more memory than
 * there is, or for much less (below 7/8 of it), is not used: `plans_refused` in the statistics
 * counts these, and CEBUS_EVENT_PLAN_REFUSED says why.
 *
 * CEBUS_INVALID_ARGUMENT when the file cannot be opened or is no plan, with its line and what is
 * wrong: no JSON object, a key missing or of the wrong type, a number out of range, actions out of
 * order, less than the file announced. CEBUS_OUT_OF_HOST_MEMORY; CEBUS_DEVICE_ERROR when it cannot
 * be read on. After a failure what was loaded before is as it was. O(file).
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_plan_load(cebus_runtime *rt, const char *path);

/**
 * One line on the last iteration that was guided by a plan from its first call to its last: the
 * budget, the peak, what was swapped and recomputed, the time it lost by that, and what the plan
 * had said; then a warning for all that was asked for and had no effect: swapping that never
 * happened, a spill file that was never written, a loaded plan that did not fit.
 *
 *     policy cebus: budget 4.00 GiB, peak 3.98 GiB; swapped 12 values, 1.21 GiB; recomputed 34
 *     calls; lost 3.2 ms a step (4.10%), predicted 81.2 of 81.5 ms
 *
 * Worth printing on CEBUS_EVENT_GUIDED. The figures are `guided_*` in the statistics. Returns the
 * length it wanted, as snprintf does.
 */
CEBUS_API size_t cebus_plan_summary(cebus_runtime *rt, char *text, size_t text_bytes);

CEBUS_END_DECLS

#endif
