#include "tests/support/arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t product(int ndim, const int64_t *shape)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    return n;
}

/** Of a tensor that `walk` makes the view of: its shape, and the dimensions of the view. */
static void base_of(cebus_test_walk walk, int ndim, const int64_t *shape, int64_t *base, int *dims)
{
    for (int d = 0; d < ndim; d++) {
        dims[d] = d;
        if (walk == CEBUS_WALK_REVERSED)
            dims[d] = ndim - 1 - d;
        else if (walk == CEBUS_WALK_CHANNELS_LAST && ndim > 2 && d > 0)
            dims[d] = d == 1 ? ndim - 1 : d - 1;
    }
    for (int d = 0; d < ndim; d++)
        base[dims[d]] = shape[d];
    if (walk == CEBUS_WALK_SPREAD && ndim > 0)
        base[ndim - 1] *= 2;
    if (walk == CEBUS_WALK_EXPANDED && ndim > 0 && shape[0] > 0)
        base[0] = 1;
}

static cebus_tensor *noise(cebus_test *t, cebus_dtype dtype, uint64_t seed, int ndim,
                           const int64_t *shape)
{
    int64_t n = product(ndim, shape);
    double *values = malloc(((size_t)n + 1) * sizeof *values);
    for (int64_t i = 0; values != NULL && i < n; i++) {
        double value = 2 * cebus_test_noise(seed, (uint64_t)i);
        if (dtype == CEBUS_BOOL)
            value = value > 0;
        else if (dtype == CEBUS_U8)
            value = floor(5 + 2 * value);
        else if (!cebus_dtype_is_float(dtype))
            value = floor(2 * value);
        values[i] = value;
    }
    cebus_tensor *out =
        values != NULL ? cebus_test_from_doubles(t, dtype, values, ndim, shape) : NULL;
    free(values);
    return out;
}

cebus_test_array cebus_test_array_noise(cebus_test *t, cebus_test_walk walk, cebus_dtype dtype,
                                        uint64_t seed, int ndim, const int64_t *shape)
{
    cebus_test_array out = {.ndim = ndim, .numel = product(ndim, shape)};
    int64_t base[CEBUS_MAX_DIMS];
    int dims[CEBUS_MAX_DIMS];
    for (int d = 0; d < ndim; d++)
        out.shape[d] = shape[d];
    base_of(walk, ndim, shape, base, dims);
    cebus_tensor *x = noise(t, dtype, seed, ndim, base);
    cebus_status status = CEBUS_OK;
    if (x == NULL || ndim == 0 || walk == CEBUS_WALK_PLAIN)
        out.tensor = cebus_tensor_retain(x);
    else if (walk == CEBUS_WALK_SPREAD)
        status = cebus_slice(t->rt, x, -1, 1, base[ndim - 1] + 1, 2, &out.tensor);
    else if (walk == CEBUS_WALK_EXPANDED)
        status = cebus_expand(t->rt, x, ndim, shape, &out.tensor);
    else
        status = cebus_permute(t->rt, x, dims, &out.tensor);
    if (status != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "view: %s", cebus_last_error()->message);
    cebus_tensor_release(x);
    out.values = out.tensor != NULL ? cebus_test_doubles(t, out.tensor) : NULL;
    return out;
}

cebus_test_array cebus_test_array_from(cebus_test *t, cebus_dtype dtype, const double *values,
                                       int ndim, const int64_t *shape)
{
    cebus_test_array out = {.ndim = ndim, .numel = product(ndim, shape)};
    for (int d = 0; d < ndim; d++)
        out.shape[d] = shape[d];
    out.tensor = cebus_test_from_doubles(t, dtype, values, ndim, shape);
    out.values = out.tensor != NULL ? cebus_test_doubles(t, out.tensor) : NULL;
    return out;
}

void cebus_test_array_drop(cebus_test_array *array)
{
    cebus_tensor_release(array->tensor);
    free(array->values);
    *array = (cebus_test_array){0};
}

void cebus_test_array_expect(cebus_test *t, const char *what, cebus_tensor *got,
                             const cebus_test_array *want, cebus_dtype dtype, double rtol)
{
    if (got == NULL) {
        cebus_test_fail(t, __FILE__, __LINE__, "%s: no result: %s", what,
                        cebus_last_error()->message);
        return;
    }
    bool same = cebus_tensor_ndim(got) == want->ndim && cebus_tensor_dtype(got) == dtype;
    for (int d = 0; same && d < want->ndim; d++)
        same = cebus_tensor_size(got, d) == want->shape[d];
    if (!same)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: wrong shape or type", what);
    double *values = same ? cebus_test_doubles(t, got) : NULL;
    if (values != NULL)
        cebus_test_near(t, what, values, want->values, want->numel, rtol, rtol);
    free(values);
    cebus_tensor_release(got);
}

void cebus_test_same_bits(cebus_test *t, const char *what, cebus_tensor *a, cebus_tensor *b)
{
    size_t bytes =
        a != NULL ? (size_t)cebus_tensor_numel(a) * cebus_dtype_size(cebus_tensor_dtype(a)) : 0;
    char *bits = malloc(2 * bytes + 1);
    bool same = a != NULL && b != NULL && bits != NULL &&
                cebus_tensor_numel(a) == cebus_tensor_numel(b) &&
                cebus_tensor_to_host(a, bits, bytes) == CEBUS_OK &&
                cebus_tensor_to_host(b, bits + bytes, bytes) == CEBUS_OK &&
                memcmp(bits, bits + bytes, bytes) == 0;
    if (!same)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: the bits differ", what);
    free(bits);
}
