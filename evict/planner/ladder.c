#include "evict/planner/ladder.h"

#include <math.h>

#include "evict/planner/improve.h"
#include "evict/planner/prune.h"
#include "evict/planner/weights.h"

/** One rung to the next, at most; where it got stuck the step is halved, down to the least. */
#define STEP 0.1
#define LEAST_STEP 0.002

enum {
    /* Times the effort of the terms for all rungs; parts of it for one run, for the search on a
     * rung and on the last, for one careless run. */
    EFFORTS = 10,
    RUN_PART = 4,
    SEARCH_PART = 20,
    LAST_PART = 2,
    CARELESS_PART = 16,
    CARELESS_RUNS = 12,
};

typedef struct ladder {
    cebus_greedy *greedy;
    const cebus_plan_terms *terms;
    cebus_snapshot rung; /**< the lowest */
    double limit, step;
    double theta; /**< of the run that made the rung */
    uint64_t most_ns;
    uint32_t seed;
} ladder;

/** From the lowest rung, first with care, then without. */
static bool run(ladder *l, double target, bool *out_fits)
{
    cebus_greedy *greedy = l->greedy;
    greedy->most_spent = greedy->closure.spent + l->terms->effort / RUN_PART;
    cebus_greedy_end end = cebus_greedy_run(greedy, target, 0, l->most_ns);
    *out_fits = end == CEBUS_GREEDY_FITS;
    if (*out_fits || end == CEBUS_GREEDY_NO_HOST_MEMORY)
        return *out_fits;
    if (!cebus_snapshot_restore(&l->rung, greedy->sequence))
        return false;
    bool ok = true;
    for (int i = 0; i < CARELESS_RUNS && ok && !*out_fits; i++) {
        greedy->most_spent = greedy->closure.spent + l->terms->effort / CARELESS_PART;
        ok = cebus_improve_lower(greedy, target, l->theta, l->most_ns, ++l->seed, out_fits);
    }
    return ok;
}

/** The sequence fits the target; what it need not cost is searched for. */
static bool settle(ladder *l, double target)
{
    cebus_greedy *greedy = l->greedy;
    cebus_sequence *sequence = greedy->sequence;
    double theta = greedy->closure.theta;
    unsigned part = target > l->limit ? SEARCH_PART : LAST_PART;
    uint64_t spent = greedy->closure.spent + l->terms->effort / part;
    uint64_t visits;
    if (!cebus_prune_all(sequence, target, sequence->pool, &visits) ||
        !cebus_improve_run(greedy, l->terms, target, theta, spent))
        return false;
    l->theta = theta;
    return cebus_snapshot_take(&l->rung, sequence);
}

static bool descend(ladder *l)
{
    const cebus_greedy *greedy = l->greedy;
    uint64_t most = greedy->closure.spent + EFFORTS * l->terms->effort;
    bool ok = cebus_snapshot_take(&l->rung, greedy->sequence);
    while (ok && l->rung.peak > l->limit && l->step > LEAST_STEP && greedy->closure.spent < most &&
           !cebus_greedy_is_stopped(greedy)) {
        double target = fmax(l->rung.peak * (1 - l->step), l->limit);
        bool fits;
        ok = run(l, target, &fits);
        if (ok && fits)
            ok = settle(l, target);
        else
            l->step /= 2;
    }
    return ok && cebus_snapshot_restore(&l->rung, greedy->sequence);
}

bool cebus_ladder_descend(cebus_greedy *greedy, const cebus_plan_terms *terms, double limit,
                          uint64_t most_ns)
{
    ladder l = {.greedy = greedy, .terms = terms, .limit = limit, .step = STEP, .most_ns = most_ns};
    cebus_snapshot_init(&l.rung, greedy->sequence->pool);
    cebus_weights_level(greedy->sequence);
    cebus_greedy_share(greedy, limit, false);
    bool ok = descend(&l);
    cebus_snapshot_deinit(&l.rung);
    return ok;
}
