/**
 * Policy `sublinear` (Chen, Xu, Zhang, Guestrin, Training Deep Nets with Sublinear Memory Cost,
 * 2016). A forward is cut into segments; what crosses from one segment to the next is kept, all
 * else of a segment is dropped after its last use in the forward, and made again, the segment at a
 * time, when the backward reaches it. sqrt(n) segments of equal size need O(sqrt(n)) memory at the
 * cost of one more forward; the paper's section 4.3 searches for the size of a segment instead,
 * which is done here.
 *
 *     forward    [ a b c | d e f | g h i ]      c and f cross, and stay; a b d e go
 *     backward   g h i: there; f, then e d again from c; then b a again from the input
 *
 * Segments are as many as are needed to fit the budget, no more: each has a cost. If no number
 * fits, the one that needs least. Each size is that of the paper's greedy rule: a segment ends at
 * the first good place after so many bytes. Good places are those where less crosses than before
 * and after them.
 *
 * Liberties: Where a forward ends and what its backward reads is known from one iteration of the
 * program (survey.h), so a segment may have several tensors cross it, where the paper asks for a
 * graph that one node cuts. The last segment is not dropped: its backward comes next. What the plan
 * does not make fit, and the first iteration, is met as by `dtr`: by age alone a first iteration in
 * short memory may never end, and nothing would be learned from it.
 */
#include <string.h>

#include "evict/policy.h"
#include "evict/survey.h"

typedef struct draft {
    cebus_survey survey;
    cebus_curve trial;
    uint64_t
        *crossing;    /**< bytes made before call k in its forward and read at or after it there */
    uint64_t *made;   /**< bytes call k makes that wait for the backward */
    uint32_t *stage;  /**< segment of call k, counted over all turns */
    uint32_t *back;   /**< of segment j: the first call that asks for what it dropped */
    uint64_t largest; /**< bytes that wait, over the turns the most */
} draft;

/** The first call of the forward that ends in a turn. */
static uint32_t range_start(const cebus_survey *survey, uint32_t turn)
{
    return turn > 0 ? survey->turns[turn - 1] + 1 : 0;
}

static bool is_made_in(const cebus_survey *survey, const cebus_span *span)
{
    uint32_t born = survey->iteration->values[span->value].born;
    return span->turn != CEBUS_ITERATION_NONE && born != CEBUS_ITERATION_NONE &&
           born >= range_start(survey, span->turn);
}

/** The last use of a value in the forward that made it. */
static uint32_t last_forward_use(const cebus_iteration *iteration, uint32_t v, uint32_t end)
{
    uint32_t last = iteration->values[v].born;
    for (uint32_t i = 0; i < iteration->values[v].n_uses; i++) {
        uint32_t k = cebus_iteration_use(iteration, v, i);
        if (k > end)
            break;
        last = k;
    }
    return last;
}

/** What does not wait for the backward is gone when a segment is made again, so that the one before
 * would have to be, too: it weighs three times as much. `crossing` is a flat curve. */
static void weigh_crossings(draft *d, cebus_curve *crossing)
{
    const cebus_survey *survey = &d->survey;
    const cebus_iteration *iteration = survey->iteration;
    uint32_t turn = 0;
    for (uint32_t v = 0; v < iteration->n_values; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (value->born == CEBUS_ITERATION_NONE || value->persistent)
            continue;
        while (turn < survey->n_turns && survey->turns[turn] < value->born)
            turn++;
        if (turn == survey->n_turns)
            break;
        uint32_t last = last_forward_use(iteration, v, survey->turns[turn]);
        cebus_curve_cut(crossing, value->born + 1, last + 1, -3 * (int64_t)value->bytes);
    }
    for (size_t s = 0; s < survey->n_spans; s++) {
        const cebus_span *span = &survey->spans[s];
        if (is_made_in(survey, span))
            cebus_curve_cut(crossing, iteration->values[span->value].born + 1, span->from + 1,
                            2 * (int64_t)cebus_survey_bytes(survey, s));
    }
    cebus_curve_read(crossing, d->crossing);
}

/** What each call makes that waits; per turn, too. */
static void sum_made(draft *d)
{
    const cebus_survey *survey = &d->survey;
    uint64_t waiting = 0;
    uint32_t turn = CEBUS_ITERATION_NONE;
    memset(d->made, 0, survey->iteration->n_calls * sizeof *d->made);
    for (size_t s = 0; s < survey->n_spans; s++) {
        const cebus_span *span = &survey->spans[s];
        if (!is_made_in(survey, span))
            continue;
        waiting = span->turn == turn ? waiting : 0;
        turn = span->turn;
        waiting += cebus_survey_bytes(survey, s);
        d->made[survey->iteration->values[span->value].born] += cebus_survey_bytes(survey, s);
        d->largest = waiting > d->largest ? waiting : d->largest;
    }
}

