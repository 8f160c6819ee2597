#include "evict/cuts.h"

#include <string.h>

#define NONE CEBUS_ITERATION_NONE

static bool persists(const cebus_iteration *iteration, uint32_t ref)
{
    return ref != NONE && iteration->values[ref].persistent;
}

/** Whether a call makes something that can go. */
static bool makes(const cebus_iteration *iteration, const cebus_iteration_call *call)
{
    const uint32_t *made = iteration->refs + call->refs + call->n_in;
    for (uint32_t i = 0; i < call->n_out; i++) {
        if (made[i] != NONE && !iteration->values[made[i]].persistent)
            return true;
    }
    return false;
}

/** Persistent values that such calls read. */
static void find_sources(const cebus_iteration *iteration, bool *sources)
{
    for (size_t k = 0; k < iteration->n_calls; k++) {
        const cebus_iteration_call *call = &iteration->calls[k];
        const uint32_t *read = iteration->refs + call->refs;
        if (!makes(iteration, call))
            continue;
        for (uint32_t i = 0; i < call->n_in; i++) {
            if (persists(iteration, read[i]))
                sources[read[i]] = true;
        }
    }
}

static bool writes_source(const cebus_iteration *iteration, size_t k, const bool *sources)
{
    const cebus_iteration_call *call = &iteration->calls[k];
    const uint32_t *made = iteration->refs + call->refs + call->n_in;
    for (uint32_t i = 0; i < call->n_out; i++) {
        if (persists(iteration, made[i]) && sources[made[i]])
            return true;
    }
    return false;
}

/** Nothing can be made again without it, and it is not a parameter. */
static bool is_leaf(const cebus_iteration_value *value)
{
    return !value->persistent && (value->born == NONE || !value->replayable);
}

/** The call can make it again. */
static bool is_made_by(const cebus_iteration_value *value, size_t call)
{
    return !value->persistent && value->replayable && value->born == call;
}

/** When the first of the leaves behind what a call reads is let go. */
static uint32_t soonest(const cebus_cuts *cuts, const cebus_iteration *iteration,
                        const cebus_iteration_call *call)
{
    uint32_t first = NONE;
    for (uint32_t i = 0; i < call->n_in; i++) {
        const uint32_t ref = iteration->refs[call->refs + i];
        if (ref != NONE && cuts->gone[ref] < first)
            first = cuts->gone[ref];
    }
    return first;
}

/** Leaves first, then what calls make of them in their order. */
static void find_gone(cebus_cuts *cuts, const cebus_iteration *iteration)
{
    for (size_t v = 0; v < cuts->n_values; v++)
        cuts->gone[v] = is_leaf(&iteration->values[v]) ? iteration->values[v].freed : NONE;
    for (size_t k = 0; k < iteration->n_calls; k++) {
        const cebus_iteration_call *call = &iteration->calls[k];
        const uint32_t first = soonest(cuts, iteration, call);
        for (uint32_t i = 0; i < call->n_out; i++) {
            const uint32_t made = iteration->refs[call->refs + call->n_in + i];
            if (made != NONE && is_made_by(&iteration->values[made], k))
                cuts->gone[made] = first;
        }
    }
}

bool cebus_cuts_init(cebus_cuts *cuts, const cebus_iteration *iteration, cebus_pool *pool)
{
    const size_t n = iteration->n_calls, n_values = iteration->n_values;
    *cuts = (cebus_cuts){.pool = pool, .n_calls = n, .n_values = n_values};
    bool *sources = cebus_pool_alloc(pool, n_values * sizeof *sources);
    cuts->next = cebus_pool_alloc(pool, (n + 1) * sizeof *cuts->next);
    cuts->gone = cebus_pool_alloc(pool, n_values * sizeof *cuts->gone);
    const bool ok =
        cuts->next != NULL && ((sources != NULL && cuts->gone != NULL) || n_values == 0);
    if (ok) {
        find_gone(cuts, iteration);
        if (n_values > 0)
            memset(sources, 0, n_values * sizeof *sources);
        find_sources(iteration, sources);
        cuts->next[n] = NONE;
        for (size_t k = n; k-- > 0;)
            cuts->next[k] = writes_source(iteration, k, sources) ? (uint32_t)k : cuts->next[k + 1];
    } else {
        cebus_cuts_deinit(cuts);
    }
    cebus_pool_free_object(pool, sources, n_values * sizeof *sources);
    return ok;
}

void cebus_cuts_deinit(cebus_cuts *cuts)
{
    cebus_pool_free_object(cuts->pool, cuts->next, (cuts->n_calls + 1) * sizeof *cuts->next);
    cebus_pool_free_object(cuts->pool, cuts->gone, cuts->n_values * sizeof *cuts->gone);
    cuts->next = cuts->gone = NULL;
}

/** No call from `at` on reads or writes it. */
static bool is_done(const cebus_iteration *iteration, uint32_t ordinal, uint32_t at)
{
    const uint32_t n = iteration->values[ordinal].n_uses;
    return n == 0 || cebus_iteration_use(iteration, ordinal, n - 1) < at;
}

uint32_t cebus_cuts_find(const cebus_cuts *cuts, const cebus_iteration *iteration, uint32_t ordinal,
                         uint32_t at)
{
    const uint32_t freed = iteration->values[ordinal].freed, gone = cuts->gone[ordinal];
    if (at >= cuts->n_calls)
        return NONE;
    const bool outlives = gone < freed && freed != NONE; /* else it has to be there at the end */
    const uint32_t leaf = outlives ? (gone > at + 1 ? gone - 1 : at) : NONE;
    const uint32_t cut = cuts->next[at] < leaf ? cuts->next[at] : leaf;
    const bool held = cut != NONE && freed > cut;
    return held && is_done(iteration, ordinal, at) ? cut : NONE;
}
