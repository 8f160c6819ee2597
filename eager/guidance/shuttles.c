#include "eager/guidance/shuttles.h"

#include <string.h>

static bool note(cebus_runtime *rt, cebus_value *value)
{
    cebus_shuttles *noted = &rt->guidance->shuttles;
    uint32_t ordinal = cebus_access_ordinal(&rt->guidance->log, value);
    void *bearers = noted->bearers;
    while (ordinal != CEBUS_ITERATION_NONE && noted->count <= ordinal) {
        if (!cebus_pool_grow(&rt->pool, &bearers, &noted->capacity, noted->count,
                             sizeof *noted->bearers))
            return false;
        noted->bearers = bearers;
        noted->bearers[noted->count++] = NULL;
    }
    if (ordinal != CEBUS_ITERATION_NONE)
        noted->bearers[ordinal] = value;
    return true;
}

/** The version lies where what persists does, and is the same until it dies. What a launch bound to
 * a tensor that persists does not: it comes and goes with every launch. */
static bool may_shuttle(const cebus_value *value)
{
    return value != NULL && ((const cebus_candidate *)value)->zone == CEBUS_ZONE_PERSISTENT;
}

void cebus_shuttles_note(cebus_runtime *rt, const cebus_access *access)
{
    bool ok = true;
    for (uint32_t i = 0; i < access->n_in && ok; i++) {
        if (access->persistent[i] && may_shuttle(access->in[i]))
            ok = note(rt, access->in[i]);
    }
}

void cebus_shuttles_begin(cebus_guidance *guidance)
{
    guidance->shuttles.count = 0;
}

void cebus_shuttles_adopt(cebus_runtime *rt, cebus_scheme *scheme)
{
    cebus_shuttles_clear(rt, &scheme->shuttles);
    scheme->shuttles = rt->guidance->shuttles;
    rt->guidance->shuttles = (cebus_shuttles){0};
}

static void forget(cebus_shuttles *shuttles, const cebus_value *value)
{
    for (size_t v = 0; v < shuttles->count; v++) {
        if (shuttles->bearers[v] == value)
            shuttles->bearers[v] = NULL;
    }
}

void cebus_shuttles_forget(cebus_runtime *rt, const cebus_candidate *candidate)
{
    if (candidate->zone != CEBUS_ZONE_PERSISTENT)
        return;
    forget(&rt->guidance->shuttles, &candidate->value);
    for (uint32_t i = 0; i < rt->guidance->log.known.end; i++)
        forget(&rt->guidance->schemes[i].shuttles, &candidate->value);
}

void cebus_shuttles_clear(cebus_runtime *rt, cebus_shuttles *shuttles)
{
    cebus_pool_free_object(&rt->pool, shuttles->bearers,
                           shuttles->capacity * sizeof *shuttles->bearers);
    *shuttles = (cebus_shuttles){0};
}
