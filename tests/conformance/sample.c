#include "tests/conformance/sample.h"

#include <math.h>
#include <stdlib.h>

int64_t shape_count(shape s)
{
    int64_t n = 1;
    for (int d = 0; d < s.ndim; d++)
        n *= s.size[d];
    return n;
}

sample sample_make(cebus_test *t, cebus_test_layout layout, cebus_dtype dtype, uint64_t seed,
                   shape s)
{
    sample made = {0};
    int64_t n = shape_count(s);
    double *noise = malloc(((size_t)n + 1) * sizeof *noise);
    for (int64_t i = 0; noise && i < n; i++)
        noise[i] = cebus_dtype_is_float(dtype) ? cebus_test_noise(seed, (uint64_t)i)
                                               : floor(4 + 4 * cebus_test_noise(seed, (uint64_t)i));
    if (noise)
        made.tensor = cebus_test_strided(t, layout, dtype, noise, s.ndim, s.size);
    if (made.tensor)
        made.values = cebus_test_doubles(t, made.tensor);
    free(noise);
    return made;
}

void sample_drop(sample *s)
{
    cebus_tensor_release(s->tensor);
    free(s->values);
}

void sample_expect(cebus_test *t, const char *what, cebus_tensor *got, const double *want, shape s)
{
    bool same = cebus_tensor_ndim(got) == s.ndim;
    for (int d = 0; same && d < s.ndim; d++)
        same = cebus_tensor_size(got, d) == s.size[d];
    if (!same)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: wrong shape", what);
    double *values = same ? cebus_test_doubles(t, got) : NULL;
    if (values)
        cebus_test_near(t, what, values, want, shape_count(s), 0, 0);
    free(values);
    cebus_tensor_release(got);
}
