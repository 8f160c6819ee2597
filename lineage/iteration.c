#include "lineage/iteration.h"

#include <string.h>

/** Ordinals and indices fit in 32 bits, with room to spare. */
#define MAX_REFS (UINT32_C(1) << 24)

void cebus_iteration_init(cebus_iteration *iteration, cebus_pool *pool)
{
    *iteration = (cebus_iteration){.pool = pool};
}

void cebus_iteration_clear(cebus_iteration *iteration)
{
    cebus_pool *pool = iteration->pool;
    cebus_pool_free_object(pool, iteration->calls,
                           iteration->calls_capacity * sizeof *iteration->calls);
    cebus_pool_free_object(pool, iteration->values,
                           iteration->values_capacity * sizeof *iteration->values);
    cebus_pool_free_object(pool, iteration->refs,
                           iteration->refs_capacity * sizeof *iteration->refs);
    cebus_pool_free_object(pool, iteration->uses, iteration->n_uses * sizeof *iteration->uses);
    cebus_iteration_init(iteration, pool);
}

uint64_t cebus_iteration_cost(const cebus_iteration *iteration)
{
    uint64_t ns = 0;
    for (size_t k = 0; k < iteration->n_calls; k++)
        ns += iteration->calls[k].cost_ns;
    return ns;
}

void cebus_iteration_release(cebus_iteration *iteration)
{
    for (size_t k = 0; k < iteration->n_calls; k++) {
        iteration->calls[k].cost_ns -= iteration->calls[k].held_ns;
        iteration->calls[k].held_ns = 0;
    }
}

uint64_t cebus_iteration_hold(cebus_iteration *iteration, uint64_t issue_ns)
{
    cebus_iteration_release(iteration);
    uint64_t host = 0, compute = 0, held = 0;
    const uint64_t asking = issue_ns * iteration->n_calls, cost = cebus_iteration_cost(iteration);
    for (size_t i = 0; i < 2 * iteration->n_calls && cost < asking; i++) {
        cebus_iteration_call *call = &iteration->calls[i % iteration->n_calls];
        host += issue_ns;
        const uint64_t waits = host > compute ? host - compute : 0;
        compute += waits + call->cost_ns;
        if (i < iteration->n_calls)
            continue; /* by how much the host is ahead as the next one begins */
        call->held_ns = waits;
        call->cost_ns += waits;
        held += waits;
    }
    return held;
}

uint64_t cebus_iteration_persistent(const cebus_iteration *iteration)
{
    uint64_t bytes = 0;
    for (size_t v = 0; v < iteration->n_values; v++)
        bytes += iteration->values[v].persistent ? iteration->values[v].bytes : 0;
    return bytes;
}

size_t cebus_iteration_bytes(const cebus_iteration *iteration)
{
    return iteration->calls_capacity * sizeof *iteration->calls +
           iteration->values_capacity * sizeof *iteration->values +
           iteration->refs_capacity * sizeof *iteration->refs +
           iteration->n_uses * sizeof *iteration->uses;
}

bool cebus_iteration_add_value(cebus_iteration *iteration, const cebus_iteration_value *value)
{
    void *values = iteration->values;
    if (iteration->n_values >= MAX_REFS ||
        !cebus_pool_grow(iteration->pool, &values, &iteration->values_capacity, iteration->n_values,
                         sizeof *value))
        return false;
    iteration->values = values;
    iteration->values[iteration->n_values++] = *value;
    return true;
}

/** Room for one more: before a call, too, so that there is an address where one names nothing. */
static bool reserve_ref(cebus_iteration *iteration)
{
    void *refs = iteration->refs;
    bool ok = cebus_pool_grow(iteration->pool, &refs, &iteration->refs_capacity, iteration->n_refs,
                              sizeof *iteration->refs);
    iteration->refs = refs;
    return ok;
}

bool cebus_iteration_add_ref(cebus_iteration *iteration, uint32_t ordinal)
{
    if (iteration->n_refs >= MAX_REFS || !reserve_ref(iteration))
        return false;
    iteration->refs[iteration->n_refs++] = ordinal;
    return true;
}

bool cebus_iteration_add_call(cebus_iteration *iteration, const cebus_iteration_call *call)
{
    void *calls = iteration->calls;
    if (iteration->n_calls >= CEBUS_ITERATION_MAX_CALLS || !reserve_ref(iteration) ||
        !cebus_pool_grow(iteration->pool, &calls, &iteration->calls_capacity, iteration->n_calls,
                         sizeof *call))
        return false;
    iteration->calls = calls;
    iteration->calls[iteration->n_calls] = *call;
    iteration->calls[iteration->n_calls].refs =
        (uint32_t)iteration->n_refs - call->n_in - call->n_out;
    iteration->calls[iteration->n_calls].n_values = (uint32_t)iteration->n_values;
    iteration->n_calls++;
    return true;
}

