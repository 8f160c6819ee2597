#include "lineage/reference.h"

void cebus_reference_init(cebus_reference_set *set, cebus_pool *pool)
{
    *set = (cebus_reference_set){.pool = pool};
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++)
        cebus_iteration_init(&set->at[i].iteration, pool);
}

void cebus_reference_deinit(cebus_reference_set *set)
{
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++)
        cebus_iteration_clear(&set->at[i].iteration);
    set->count = 0;
}

static bool is_empty(const cebus_reference *reference)
{
    return reference->iteration.n_calls == 0;
}

/** Nobody came from here, nobody goes here. */
static void forget(cebus_reference_set *set, uint32_t place)
{
    if (!is_empty(&set->at[place]))
        set->count--;
    cebus_iteration_clear(&set->at[place].iteration);
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++) {
        if (set->at[i].next == place)
            set->at[i].next = CEBUS_REFERENCE_NONE;
    }
}

static bool is_less_known(const cebus_reference *a, const cebus_reference *b)
{
    return a->confirmed != b->confirmed ? b->confirmed : a->used < b->used;
}

/** The one that is known least; NONE: all places are empty. */
static uint32_t least_known(const cebus_reference_set *set)
{
    uint32_t least = CEBUS_REFERENCE_NONE;
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++) {
        if (!is_empty(&set->at[i]) &&
            (least == CEBUS_REFERENCE_NONE || is_less_known(&set->at[i], &set->at[least])))
            least = i;
    }
    return least;
}

static uint64_t bytes_of(const cebus_reference_set *set)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++)
        bytes += cebus_iteration_bytes(&set->at[i].iteration);
    return bytes;
}

static uint32_t find_place(cebus_reference_set *set, const cebus_iteration *iteration)
{
    uint64_t signature = cebus_reference_signature(iteration);
    uint32_t empty = CEBUS_REFERENCE_NONE;
    for (uint32_t i = 0; i < CEBUS_REFERENCES; i++) {
        const cebus_iteration *known = &set->at[i].iteration;
        if (is_empty(&set->at[i]))
            empty = i;
        else if (known->n_calls == iteration->n_calls &&
                 cebus_reference_signature(known) == signature)
            return i;
    }
    return empty != CEBUS_REFERENCE_NONE ? empty : least_known(set);
}

uint32_t cebus_reference_admit(cebus_reference_set *set, cebus_iteration *iteration, bool writes)
{
    uint32_t place = find_place(set, iteration);
    forget(set, place);
    while (bytes_of(set) + cebus_iteration_bytes(iteration) > CEBUS_REFERENCES_BYTES &&
           set->count > 0)
        forget(set, least_known(set));
    set->at[place] = (cebus_reference){.iteration = *iteration,
                                       .made = ++set->clock,
                                       .used = set->clock,
                                       .next = CEBUS_REFERENCE_NONE,
                                       .writes = writes};
    set->count++;
    cebus_iteration_init(iteration, set->pool);
    return place;
}

void cebus_reference_touch(cebus_reference_set *set, uint32_t place)
{
    set->at[place].used = ++set->clock;
}
