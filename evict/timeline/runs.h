/**
 * runs.h: what runs in a planned iteration, in order: calls of the program, and replays between
 * them; how much memory each meets, and which of them read or write persistent values. Persistent
 * values themselves are not counted: it is their room that is asked for.
 *
 *     runs      f0   f1   f2  [f1 again]  b2   b1 ...
 *     bytes     40   60   80      80      70   50          of activations, workspaces, gradients
 *     uses of w0 x                                  x      runs, ascending
 */
#ifndef CEBUS_EVICT_TIMELINE_RUNS_H
#define CEBUS_EVICT_TIMELINE_RUNS_H

#include "evict/plan.h"

typedef struct cebus_run {
    uint32_t call;   /**< of the program: what runs, first or again */
    uint32_t at;     /**< calls done before it */
    uint32_t action; /**< a replay's first action; NONE: the program's own run */
} cebus_run;

typedef struct cebus_runs {
    cebus_pool *pool;                 /**< borrowed */
    const cebus_iteration *iteration; /**< borrowed */
    cebus_run *items;
    uint64_t *bytes;      /**< of runs: all that is there but persistent values */
    uint64_t *times;      /**< of runs, and the end: ns from the start, if nothing waits */
    uint32_t *first_uses; /**< of values, and the end: where their uses begin */
    uint32_t *uses;       /**< runs that use persistent values, each once, ascending */
    size_t count, capacity, n_uses;
} cebus_runs;

/** Of a plan that is linked (no actions: just the program). False without host memory: then there
 * is nothing to free. O(refs + actions + values). */
bool cebus_runs_init(cebus_runs *runs, const cebus_iteration *iteration, const cebus_plan *plan,
                     cebus_pool *pool);
void cebus_runs_deinit(cebus_runs *runs);

/** The same on a clock that begins `by` runs (fewer than there are) later, as iterations follow one
 * another: with what runs before that behind the rest. False without host memory: then there is
 * nothing to free. O(runs + uses + values). */
bool cebus_runs_turn(const cebus_runs *runs, uint32_t by, cebus_runs *out);

/** The most bytes of any run. O(runs). */
static inline uint64_t cebus_runs_peak(const cebus_runs *runs)
{
    uint64_t most = 0;
    for (size_t r = 0; r < runs->count; r++)
        most = runs->bytes[r] > most ? runs->bytes[r] : most;
    return most;
}

static inline uint32_t cebus_runs_n_uses(const cebus_runs *runs, uint32_t value)
{
    return runs->first_uses[value + 1] - runs->first_uses[value];
}

#endif
