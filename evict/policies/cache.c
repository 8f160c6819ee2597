#include "evict/policies/cache.h"

void cebus_cache_evict(cebus_survey *survey, const uint32_t *may_leave, uint64_t budget,
                       uint32_t *leave)
{
    int64_t now = 0;
    size_t head = 0, open = 0;
    for (uint32_t k = 0; k < survey->curve.n_calls; k++) {
        now += survey->curve.steps[k];
        while (open < survey->n_spans && survey->spans[open].from < k)
            open++;
        for (; head < open && now > (int64_t)budget; head++) {
            const cebus_span *span = &survey->spans[head];
            if (span->to <= k || (may_leave != NULL && may_leave[head] == 0))
                continue;
            int64_t bytes = (int64_t)cebus_survey_bytes(survey, head);
            leave[head] = k;
            cebus_curve_cut(&survey->curve, k, span->to, bytes);
            now -= bytes;
        }
    }
}

/** The call before which the copy starts, at best when `start` is due. */
static uint32_t find_trigger(const cebus_survey *survey, const cebus_span *span, uint32_t leave,
                             uint64_t start, uint64_t room, const uint64_t *bytes)
{
    uint32_t k = span->to;
    while (k > leave + 1 && survey->times[k] > start && bytes[k - 1] <= room)
        k--;
    return k;
}

static bool fetch(cebus_survey *survey, const uint32_t *leave, const cebus_plan_terms *terms,
                  uint64_t *bytes, cebus_plan *plan)
{
    uint64_t deadline = UINT64_MAX, room = cebus_plan_target(terms);
    cebus_curve_read(&survey->curve, bytes);
    for (size_t i = survey->n_spans; i-- > 0;) {
        size_t s = survey->by_end[i];
        const cebus_span *span = &survey->spans[s];
        uint64_t own = cebus_survey_bytes(survey, s), use = survey->times[span->to];
        if (leave[s] == CEBUS_ITERATION_NONE)
            continue;
        uint64_t finish = use < deadline ? use : deadline;
        uint64_t copy = cebus_plan_in_ns(terms, own);
        deadline = finish > copy ? finish - copy : 0;
        if (own > room)
            continue;
        uint32_t at = find_trigger(survey, span, leave[s], deadline, room - own, bytes);
        for (uint32_t k = at; k < span->to; k++)
            bytes[k] += own;
        cebus_curve_cut(&survey->curve, at, span->to, -(int64_t)own);
        if (at < span->to && !cebus_plan_add(plan, CEBUS_ACTION_SWAP_IN, at, span->value))
            return false;
    }
    return true;
}

bool cebus_cache_fetch(cebus_survey *survey, const uint32_t *leave, const cebus_plan_terms *terms,
                       cebus_plan *plan)
{
    size_t words = survey->curve.n_calls;
    uint64_t *bytes = cebus_pool_alloc(survey->pool, words * sizeof *bytes);
    bool ok = bytes != NULL && fetch(survey, leave, terms, bytes, plan);
    cebus_pool_free_object(survey->pool, bytes, words * sizeof *bytes);
    return ok;
}
