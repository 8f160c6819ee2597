/**
 * Policy `tflms` (Le et al., TFLMS: Large Model Support in TensorFlow by Graph Rewriting, 2018;
 * tuned by simulation as in Le et al., Automatic GPU Memory Management for Large Neural Models in
 * TensorFlow, ISMM'19). A value whose next reader lies further than a threshold in the topological
 * order is swapped out after its last use before; it is swapped in a fixed number of ops ahead of
 * the reader. The greatest threshold is taken under which the iteration fits, so that as little as
 * can be is swapped.
 *
 * Liberties: The order is the levels of the recorded iteration's graph (the longest path of calls
 * that read from each other), where TensorFlow has the graph before it runs. How many ops ahead is
 * not the user's choice (`lb`) but so many as run, on average, during an average copy. An iteration
 * that fits is left alone; what the plan does not make fit is met as an LRU cache with swapping
 * would.
 */
#include <string.h>

#include "evict/policy.h"
#include "evict/survey.h"

/** Ops ahead at most. */
#define MOST_AHEAD 64

typedef struct draft {
    cebus_survey survey;
    const cebus_plan_terms *terms;
    cebus_curve trial;
    uint32_t *distance; /**< of each span, in levels */
    uint32_t ahead;     /**< ops */
} draft;

/** A call's level is one more than the highest of what it reads. */
static void find_levels(const cebus_iteration *iteration, uint32_t *level)
{
    for (size_t k = 0; k < iteration->n_calls; k++) {
        const cebus_iteration_call *call = &iteration->calls[k];
        uint32_t highest = 0;
        for (uint32_t i = 0; i < call->n_in; i++) {
            uint32_t v = iteration->refs[call->refs + i];
            uint32_t born = v != CEBUS_ITERATION_NONE ? iteration->values[v].born : v;
            if (born != CEBUS_ITERATION_NONE && level[born] > highest)
                highest = level[born];
        }
        level[k] = highest + 1;
    }
}

static bool find_distances(draft *d)
{
    size_t bytes = d->survey.iteration->n_calls * sizeof(uint32_t);
    uint32_t *level = cebus_pool_alloc(d->survey.pool, bytes);
    if (level == NULL)
        return false;
    memset(level, 0, bytes);
    find_levels(d->survey.iteration, level);
    for (size_t s = 0; s < d->survey.n_spans; s++) {
        uint32_t from = level[d->survey.spans[s].from], to = level[d->survey.spans[s].to];
        d->distance[s] = to > from ? to - from : 0;
    }
    cebus_pool_free_object(d->survey.pool, level, bytes);
    return true;
}

/** How many ops run during an average copy back. */
static uint32_t find_ahead(const draft *d)
{
    const cebus_survey *survey = &d->survey;
    uint64_t bytes = 0, time = survey->times[survey->iteration->n_calls];
    for (size_t s = 0; s < survey->n_spans; s++)
        bytes += cebus_survey_bytes(survey, s);
    if (survey->n_spans == 0 || time == 0)
        return 1;
    double copy = (double)cebus_plan_copy_ns(bytes / survey->n_spans, d->terms->in_rate);
    double ops = copy * (double)survey->iteration->n_calls / (double)time;
    return ops < MOST_AHEAD ? (uint32_t)ops + 1 : MOST_AHEAD;
}

/** The op before which the copy back starts, if the bytes went before call `left`. */
static uint32_t return_at(const draft *d, const cebus_span *span, uint32_t left)
{
    uint32_t at = span->to > d->ahead ? span->to - d->ahead : 0;
    return at > left ? at : left + 1;
}

static uint64_t peak_with(draft *d, uint32_t threshold)
{
    cebus_curve_copy(&d->survey.curve, &d->trial);
    for (size_t s = 0; s < d->survey.n_spans; s++) {
        const cebus_span *span = &d->survey.spans[s];
        if (d->distance[s] > threshold)
            cebus_curve_cut(&d->trial, span->from + 1, return_at(d, span, span->from + 1),
                            (int64_t)cebus_survey_bytes(&d->survey, s));
    }
    return cebus_curve_peak(&d->trial, NULL);
}

/** The greatest that fits or, if none does, that comes as close as swapping all that can go. */
static uint32_t find_threshold(draft *d)
{
    uint32_t low = 0, high = 1;
    uint64_t least = peak_with(d, 0), goal = cebus_plan_target(d->terms);
    goal = goal > least ? goal : least;
    for (size_t s = 0; s < d->survey.n_spans; s++)
        high = d->distance[s] > high ? d->distance[s] : high;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (peak_with(d, middle) <= goal)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static bool draft_plan(draft *d, cebus_plan *out)
{
    if (!find_distances(d))
        return false;
    d->ahead = find_ahead(d);
    uint32_t threshold = find_threshold(d);
    for (size_t s = 0; s < d->survey.n_spans; s++) {
        const cebus_span *span = &d->survey.spans[s];
        uint32_t back = return_at(d, span, span->from + 1);
        if (d->distance[s] <= threshold)
            continue;
        if (!cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, span->from + 1, span->value) ||
            (back < span->to && !cebus_plan_add(out, CEBUS_ACTION_SWAP_IN, back, span->value)))
            return false;
    }
    return cebus_plan_sort(out, d->survey.iteration);
}

static bool plan(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out)
{
    draft d = {.terms = terms};
    if (terms->host == 0 || !cebus_survey_init(&d.survey, iteration, out->pool))
        return false;
    bool ok = true;
    if (cebus_curve_peak(&d.survey.curve, NULL) > terms->budget) {
        ok = cebus_curve_init_flat(&d.trial, iteration->n_calls, out->pool);
        d.distance = ok ? cebus_survey_marks(&d.survey, 0) : NULL;
        ok = d.distance != NULL && draft_plan(&d, out);
        cebus_survey_free_marks(&d.survey, d.distance);
        if (d.trial.steps != NULL)
            cebus_curve_deinit(&d.trial);
    }
    cebus_survey_deinit(&d.survey);
    return ok;
}

const cebus_policy cebus_policy_tflms = {
    .name = "tflms",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = cebus_policy_score_age,
    .swaps = true,
    .plan = plan,
};
