#include "lineage/reference.h"

void cebus_reference_init(cebus_reference_set *set, cebus_pool *pool)
{
    *set = (cebus_reference_set){.pool = pool};
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++)
        cebus_iteration_init(&set->at[i].iteration, pool);
}

void cebus_reference_deinit(cebus_reference_set *set)
{
    for (uint32_t i = 0; i < set->end; i++)
        cebus_iteration_clear(&set->at[i].iteration);
    set->count = set->end = 0;
    set->bytes = 0;
}

static bool is_empty(const cebus_reference *reference)
{
    return reference->iteration.n_calls == 0;
}

/** Nobody came from here, nobody goes here. */
static void forget(cebus_reference_set *set, uint32_t place)
{
    if (is_empty(&set->at[place]))
        return;
    set->count--;
    set->bytes -= cebus_iteration_bytes(&set->at[place].iteration);
    cebus_iteration_clear(&set->at[place].iteration);
    for (uint32_t i = 0; i < set->end; i++) {
        if (set->at[i].next == place)
            set->at[i].next = CEBUS_REFERENCE_NONE;
    }
}

/** Until when it is worth a place. */
static uint64_t lease_of(const cebus_reference *reference)
{
    return reference->used + (reference->confirmed ? CEBUS_REFERENCES_TRUST : 0);
}

/** The one that is known least; NONE: all places are empty. */
static uint32_t least_known(const cebus_reference_set *set)
{
    uint32_t least = CEBUS_REFERENCE_NONE;
    for (uint32_t i = 0; i < set->end; i++) {
        if (!is_empty(&set->at[i]) &&
            (least == CEBUS_REFERENCE_NONE || lease_of(&set->at[i]) < lease_of(&set->at[least])))
            least = i;
    }
    return least;
}

static uint32_t find_place(cebus_reference_set *set, const cebus_iteration *iteration)
{
    uint64_t signature = cebus_reference_signature(iteration);
    uint32_t empty = CEBUS_REFERENCE_NONE;
    for (uint32_t i = 0; i < set->end; i++) {
        const cebus_iteration *known = &set->at[i].iteration;
        if (is_empty(&set->at[i]))
            empty = i;
        else if (known->n_calls == iteration->n_calls &&
                 cebus_reference_signature(known) == signature)
            return i;
    }
    if (empty == CEBUS_REFERENCE_NONE && set->end < CEBUS_REFERENCES)
        empty = set->end++;
    return empty != CEBUS_REFERENCE_NONE ? empty : least_known(set);
}

uint32_t cebus_reference_admit(cebus_reference_set *set, cebus_iteration *iteration, bool writes)
{
    uint32_t place = find_place(set, iteration);
    forget(set, place);
    const uint64_t bytes = cebus_iteration_bytes(iteration);
    while (set->bytes + bytes > CEBUS_REFERENCES_BYTES && set->count > 0)
        forget(set, least_known(set));
    set->at[place] = (cebus_reference){.iteration = *iteration,
                                       .made = ++set->clock,
                                       .used = set->clock,
                                       .next = CEBUS_REFERENCE_NONE,
                                       .writes = writes};
    set->count++;
    set->bytes += bytes;
    cebus_iteration_init(iteration, set->pool);
    return place;
}

void cebus_reference_touch(cebus_reference_set *set, uint32_t place)
{
    set->at[place].used = ++set->clock;
}
