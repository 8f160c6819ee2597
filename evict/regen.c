#include "evict/regen.h"

#define NS_PER_S 1000000000.0

bool cebus_regen_may_swap(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    if (terms->use == CEBUS_SWAP_NEVER || candidate->zone == CEBUS_ZONE_PERSISTENT)
        return false;
    return candidate->host != NULL || candidate->value.bytes <= terms->room;
}

static uint64_t copy_ns(uint64_t bytes, uint64_t rate)
{
    return rate > 0 ? (uint64_t)((double)bytes * NS_PER_S / (double)rate) + 1 : 1;
}

uint64_t cebus_regen_swap_ns(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    uint64_t bytes = candidate->value.bytes, in = copy_ns(bytes, terms->in_rate);
    return candidate->host != NULL ? in : in + copy_ns(bytes, terms->out_rate);
}

uint64_t cebus_regen_weight(const cebus_swap_terms *terms, cebus_candidate *candidate,
                            uint64_t recompute)
{
    candidate->method = CEBUS_GO_DROP;
    if (!cebus_regen_may_swap(terms, candidate))
        return recompute;
    uint64_t swap = cebus_regen_swap_ns(terms, candidate);
    bool droppable = cebus_value_is_replayable(&candidate->value) && !candidate->gradient;
    if (droppable && terms->use == CEBUS_SWAP_CHEAPER && recompute <= swap)
        return recompute;
    candidate->method = CEBUS_GO_SWAP;
    return swap;
}
