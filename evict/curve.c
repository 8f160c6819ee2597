#include "evict/curve.h"

#include <string.h>

bool cebus_curve_init_flat(cebus_curve *curve, size_t n_calls, cebus_pool *pool)
{
    size_t bytes = (n_calls + 1) * sizeof *curve->steps;
    *curve =
        (cebus_curve){.pool = pool, .steps = cebus_pool_alloc(pool, bytes), .n_calls = n_calls};
    if (curve->steps != NULL)
        memset(curve->steps, 0, bytes);
    return curve->steps != NULL;
}

bool cebus_curve_init(cebus_curve *curve, const cebus_iteration *iteration, cebus_pool *pool)
{
    if (!cebus_curve_init_flat(curve, iteration->n_calls, pool))
        return false;
    for (size_t i = 0; i < iteration->n_values; i++) {
        const cebus_iteration_value *value = &iteration->values[i];
        cebus_curve_cut(curve, cebus_iteration_from(value), cebus_iteration_to(iteration, value),
                        -(int64_t)value->bytes);
    }
    for (size_t k = 0; k < iteration->n_calls; k++)
        cebus_curve_cut(curve, (uint32_t)k, (uint32_t)k + 1,
                        -(int64_t)iteration->calls[k].workspace);
    return true;
}

void cebus_curve_deinit(cebus_curve *curve)
{
    cebus_pool_free_object(curve->pool, curve->steps, (curve->n_calls + 1) * sizeof *curve->steps);
    curve->steps = NULL;
}

void cebus_curve_cut(cebus_curve *curve, uint32_t from, uint32_t to, int64_t bytes)
{
    if (from >= to)
        return;
    curve->steps[from] -= bytes;
    curve->steps[to] += bytes;
}

uint64_t cebus_curve_peak(const cebus_curve *curve, uint32_t *out_at)
{
    int64_t now = 0, most = 0;
    uint32_t at = 0;
    for (size_t k = 0; k < curve->n_calls; k++) {
        now += curve->steps[k];
        if (now > most) {
            most = now;
            at = (uint32_t)k;
        }
    }
    if (out_at != NULL)
        *out_at = at;
    return (uint64_t)most;
}

void cebus_curve_read(const cebus_curve *curve, uint64_t *bytes)
{
    int64_t now = 0;
    for (size_t k = 0; k < curve->n_calls; k++) {
        now += curve->steps[k];
        bytes[k] = (uint64_t)now;
    }
}

void cebus_curve_copy(const cebus_curve *from, cebus_curve *to)
{
    memcpy(to->steps, from->steps, (from->n_calls + 1) * sizeof *from->steps);
}
