#include "tests/support/images.h"

#include <stdlib.h>
#include <string.h>

#include "eager/view.h"
#include "tests/support/strided.h"

static cebus_tensor *channels_last(cebus_test *t, cebus_dtype dtype, uint64_t seed,
                                   const int64_t *nchw)
{
    const int64_t nhwc[4] = {nchw[0], nchw[2], nchw[3], nchw[1]};
    static const int back[4] = {0, 3, 1, 2};
    cebus_tensor *base = cebus_test_tensor(t, dtype, seed, 1, 0, 4, nhwc), *out = NULL;
    if (base && cebus_permute(t->rt, base, back, &out) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "permute: %s", cebus_last_error()->message);
    cebus_tensor_release(base);
    return out;
}

cebus_tensor *cebus_test_image(cebus_test *t, cebus_test_order order, cebus_dtype dtype,
                               uint64_t seed, const int64_t *nchw)
{
    switch (order) {
    case CEBUS_TEST_CHANNELS_LAST:
        return channels_last(t, dtype, seed, nchw);
    case CEBUS_TEST_SPREAD_ROWS:
        return cebus_test_strided_noise(t, CEBUS_TEST_SPREAD, dtype, seed, 4, nchw);
    default:
        return cebus_test_tensor(t, dtype, seed, 1, 0, 4, nchw);
    }
}

void cebus_test_expect(cebus_test *t, const char *what, cebus_tensor *got, int ndim,
                       const int64_t *shape, const double *want, double tolerance)
{
    bool same = cebus_tensor_ndim(got) == ndim;
    for (int d = 0; same && d < ndim; d++)
        same = cebus_tensor_size(got, d) == shape[d];
    if (!same) {
        cebus_test_fail(t, __FILE__, __LINE__, "%s: the shape is %s", what,
                        CEBUS_SHAPE(cebus_tensor_view(got)));
        return;
    }
    double *values = cebus_test_doubles(t, got);
    if (values)
        cebus_test_near(t, what, values, want, cebus_tensor_numel(got), tolerance, tolerance);
    free(values);
}

void cebus_test_expect_grad(cebus_test *t, const char *what, cebus_tensor *leaf, const double *want,
                            double tolerance)
{
    cebus_tensor *grad = NULL;
    const cebus_view *view = cebus_tensor_view(leaf);
    if (cebus_tensor_grad(leaf, &grad) != CEBUS_OK || !grad)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: no gradient", what);
    else
        cebus_test_expect(t, what, grad, view->ndim, view->shape, want, tolerance);
    cebus_tensor_release(grad);
}

void cebus_test_expect_same(cebus_test *t, const char *what, cebus_tensor *a, cebus_tensor *b)
{
    size_t bytes = (size_t)cebus_tensor_numel(a) * cebus_dtype_size(cebus_tensor_dtype(a));
    void *x = malloc(bytes + 1), *y = malloc(bytes + 1);
    if (!x || !y || cebus_tensor_to_host(a, x, bytes) != CEBUS_OK ||
        cebus_tensor_to_host(b, y, bytes) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: to_host: %s", what,
                        cebus_last_error()->message);
    else if (memcmp(x, y, bytes) != 0)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: the bits differ", what);
    free(x);
    free(y);
}

void cebus_test_expect_repeats(cebus_test *t, cebus_test_function function, void *context,
                               cebus_tensor *const *in, cebus_tensor *leaf)
{
    cebus_tensor *out[2] = {NULL}, *grad[2] = {NULL};
    OK(t, cebus_tensor_set_requires_grad(leaf, true));
    for (int i = 0; i < 2; i++) {
        OK(t, function(t->rt, in, context, &out[i]));
        OK(t, cebus_tensor_set_grad(leaf, NULL));
        OK(t, cebus_backward(t->rt, out[i], out[i], false));
        OK(t, cebus_tensor_grad(leaf, &grad[i]));
    }
    cebus_test_expect_same(t, "result", out[0], out[1]);
    cebus_test_expect_same(t, "gradient", grad[0], grad[1]);
    for (int i = 0; i < 2; i++) {
        cebus_tensor_release(out[i]);
        cebus_tensor_release(grad[i]);
    }
}

bool cebus_test_is_channels_last(cebus_tensor *x)
{
    return cebus_view_is_channels_last(cebus_tensor_view(x));
}

int64_t cebus_test_draw(uint64_t *state, int64_t low, int64_t high)
{
    double part = (cebus_test_noise(4711, (*state)++) + 1) / 2;
    return low + (int64_t)(part * (double)(high - low + 1));
}
