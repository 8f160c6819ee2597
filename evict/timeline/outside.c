#include "evict/timeline/outside.h"

#include <string.h>

/** It was not made here, and goes while the iteration runs. */
static bool came(const cebus_iteration_value *value)
{
    return value->born == CEBUS_ITERATION_NONE && !value->persistent &&
           value->freed != CEBUS_ITERATION_NONE;
}

/** It is made here, and stays. */
static bool passes(const cebus_iteration_value *value)
{
    return value->born != CEBUS_ITERATION_NONE && value->freed == CEBUS_ITERATION_NONE;
}

static void add(cebus_outside *outside, const cebus_iteration *iteration, size_t v)
{
    outside->has[v] = true;
    outside->bytes += iteration->values[v].bytes;
}

/** One that came is no more than one's predecessor. */
static void mark_successor(cebus_outside *outside, const cebus_iteration *iteration, size_t of)
{
    for (size_t v = 0; v < iteration->n_values; v++) {
        const cebus_iteration_value *value = &iteration->values[v];
        if (passes(value) && !outside->has[v] && value->bytes == iteration->values[of].bytes) {
            add(outside, iteration, v);
            return;
        }
    }
}

bool cebus_outside_init(cebus_outside *outside, const cebus_iteration *iteration, cebus_pool *pool)
{
    *outside = (cebus_outside){.pool = pool, .n_values = iteration->n_values};
    outside->has = cebus_pool_alloc(pool, outside->n_values * sizeof *outside->has);
    if (outside->has == NULL)
        return false;
    memset(outside->has, 0, outside->n_values * sizeof *outside->has);
    for (size_t v = 0; v < iteration->n_values; v++) {
        if (!came(&iteration->values[v]))
            continue;
        add(outside, iteration, v);
        mark_successor(outside, iteration, v);
    }
    return true;
}

void cebus_outside_deinit(cebus_outside *outside)
{
    cebus_pool_free_object(outside->pool, outside->has, outside->n_values * sizeof *outside->has);
    *outside = (cebus_outside){.pool = outside->pool};
}
