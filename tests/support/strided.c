#include "tests/support/strided.h"

#include <stdlib.h>

static int64_t product(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    return n;
}

/* Row-major position in the reversed shape of the element at row-major `position` of `shape`. */
static int64_t reversed_position(int64_t position, int ndim, const int64_t *shape)
{
    int64_t coordinates[CEBUS_MAX_DIMS], result = 0;
    for (int d = ndim - 1; d >= 0; d--) {
        coordinates[d] = position % shape[d];
        position /= shape[d];
    }
    for (int d = ndim - 1; d >= 0; d--)
        result = result * shape[d] + coordinates[d];
    return result;
}

static cebus_tensor *reversed(cebus_test *t, cebus_dtype dtype, const double *values, int ndim,
                              const int64_t *shape)
{
    int64_t n = product(ndim, shape), turned[CEBUS_MAX_DIMS];
    int dims[CEBUS_MAX_DIMS];
    double *moved = malloc(((size_t)n + 1) * sizeof *moved);
    cebus_tensor *base = NULL, *out = NULL;
    for (int d = 0; d < ndim; d++) {
        dims[d] = ndim - 1 - d;
        turned[d] = shape[ndim - 1 - d];
    }
    for (int64_t i = 0; moved && i < n; i++)
        moved[reversed_position(i, ndim, shape)] = values[i];
    if (moved)
        base = cebus_test_from_doubles(t, dtype, moved, ndim, turned);
    if (base && cebus_permute(t->rt, base, dims, &out) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "permute: %s", cebus_last_error()->message);
    cebus_tensor_release(base);
    free(moved);
    return out;
}

static cebus_tensor *spread(cebus_test *t, cebus_dtype dtype, const double *values, int ndim,
                            const int64_t *shape)
{
    int64_t n = product(ndim, shape), longer[CEBUS_MAX_DIMS];
    double *wide = malloc((2 * (size_t)n + 1) * sizeof *wide);
    cebus_tensor *base = NULL, *out = NULL;
    for (int d = 0; d < ndim; d++)
        longer[d] = d == ndim - 1 ? 2 * shape[d] : shape[d];
    for (int64_t i = 0; wide && i < n; i++) {
        wide[2 * i] = 77; /* never to be seen */
        wide[2 * i + 1] = values[i];
    }
    if (wide)
        base = cebus_test_from_doubles(t, dtype, wide, ndim, longer);
    if (base && cebus_slice(t->rt, base, -1, 1, longer[ndim - 1], 2, &out) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "slice: %s", cebus_last_error()->message);
    cebus_tensor_release(base);
    free(wide);
    return out;
}

cebus_tensor *cebus_test_strided(cebus_test *t, cebus_test_layout layout, cebus_dtype dtype,
                                 const double *values, int ndim, const int64_t *shape)
{
    if (ndim == 0 || layout == CEBUS_TEST_PLAIN)
        return cebus_test_from_doubles(t, dtype, values, ndim, shape);
    return layout == CEBUS_TEST_REVERSED ? reversed(t, dtype, values, ndim, shape)
                                         : spread(t, dtype, values, ndim, shape);
}

cebus_tensor *cebus_test_strided_noise(cebus_test *t, cebus_test_layout layout, cebus_dtype dtype,
                                       uint64_t seed, int ndim, const int64_t *shape)
{
    int64_t n = product(ndim, shape);
    double *values = malloc(((size_t)n + 1) * sizeof *values);
    for (int64_t i = 0; values && i < n; i++)
        values[i] = cebus_test_noise(seed, (uint64_t)i);
    cebus_tensor *out = values ? cebus_test_strided(t, layout, dtype, values, ndim, shape) : NULL;
    free(values);
    return out;
}