static bool is_good_place(const draft *d, uint32_t k)
{
    return k > 0 && d->crossing[k] <= d->crossing[k - 1] && d->crossing[k] <= d->crossing[k + 1];
}

/** Cuts all forwards into segments of `target` bytes and a little more. */
static void cut_segments(draft *d, uint64_t target)
{
    uint32_t stage = 0, k = 0;
    for (uint32_t turn = 0; turn < d->survey.n_turns; turn++) {
        uint64_t bytes = 0;
        for (; k <= d->survey.turns[turn]; k++) {
            if (bytes >= target && is_good_place(d, k)) {
                stage++;
                bytes = 0;
            }
            d->stage[k] = stage;
            bytes += d->made[k];
        }
        stage++;
    }
}

/** Made in a segment that is not the last of its forward, and not read in a later one. */
static bool is_dropped(const draft *d, size_t s)
{
    const cebus_span *span = &d->survey.spans[s];
    if (!is_made_in(&d->survey, span) || !cebus_survey_is_replayable(&d->survey, s))
        return false;
    uint32_t stage = d->stage[d->survey.iteration->values[span->value].born];
    return stage == d->stage[span->from] && stage != d->stage[d->survey.turns[span->turn]];
}

/** The peak with segments of this size. */
static uint64_t try_target(draft *d, uint64_t target)
{
    const cebus_survey *survey = &d->survey;
    cut_segments(d, target);
    memset(d->back, 0xff, survey->iteration->n_calls * sizeof *d->back);
    for (size_t i = survey->n_spans; i-- > 0;) {
        uint32_t s = survey->by_end[i];
        const cebus_span *span = &survey->spans[s];
        if (is_dropped(d, s))
            d->back[d->stage[span->from]] = span->to;
    }
    cebus_curve_copy(&survey->curve, &d->trial);
    for (size_t s = 0; s < survey->n_spans; s++) {
        const cebus_span *span = &survey->spans[s];
        if (is_dropped(d, s))
            cebus_curve_cut(&d->trial, span->from + 1, d->back[d->stage[span->from]],
                            (int64_t)cebus_survey_bytes(survey, s));
    }
    return cebus_curve_peak(&d->trial, NULL);
}

/** The largest segments that fit the budget, or those that come closest. */
static void choose_target(draft *d, uint64_t budget)
{
    uint64_t best = UINT64_MAX, best_target = d->largest;
    uint32_t most = 2;
    while ((uint64_t)most * most < 4 * (uint64_t)d->survey.n_spans)
        most++;
    for (uint32_t n = 2; n <= most && best > budget; n++) {
        uint64_t peak = try_target(d, d->largest / n);
        if (peak < best) {
            best = peak;
            best_target = d->largest / n;
        }
    }
    (void)try_target(d, best_target);
}

static bool draft_plan(draft *d, uint64_t budget, cebus_plan *out)
{
    bool ok = true;
    weigh_crossings(d, &d->trial);
    sum_made(d);
    choose_target(d, budget);
    for (size_t s = 0; s < d->survey.n_spans && ok; s++) {
        const cebus_span *span = &d->survey.spans[s];
        if (is_dropped(d, s))
            ok = cebus_plan_add(out, CEBUS_ACTION_DROP, span->from + 1, span->value);
    }
    return ok && cebus_plan_sort(out, d->survey.iteration);
}

/** Room for all arrays of the draft at once; the words of one call each. */
static void *alloc_arrays(draft *d, size_t *out_bytes)
{
    size_t n = d->survey.iteration->n_calls + 1;
    *out_bytes = n * (2 * sizeof(uint64_t) + 2 * sizeof(uint32_t));
    char *arrays = cebus_pool_alloc(d->survey.pool, *out_bytes);
    if (arrays == NULL)
        return NULL;
    memset(arrays, 0, *out_bytes);
    d->crossing = (uint64_t *)(void *)arrays;
    d->made = d->crossing + n;
    d->stage = (uint32_t *)(void *)(d->made + n);
    d->back = d->stage + n;
    return arrays;
}

static bool plan(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out)
{
    draft d = {.largest = 0};
    size_t bytes;
    if (!cebus_survey_init(&d.survey, iteration, out->pool))
        return false;
    bool ok = true;
    if (cebus_curve_peak(&d.survey.curve, NULL) > terms->budget && d.survey.n_turns > 0) {
        void *arrays = alloc_arrays(&d, &bytes);
        ok = arrays != NULL && cebus_curve_init_flat(&d.trial, iteration->n_calls, out->pool);
        if (ok) {
            ok = draft_plan(&d, cebus_plan_target(terms), out);
            cebus_curve_deinit(&d.trial);
        }
        cebus_pool_free_object(out->pool, arrays, bytes);
    }
    cebus_survey_deinit(&d.survey);
    return ok;
}

const cebus_policy cebus_policy_sublinear = {
    .name = "sublinear",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_neighbourhood,
    .plan = plan,
};
