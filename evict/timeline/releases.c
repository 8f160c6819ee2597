#include "evict/timeline/releases.h"

#include <string.h>

/** When a value is released: behind the last call, if it outlives the iteration. */
static size_t time_of(const cebus_iteration *iteration, uint32_t v)
{
    const uint32_t at = iteration->values[v].freed;
    return at <= iteration->n_calls ? at : iteration->n_calls + 1;
}

bool cebus_releases_sort(const cebus_iteration *iteration, cebus_pool *pool, uint32_t *out)
{
    const size_t n = iteration->n_calls + 2, bytes = n * sizeof(uint32_t);
    uint32_t *starts = cebus_pool_alloc(pool, bytes), sum = 0;
    if (starts == NULL)
        return false;
    memset(starts, 0, bytes);
    for (uint32_t v = 0; v < iteration->n_values; v++)
        starts[time_of(iteration, v)]++;
    for (size_t k = 0; k < n; k++) {
        const uint32_t count = starts[k];
        starts[k] = sum;
        sum += count;
    }
    for (uint32_t v = 0; v < iteration->n_values; v++)
        out[starts[time_of(iteration, v)]++] = v;
    cebus_pool_free_object(pool, starts, bytes);
    return true;
}
