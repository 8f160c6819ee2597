#include "eager/capture/plan.h"
#include "eager/guidance/state.h"

bool cebus_guidance_places(const cebus_runtime *rt)
{
    const cebus_guidance *guidance = rt->guidance;
    if (rt->spots != NULL)
        return true;
    return guidance != NULL && guidance->scheme->spots != NULL && guidance->log.following;
}

uint64_t cebus_guidance_output_spot(const cebus_runtime *rt, uint32_t j,
                                    const cebus_candidate *output)
{
    const cebus_guidance *guidance = rt->guidance;
    if (rt->spots != NULL)
        return rt->spots->out[j];
    if (!cebus_guidance_places(rt))
        return CEBUS_ANYWHERE;
    const cebus_iteration *reference = guidance->log.reference;
    if (guidance->log.at >= reference->n_calls)
        return CEBUS_ANYWHERE;
    const cebus_iteration_call *call = &reference->calls[guidance->log.at];
    if (j >= call->n_out)
        return CEBUS_ANYWHERE;
    uint32_t ordinal = reference->refs[call->refs + call->n_in + j];
    return reference->values[ordinal].bytes == cebus_arena_rounded(&rt->arena, output->value.bytes)
               ? guidance->scheme->placement.values[ordinal]
               : CEBUS_ANYWHERE;
}

uint64_t cebus_guidance_workspace_spot(cebus_runtime *rt)
{
    if (rt->spots != NULL)
        return rt->spots->workspace;
    if (rt->guidance == NULL)
        return CEBUS_ANYWHERE;
    uint64_t spot = rt->guidance->workspace_spot;
    rt->guidance->workspace_spot = CEBUS_ANYWHERE;
    return spot;
}

uint64_t cebus_guidance_spot(cebus_runtime *rt, const cebus_candidate *candidate)
{
    const cebus_guidance *guidance = rt->guidance;
    for (uint32_t i = 0; rt->spots != NULL && i < rt->spots->n_back; i++) {
        if (rt->spots->back[i] == candidate)
            return rt->spots->back_at[i];
    }
    if (rt->spots != NULL)
        return CEBUS_ANYWHERE;
    if (!cebus_guidance_places(rt))
        return CEBUS_ANYWHERE;
    uint32_t ordinal = cebus_access_ordinal(&guidance->log, &candidate->value);
    if (ordinal == CEBUS_ITERATION_NONE && candidate == guidance->comer)
        ordinal = guidance->comer_ordinal;
    if (ordinal >= guidance->scheme->placement.n_values)
        return CEBUS_ANYWHERE;
    uint64_t spot = guidance->scheme->spots[ordinal];
    guidance->scheme->spots[ordinal] = CEBUS_ANYWHERE;
    return spot;
}
