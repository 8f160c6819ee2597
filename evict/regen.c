#include "evict/regen.h"

#include "evict/wish.h"
#include "lineage/call.h"

#define NS_PER_S 1000000000.0

/** The part of a copy's latency that its price counts. All of it made TreeLSTM under dtr up to 3
 * points dearer on the logs, none of it the GAN up to 5 (tests/bench/logs.md). */
#define LATENCY_PART 4

bool cebus_regen_may_swap(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    uint64_t bytes = candidate->value.bytes;
    if (terms->use == CEBUS_SWAP_NEVER ||
        (candidate->zone == CEBUS_ZONE_PERSISTENT && !terms->persistent))
        return false;
    return candidate->host != NULL || bytes <= terms->room || bytes <= terms->spill.room;
}

/** The part of memory that one call of a rebuild may take. */
#define CALL_PART 2

/** All that a call reads and makes. */
static uint64_t bytes_at_once(const cebus_call *call)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < call->n_in; i++)
        bytes += call->in[i].value != NULL ? call->in[i].value->bytes : 0;
    for (uint32_t j = 0; j < call->n_out; j++)
        bytes += call->out[j] != NULL ? call->out[j]->bytes : 0;
    return bytes;
}

bool cebus_regen_may_drop(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    const cebus_call *producer = candidate->value.producer;
    if (producer == NULL)
        return false;
    return cebus_wish_recomputes(candidate) || !cebus_regen_may_swap(terms, candidate) ||
           bytes_at_once(producer) <= terms->memory / CALL_PART;
}

/** Where its copy is, or would go. */
static cebus_tier tier_of(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    if (candidate->host != NULL)
        return (cebus_tier)candidate->tier;
    return candidate->value.bytes <= terms->room ? CEBUS_TIER_HOST : CEBUS_TIER_SPILL;
}

static uint64_t copy_ns(uint64_t bytes, uint64_t rate)
{
    return rate > 0 ? (uint64_t)((double)bytes * NS_PER_S / (double)rate) + 1 : 1;
}

uint64_t cebus_regen_back_ns(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    bool spill = tier_of(terms, candidate) == CEBUS_TIER_SPILL;
    return copy_ns(candidate->value.bytes, spill ? terms->spill.in_rate : terms->in_rate);
}

uint64_t cebus_regen_swap_ns(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    bool spill = tier_of(terms, candidate) == CEBUS_TIER_SPILL;
    uint64_t back = cebus_regen_back_ns(terms, candidate);
    if (candidate->host != NULL)
        return back;
    return back + copy_ns(candidate->value.bytes, spill ? terms->spill.out_rate : terms->out_rate);
}

static bool is_droppable(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    return !candidate->gradient && cebus_regen_may_drop(terms, candidate);
}

bool cebus_regen_may_choose(const cebus_swap_terms *terms, const cebus_candidate *candidate)
{
    return terms->use == CEBUS_SWAP_CHEAPER && cebus_regen_may_swap(terms, candidate) &&
           !cebus_wish_offloads(candidate) && !cebus_wish_recomputes(candidate) &&
           is_droppable(terms, candidate);
}

uint64_t cebus_regen_weight(const cebus_swap_terms *terms, cebus_candidate *candidate,
                            uint64_t recompute)
{
    candidate->method = CEBUS_GO_DROP;
    if (!cebus_regen_may_swap(terms, candidate))
        return recompute;
    uint64_t swap = cebus_regen_swap_ns(terms, candidate);
    if (cebus_wish_recomputes(candidate) && is_droppable(terms, candidate))
        return recompute;
    if (recompute <= swap && cebus_regen_may_choose(terms, candidate))
        return recompute;
    candidate->method = CEBUS_GO_SWAP;
    bool free = terms->use == CEBUS_SWAP_ALWAYS || tier_of(terms, candidate) == CEBUS_TIER_SPILL;
    return swap + (free ? 0 : terms->latency_ns / LATENCY_PART);
}
