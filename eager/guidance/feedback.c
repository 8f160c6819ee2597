#include "eager/guidance/feedback.h"

#include <string.h>

/** Earlier by this part of what the copy takes (Capuchin). */
#define STEP_PART 20
/** Iterations in a row that may move triggers. */
#define MOST_MOVES 32

static cebus_trigger *trigger_of(const cebus_runtime *rt, const cebus_candidate *candidate)
{
    const cebus_guidance *guidance = rt->guidance;
    if (guidance == NULL || guidance->scheme->triggers == NULL || !guidance->log.following)
        return NULL;
    uint32_t ordinal = cebus_access_ordinal(&guidance->log, &candidate->value);
    return ordinal < guidance->scheme->n_triggers ? &guidance->scheme->triggers[ordinal] : NULL;
}

/** Whether it can be seen that a copy comes late: not where the host is far ahead of a real device,
 * to which every copy is under way when its reader is launched. */
static bool sees_lateness(const cebus_runtime *rt)
{
    return rt->info.simulated || (!rt->info.deferred && rt->cost_model != CEBUS_COST_ESTIMATED);
}

/** The first one that is started makes the array. */
static void have_triggers(cebus_runtime *rt, cebus_scheme *scheme)
{
    size_t n = rt->guidance->log.reference->n_values;
    if (scheme->triggers != NULL || scheme->spots != NULL || scheme->fed > MOST_MOVES ||
        !rt->policy->feeds_back || !sees_lateness(rt))
        return;
    scheme->triggers = cebus_pool_alloc(&rt->pool, n * sizeof *scheme->triggers);
    scheme->n_triggers = scheme->triggers != NULL ? n : 0;
    if (scheme->triggers != NULL)
        memset(scheme->triggers, 0, n * sizeof *scheme->triggers);
}

void cebus_feedback_started(cebus_runtime *rt, const cebus_candidate *candidate)
{
    have_triggers(rt, rt->guidance->scheme);
    cebus_trigger *trigger = trigger_of(rt, candidate);
    if (trigger != NULL)
        trigger->arrives = rt->device_ops->clock(rt->device, CEBUS_STREAM_IN) + 1;
}

/** A simulated host is far ahead of its device: there the clocks tell, elsewhere the streams do. */
static bool is_late(const cebus_runtime *rt, const cebus_candidate *candidate, uint64_t arrives)
{
    if (rt->info.simulated)
        return arrives > rt->device_ops->clock(rt->device, CEBUS_STREAM_COMPUTE) + 1;
    return candidate->block != NULL &&
           !rt->device_ops->stream_reached(rt->device, CEBUS_STREAM_IN,
                                           candidate->block->fence[CEBUS_STREAM_IN]);
}

void cebus_feedback_needed(cebus_runtime *rt, const cebus_candidate *candidate)
{
    cebus_trigger *trigger = trigger_of(rt, candidate);
    if (trigger == NULL || trigger->arrives == 0)
        return;
    if (is_late(rt, candidate, trigger->arrives))
        trigger->lead +=
            cebus_plan_copy_ns(candidate->value.bytes, rt->guidance->scheme->terms.in_rate) /
            STEP_PART;
    trigger->arrives = 0;
}

void cebus_feedback_reset(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_pool_free_object(&rt->pool, scheme->triggers,
                           scheme->n_triggers * sizeof *scheme->triggers);
    scheme->triggers = NULL;
    scheme->n_triggers = 0;
    scheme->fed = scheme->fed > MOST_MOVES ? scheme->fed : 0;
}

bool cebus_feedback_end(cebus_runtime *rt, cebus_scheme *scheme, const cebus_iteration *iteration,
                        uint64_t lost)
{
    uint32_t moved = 0;
    if (scheme->triggers == NULL || scheme->n_triggers != iteration->n_values ||
        scheme->fed > MOST_MOVES)
        return true;
    if (scheme->fed > 0 && lost > scheme->fed_lost + scheme->fed_lost / 50) {
        scheme->fed = MOST_MOVES + 1; /* no more of this */
        return false;
    }
    scheme->fed_lost = scheme->fed == 0 || lost < scheme->fed_lost ? lost : scheme->fed_lost;
    if (!cebus_trigger_advance(&scheme->plan, iteration, scheme->triggers, &moved)) {
        scheme->fed = MOST_MOVES + 1;
        return false;
    }
    scheme->fed += moved > 0;
    rt->stats.moved_triggers += moved;
    return true;
}