/** What was known of a value after n calls. */
static cebus_iteration_value as_of(const cebus_iteration_value *value, size_t n_calls)
{
    cebus_iteration_value then = *value;
    if (then.freed != CEBUS_ITERATION_NONE && then.freed > n_calls)
        then.freed = CEBUS_ITERATION_NONE;
    if (then.moved != CEBUS_ITERATION_NONE && then.moved >= n_calls)
        then.moved = CEBUS_ITERATION_NONE;
    if (then.read > n_calls)
        then.read = 0;
    return then;
}

bool cebus_iteration_copy(const cebus_iteration *from, size_t n_calls, cebus_iteration *to)
{
    size_t n_values = n_calls > 0 ? from->calls[n_calls - 1].n_values : 0;
    size_t n_refs = n_calls < from->n_calls ? from->calls[n_calls].refs : from->n_refs;
    for (size_t i = 0; i < n_values; i++) {
        cebus_iteration_value value = as_of(&from->values[i], n_calls);
        if (!cebus_iteration_add_value(to, &value))
            return false;
    }
    for (size_t i = 0; i < n_refs; i++) {
        if (!cebus_iteration_add_ref(to, from->refs[i]))
            return false;
    }
    for (size_t k = 0; k < n_calls; k++) {
        if (!cebus_iteration_add_call(to, &from->calls[k]))
            return false;
        to->calls[k] = from->calls[k];
    }
    return true;
}

/** Visits each value that call k names once: counts the use, or writes it down. */
static void visit(cebus_iteration *iteration, size_t k, bool write)
{
    const cebus_iteration_call *call = &iteration->calls[k];
    const uint32_t *refs = &iteration->refs[call->refs];
    for (uint32_t i = 0; i < (uint32_t)call->n_in + call->n_out; i++) {
        bool again = refs[i] == CEBUS_ITERATION_NONE;
        for (uint32_t before = 0; before < i && !again; before++)
            again = refs[before] == refs[i];
        if (again)
            continue;
        cebus_iteration_value *value = &iteration->values[refs[i]];
        if (write)
            iteration->uses[value->first + value->n_uses] = (uint32_t)k;
        value->n_uses++;
        iteration->n_uses += !write;
    }
}

/** The host's last look at a value is a use by the call before it. There is room for one more. */
static void add_read(cebus_iteration *iteration, cebus_iteration_value *value)
{
    uint32_t *uses = &iteration->uses[value->first];
    uint32_t k = value->read - 1, at = value->n_uses;
    while (at > 0 && uses[at - 1] > k)
        at--;
    if (at > 0 && uses[at - 1] == k)
        return;
    memmove(&uses[at + 1], &uses[at], (value->n_uses - at) * sizeof *uses);
    uses[at] = k;
    value->n_uses++;
}

/** Bytes that an in-place call took over were not there twice. */
static void settle_moved(cebus_iteration *iteration, cebus_iteration_value *value)
{
    uint32_t last = value->n_uses > 0 ? iteration->uses[value->first + value->n_uses - 1] : 0;
    if (value->moved != CEBUS_ITERATION_NONE && last == value->moved)
        value->freed = value->moved;
}

bool cebus_iteration_seal(cebus_iteration *iteration)
{
    for (size_t i = 0; i < iteration->n_values; i++)
        iteration->values[i].n_uses = 0;
    iteration->n_uses = 0;
    for (size_t k = 0; k < iteration->n_calls; k++)
        visit(iteration, k, false);
    for (size_t i = 0; i < iteration->n_values; i++)
        iteration->n_uses += iteration->values[i].read > 0;
    iteration->uses = cebus_pool_alloc(iteration->pool, iteration->n_uses * sizeof(uint32_t));
    if (iteration->uses == NULL)
        return false;
    uint32_t first = 0;
    for (size_t i = 0; i < iteration->n_values; i++) {
        iteration->values[i].first = first;
        first += iteration->values[i].n_uses + (iteration->values[i].read > 0);
        iteration->values[i].n_uses = 0;
    }
    for (size_t k = 0; k < iteration->n_calls; k++)
        visit(iteration, k, true);
    for (size_t i = 0; i < iteration->n_values; i++) {
        cebus_iteration_value *value = &iteration->values[i];
        if (value->read > 0)
            add_read(iteration, value);
        settle_moved(iteration, value);
    }
    return true;
}
