/**
 * Policies `vdnn` and `vdnn-all` (Rhu et al., vDNN: Virtualized Deep Neural Networks for Scalable,
 * Memory-Efficient Neural Network Design, MICRO'16). In the forward the feature maps that
 * convolutions read (vdnn: the paper's vDNN_conv), or that any layer reads (vdnn-all: vDNN_all),
 * are copied to the host while the last layer that reads them runs, and released when that and the
 * copy are done. In the backward the map of a layer starts to come back when the backward of the
 * offloaded layer behind it starts: one layer ahead.
 *
 *     forward   [conv1][relu][conv2]...         backward  ...[conv2'][relu'][conv1']
 *     copies    [x1 out]     [x2 out]                     [x1 in]
 *
 * Liberties: Layers are ops, told by name (family.h), and what they read is known from one
 * iteration of the program. The compute stream does not stop for a copy at the end of a layer, as
 * vDNN's does: only who takes the place of the bytes waits for the copy. An iteration that fits is
 * left alone (the first choice of the paper's vDNN_dyn); algorithms of convolutions are not chosen
 * here. What still does not fit is met as an LRU cache with swapping would, where vDNN cannot train
 * at all.
 */
#include "evict/policies/family.h"
#include "evict/policy.h"
#include "evict/survey.h"

typedef bool (*layer_test)(cebus_family family);

static bool is_conv(cebus_family family)
{
    return family == CEBUS_FAMILY_CONV;
}

static bool is_any(cebus_family family)
{
    (void)family;
    return true;
}

static bool reads(const cebus_iteration *iteration, uint32_t k, uint32_t value)
{
    const cebus_iteration_call *call = &iteration->calls[k];
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (iteration->refs[call->refs + i] == value)
            return true;
    }
    return false;
}

/** Whether a layer to be offloaded reads the value in the forward: before the span. */
static bool is_offloaded(const cebus_survey *survey, const cebus_span *span, layer_test test)
{
    const cebus_iteration *iteration = survey->iteration;
    if (span->turn == CEBUS_ITERATION_NONE)
        return false;
    for (uint32_t i = 0; i < iteration->values[span->value].n_uses; i++) {
        uint32_t k = cebus_iteration_use(iteration, span->value, i);
        if (k > span->from)
            return false;
        if (reads(iteration, k, span->value) && test(cebus_family_of(iteration->calls[k].op)))
            return true;
    }
    return false;
}

/** Everything goes as it is met; it comes back while the backward of the layer before it runs. */
static bool offload(const cebus_survey *survey, layer_test test, cebus_plan *out)
{
    uint32_t turn = CEBUS_ITERATION_NONE, before = 0;
    for (size_t i = 0; i < survey->n_spans; i++) {
        const cebus_span *span = &survey->spans[survey->by_end[i]];
        if (!is_offloaded(survey, span, test))
            continue;
        if (span->turn != turn) {
            turn = span->turn;
            before = survey->turns[turn] + 1;
        }
        uint32_t at = before > span->from + 1 ? before : span->from + 2;
        if (!cebus_plan_add(out, CEBUS_ACTION_COPY_OUT, span->from, span->value) ||
            !cebus_plan_add(out, CEBUS_ACTION_SWAP_OUT, span->from + 1, span->value) ||
            (at < span->to && !cebus_plan_add(out, CEBUS_ACTION_SWAP_IN, at, span->value)))
            return false;
        before = span->to;
    }
    return cebus_plan_sort(out, survey->iteration);
}

static bool plan(const cebus_iteration *iteration, const cebus_plan_terms *terms, layer_test test,
                 cebus_plan *out)
{
    cebus_survey survey;
    if (terms->host == 0 || !cebus_survey_init(&survey, iteration, out->pool))
        return false;
    bool ok = cebus_curve_peak(&survey.curve, NULL) <= terms->budget || offload(&survey, test, out);
    cebus_survey_deinit(&survey);
    return ok;
}

static bool plan_conv(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                      cebus_plan *out)
{
    return plan(iteration, terms, is_conv, out);
}

static bool plan_all(const cebus_iteration *iteration, const cebus_plan_terms *terms,
                     cebus_plan *out)
{
    return plan(iteration, terms, is_any, out);
}

const cebus_policy cebus_policy_vdnn = {
    .name = "vdnn",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = cebus_policy_score_age,
    .swaps = true,
    .plan = plan_conv,
};

const cebus_policy cebus_policy_vdnn_all = {
    .name = "vdnn-all",
    .unit = CEBUS_UNIT_ONE,
    .weight = cebus_policy_weight_own,
    .score = cebus_policy_score_age,
    .swaps = true,
    .plan = plan_all,
};
