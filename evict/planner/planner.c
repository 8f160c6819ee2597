#include "evict/planner/planner.h"

#include "evict/curve.h"
#include "evict/planner/emit.h"
#include "evict/planner/greedy.h"
#include "evict/planner/prune.h"
#include "evict/planner/snapshot.h"

/** Sums of bytes up to this are exact in the sequence's doubles. */
#define MOST_BYTES (UINT64_C(1) << 52)

typedef struct search {
    cebus_sequence sequence;
    cebus_greedy greedy;
    cebus_snapshot best;
    double limit;
} search;

/** A run from the bare program; kept if it is the best. *out_theta: what it ended at. */
static bool try_run(search *s, double theta, double *out_theta)
{
    if (!cebus_sequence_clear(&s->sequence))
        return false;
    cebus_greedy_end end = cebus_greedy_run(&s->greedy, s->limit, theta, UINT64_MAX);
    *out_theta = s->greedy.closure.theta;
    if (end == CEBUS_GREEDY_NO_HOST_MEMORY)
        return false;
    if (end == CEBUS_GREEDY_FITS && !cebus_prune_all(&s->sequence, s->limit, s->best.pool))
        return false;
    double peak = cebus_track_peak(&s->sequence.track, NULL);
    bool better = peak < s->best.peak;
    if (peak <= s->limit && s->best.peak <= s->limit)
        better = s->sequence.cost < s->best.cost;
    return !better || cebus_snapshot_take(&s->best, &s->sequence);
}

static bool try_all(search *s)
{
    double theta = 0;
    for (int share = 0; share < 2; share++) {
        if (!cebus_sequence_clear(&s->sequence))
            return false;
        cebus_greedy_share(&s->greedy, s->limit, share > 0);
        if (!try_run(s, 0, &theta) || !try_run(s, 0.3 * theta, &theta))
            return false;
    }
    return true;
}

static bool plan(search *s, const cebus_iteration *iteration, cebus_plan *out)
{
    cebus_snapshot_init(&s->best, out->pool);
    if (!cebus_sequence_init(&s->sequence, iteration, out->pool))
        return false;
    bool ok = cebus_greedy_init(&s->greedy, &s->sequence, out->pool);
    if (ok) {
        ok = cebus_snapshot_take(&s->best, &s->sequence) && try_all(s) &&
             cebus_snapshot_restore(&s->best, &s->sequence) && cebus_emit_plan(&s->sequence, out);
        cebus_greedy_deinit(&s->greedy);
    }
    cebus_sequence_deinit(&s->sequence);
    cebus_snapshot_deinit(&s->best);
    return ok;
}

static bool is_exact(const cebus_iteration *iteration)
{
    uint64_t bytes = 0;
    for (size_t v = 0; v < iteration->n_values && bytes <= MOST_BYTES; v++)
        bytes = iteration->values[v].bytes <= MOST_BYTES ? bytes + iteration->values[v].bytes
                                                         : MOST_BYTES + 1;
    return bytes <= MOST_BYTES;
}

bool cebus_planner_plan(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                        cebus_plan *out)
{
    cebus_curve curve;
    if (!cebus_curve_init(&curve, iteration, out->pool))
        return false;
    bool fits = cebus_curve_peak(&curve, NULL) <= cebus_plan_target(terms);
    cebus_curve_deinit(&curve);
    if (fits || !is_exact(iteration))
        return true;
    search s = {.limit = (double)cebus_plan_target(terms)};
    return plan(&s, iteration, out);
}
