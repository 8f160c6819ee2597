/**
 * Policy `odswap`: swapping on demand, the baseline of SwapAdvisor (Huang, Jin, Li, SwapAdvisor:
 * Pushing Deep Learning Beyond the GPU Memory Limit via Smart Swapping, ASPLOS'20, section 6). In
 * the first iteration what is used least recently goes to the host when room is needed, and comes
 * back when it is read. From then on the schedule is known: the same values go, and each is fetched
 * before it is read, as early as the link needs and memory allows.
 *
 * Liberties: The schedule is not the measured one, but that of the same rule run over the recorded
 * iteration with memory as one number (cache.h): what went by chance of addresses does not become a
 * habit. A value whose leaving is foreseen is copied as soon as it falls idle. Persistent tensors
 * are in no schedule: they go on demand, with swap=on like everything else, else as a last resort.
 */
#include "evict/policies/cache.h"
#include "evict/policy.h"

static bool depart(const cebus_survey *survey, const uint32_t *leave, cebus_plan *out)
{
    for (size_t s = 0; s < survey->n_spans; s++) {
        const cebus_span *span = &survey->spans[s];
        if (leave[s] != CEBUS_ITERATION_NONE &&
            (!cebus_plan_add(out, CEBUS_ACTION_COPY_OUT, span->from + 1, span->value) ||
             !cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, leave[s], span->value)))
            return false;
    }
    return true;
}

static bool plan(const cebus_iteration *iteration, const cebus_plan_terms *terms, cebus_plan *out)
{
    cebus_survey survey;
    if (terms->host == 0 || !cebus_survey_init(&survey, iteration, out->pool))
        return false;
    uint32_t *leave = cebus_survey_marks(&survey, 0xff);
    bool ok = leave != NULL;
    if (ok && cebus_curve_peak(&survey.curve, NULL) > terms->budget) {
        cebus_cache_evict(&survey, NULL, cebus_plan_target(terms), leave);
        ok = depart(&survey, leave, out) && cebus_cache_fetch(&survey, leave, terms, out) &&
             cebus_plan_sort(out, iteration);
    }
    cebus_survey_free_marks(&survey, leave);
    cebus_survey_deinit(&survey);
    return ok;
}

const cebus_policy cebus_policy_odswap = {
    .name = "odswap",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = cebus_policy_score_age,
    .swaps = true,
    .moves_persistent = true,
    .plan = plan,
};
