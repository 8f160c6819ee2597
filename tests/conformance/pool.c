/*
 * Pooling against naive loops over windows, and its gradients against finite differences.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/support/images.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* --- references --------------------------------------------------------------------------- */

static int64_t windows(const cebus_pool_options *o, int64_t length, int d)
{
    int64_t stride = o->stride[d] ? o->stride[d] : o->kernel[d];
    int64_t dilation = o->dilation[d] ? o->dilation[d] : 1;
    int64_t span = dilation * (o->kernel[d] - 1) + 1, n = 0;
    /* A window counts while it fits, or, with ceil_mode, while it begins before the far padding. */
    while (n * stride + span <= length + 2 * o->padding[d])
        n++;
    if (o->ceil_mode && (n - 1) * stride + span < length + 2 * o->padding[d] &&
        n * stride < length + o->padding[d])
        n++;
    return n;
}

/* What one window of one channel comes to. */
typedef struct tally {
    double sum, largest;
    int64_t inside, padded; /* pixels of the image; with the padding around it */
} tally;

static tally look(const cebus_pool_options *o, const double *plane, const int64_t *shape,
                  const int64_t *window)
{
    tally r = {.largest = -INFINITY};
    for (int64_t i = 0; i < o->kernel[0]; i++)
        for (int64_t j = 0; j < o->kernel[1]; j++) {
            const int64_t tap[2] = {i, j};
            int64_t at[2];
            bool inside = true, padded = true;
            for (int d = 0; d < 2; d++) {
                int64_t stride = o->stride[d] ? o->stride[d] : o->kernel[d];
                int64_t dilation = o->dilation[d] ? o->dilation[d] : 1;
                at[d] = window[d] * stride - o->padding[d] + tap[d] * dilation;
                inside = inside && at[d] >= 0 && at[d] < shape[2 + d];
                padded = padded && at[d] < shape[2 + d] + o->padding[d];
            }
            r.padded += padded;
            if (!inside)
                continue;
            double x = plane[at[0] * shape[3] + at[1]];
            r.inside++;
            r.sum += x;
            if (x > r.largest || isnan(x))
                r.largest = x;
        }
    return r;
}

static double *reference(const cebus_pool_options *o, bool max, const double *x,
                         const int64_t *shape, int64_t *out_shape)
{
    out_shape[0] = shape[0];
    out_shape[1] = shape[1];
    for (int d = 0; d < 2; d++)
        out_shape[2 + d] = windows(o, shape[2 + d], d);
    int64_t plane = out_shape[2] * out_shape[3];
    double *want = malloc((size_t)(shape[0] * shape[1] * plane + 1) * sizeof *want);
    for (int64_t i = 0; want && i < shape[0] * shape[1] * plane; i++) {
        int64_t at[2] = {i % plane / out_shape[3], i % out_shape[3]};
        tally r = look(o, x + i / plane * shape[2] * shape[3], shape, at);
        want[i] = max ? r.largest : r.sum / (double)(o->exclude_padding ? r.inside : r.padded);
    }
    return want;
}

/* --- values ------------------------------------------------------------------------------- */

static void check(cebus_test *t, const cebus_pool_options *o, bool max, cebus_dtype dtype,
                  cebus_test_order order, const int64_t *shape)
{
    cebus_tensor *x = cebus_test_image(t, order, dtype, 5, shape), *out = NULL;
    double *values = x ? cebus_test_doubles(t, x) : NULL;
    int64_t out_shape[4];
    double *want = values ? reference(o, max, values, shape, out_shape) : NULL;
    cebus_status status = (max ? cebus_max_pool2d : cebus_avg_pool2d)(t->rt, x, o, &out);
    if (status != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "%s", cebus_last_error()->message);
    else if (want) {
        cebus_test_expect(t, max ? "max" : "avg", out, 4, out_shape, want,
                          dtype == CEBUS_F64 ? 1e-14 : 1e-6);
        EXPECT(t, cebus_test_is_channels_last(out));
    }
    free(want);
    free(values);
    cebus_tensor_release(x);
    cebus_tensor_release(out);
}

static cebus_pool_options draw_options(uint64_t *state, bool max)
{
    cebus_pool_options o = {
        .ceil_mode = cebus_test_draw(state, 0, 1),
        .exclude_padding = !max && cebus_test_draw(state, 0, 1),
    };
    for (int d = 0; d < 2; d++) {
        o.kernel[d] = cebus_test_draw(state, 1, 4);
        o.stride[d] = cebus_test_draw(state, 0, 3);
        o.dilation[d] = max ? cebus_test_draw(state, 0, 2) : 0;
        int64_t span = (o.dilation[d] ? o.dilation[d] : 1) * (o.kernel[d] - 1) + 1;
        o.padding[d] = cebus_test_draw(state, 0, span / 2);
    }
    return o;
}

static void sweep(cebus_test *t, bool max)
{
    uint64_t state = 31 + max;
    for (int i = 0; i < 200 && t->failures == 0; i++) {
        cebus_pool_options o = draw_options(&state, max);
        int64_t shape[4] = {cebus_test_draw(&state, 0, 3), cebus_test_draw(&state, 1, 70),
                            cebus_test_draw(&state, 1, 9), cebus_test_draw(&state, 1, 9)};
        cebus_dtype dtype = cebus_test_draw(&state, 0, 1) ? CEBUS_F32 : CEBUS_F64;
        cebus_test_order order = (cebus_test_order)cebus_test_draw(&state, 0, 2);
        if (windows(&o, shape[2], 0) > 0 && windows(&o, shape[3], 1) > 0)
            check(t, &o, max, dtype, order, shape);
        if (t->failures > 0)
            cebus_test_fail(t, __FILE__, __LINE__, "trial %d", i);
    }
}

static void max_values(cebus_test *t)
{
    sweep(t, true);
}

static void avg_values(cebus_test *t)
{
    sweep(t, false);
}

/* NaN wins, minus infinity is not the padding, and a window may hold over 256 pixels. */
static void max_special(cebus_test *t)
{
    const cebus_pool_options o = {.kernel = {2, 2}, .padding = {1, 1}};
    const double x[] = {-INFINITY, 1, 2, 3, 4, 5, NAN, 7, 8};
    const double want[] = {-INFINITY, 2, NAN, 8};
    cebus_tensor *image = cebus_test_from_doubles(t, CEBUS_F32, x, 4, (int64_t[]){1, 1, 3, 3});
    cebus_tensor *out = NULL;
    OK(t, cebus_max_pool2d(t->rt, image, &o, &out));
    cebus_test_expect(t, "max", out, 4, (int64_t[]){1, 1, 2, 2}, want, 0);
    cebus_tensor_release(image);
    cebus_tensor_release(out);
    const cebus_pool_options large = {.kernel = {18, 17}, .stride = {1, 1}, .padding = {9, 8}};
    check(t, &large, true, CEBUS_F32, CEBUS_TEST_ROWS, (int64_t[]){1, 2, 20, 19});
}

static double *adaptive_reference(const double *x, const int64_t *shape, const int64_t *size)
{
    int64_t plane = size[0] * size[1];
    double *want = calloc((size_t)(shape[0] * shape[1] * plane) + 1, sizeof *want);
    for (int64_t i = 0; want && i < shape[0] * shape[1] * plane; i++) {
        int64_t h = i % plane / size[1], w = i % size[1], n = 0;
        /* Pixel p belongs to window i when their extents on a common scale overlap. */
        for (int64_t p = 0; p < shape[2] * shape[3]; p++) {
            int64_t y = p / shape[3], z = p % shape[3];
            if (y * size[0] < (h + 1) * shape[2] && (y + 1) * size[0] > h * shape[2] &&
                z * size[1] < (w + 1) * shape[3] && (z + 1) * size[1] > w * shape[3]) {
                want[i] += x[i / plane * shape[2] * shape[3] + p];
                n++;
            }
        }
        want[i] /= (double)n;
    }
    return want;
}

static void adaptive_values(cebus_test *t)
{
    uint64_t state = 99;
    for (int i = 0; i < 100 && t->failures == 0; i++) {
        int64_t shape[4], size[2];
        for (int d = 0; d < 4; d++)
            shape[d] = cebus_test_draw(&state, 1, 9);
        for (int d = 0; d < 2; d++)
            size[d] = cebus_test_draw(&state, 1, 11);
        cebus_dtype dtype = i % 2 ? CEBUS_F32 : CEBUS_F64;
        cebus_tensor *out = NULL;
        cebus_tensor *x = cebus_test_image(t, (cebus_test_order)(i % 3), dtype, 5, shape);
        OK(t, cebus_adaptive_avg_pool2d(t->rt, x, size[0], size[1], &out));
        double *values = cebus_test_doubles(t, x);
        double *want = adaptive_reference(values, shape, size);
        cebus_test_expect(t, "adaptive", out, 4, (int64_t[]){shape[0], shape[1], size[0], size[1]},
                          want, 1e-6);
        free(values);
        free(want);
        cebus_tensor_release(x);
        cebus_tensor_release(out);
    }
}

/* --- gradients ---------------------------------------------------------------------------- */

static cebus_status max_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                 cebus_tensor **out)
{
    return cebus_max_pool2d(rt, in[0], context, out);
}

static cebus_status avg_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                 cebus_tensor **out)
{
    return cebus_avg_pool2d(rt, in[0], context, out);
}

static cebus_status adaptive_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                      cebus_tensor **out)
{
    const int64_t *size = context;
    return cebus_adaptive_avg_pool2d(rt, in[0], size[0], size[1], out);
}

static void check_gradient(cebus_test *t, const char *what, cebus_test_function function,
                           void *context)
{
    for (cebus_test_order order = 0; order < CEBUS_TEST_ORDERS; order++) {
        cebus_tensor *x = cebus_test_image(t, order, CEBUS_F64, 8, (int64_t[]){2, 3, 7, 6});
        OK(t, cebus_tensor_set_requires_grad(x, true));
        cebus_test_gradient(t, what, function, context, &x, 1);
        cebus_tensor_release(x);
    }
}

static void gradients(cebus_test *t)
{
    cebus_pool_options plain = {.kernel = {2, 2}};
    cebus_pool_options overlap = {.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}};
    cebus_pool_options dilated = {.kernel = {2, 3}, .stride = {1, 1}, .dilation = {2, 2}};
    cebus_pool_options large = {.kernel = {17, 16}, .stride = {3, 3}, .padding = {8, 8}};
    cebus_pool_options counted = {.kernel = {3, 2},
                                  .stride = {2, 2},
                                  .padding = {1, 1},
                                  .ceil_mode = true,
                                  .exclude_padding = true};
    check_gradient(t, "max", max_function, &plain);
    check_gradient(t, "max, overlapping", max_function, &overlap);
    check_gradient(t, "max, dilated", max_function, &dilated);
    check_gradient(t, "max, large window", max_function, &large);
    check_gradient(t, "avg", avg_function, &plain);
    check_gradient(t, "avg, overlapping", avg_function, &overlap);
    check_gradient(t, "avg, padding excluded", avg_function, &counted);
    check_gradient(t, "adaptive", adaptive_function, (int64_t[]){3, 4});
    check_gradient(t, "adaptive, larger", adaptive_function, (int64_t[]){9, 1});
}

/* f32 and the gradient's other memory orders, by the f64 gradient. */
static void gradient_orders(cebus_test *t)
{
    const cebus_pool_options o = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
    cebus_tensor *x = cebus_test_image(t, CEBUS_TEST_ROWS, CEBUS_F32, 8, (int64_t[]){2, 70, 6, 6});
    cebus_tensor *first = NULL;
    OK(t, cebus_tensor_set_requires_grad(x, true));
    for (cebus_test_order order = 0; order < CEBUS_TEST_ORDERS; order++) {
        cebus_tensor *out = NULL, *got = NULL;
        cebus_tensor *grad = cebus_test_image(t, order, CEBUS_F32, 9, (int64_t[]){2, 70, 3, 3});
        OK(t, cebus_max_pool2d(t->rt, x, &o, &out));
        OK(t, cebus_backward(t->rt, out, grad, false));
        OK(t, cebus_tensor_grad(x, &got));
        double *values = cebus_test_doubles(t, grad), *sums = cebus_test_doubles(t, got);
        double given = 0, taken = 0;
        for (int64_t i = 0; i < cebus_tensor_numel(grad); i++)
            given += values[i];
        for (int64_t i = 0; i < cebus_tensor_numel(got); i++)
            taken += sums[i];
        EXPECT(t, fabs(given - taken) < 1e-3);
        if (order == CEBUS_TEST_SPREAD_ROWS) /* the same elements as in rows */
            cebus_test_expect_same(t, "gradient", first, got);
        else if (!first)
            first = cebus_tensor_retain(got);
        OK(t, cebus_tensor_set_grad(x, NULL));
        free(values);
        free(sums);
        cebus_tensor_release(out);
        cebus_tensor_release(grad);
        cebus_tensor_release(got);
    }
    cebus_tensor_release(first);
    cebus_tensor_release(x);
}

/* The gradient of max pooling, of x and a gradient as they are or in f64. */
static void max_gradient(cebus_test *t, const cebus_pool_options *o, cebus_tensor *x,
                         cebus_tensor *grad, bool wide, double **values)
{
    cebus_tensor *cast = NULL, *in = NULL, *given = NULL, *out = NULL, *got = NULL;
    cebus_dtype dtype = wide ? CEBUS_F64 : cebus_tensor_dtype(x);
    OK(t, cebus_cast(t->rt, x, dtype, &cast));
    OK(t, cebus_cast(t->rt, grad, dtype, &given));
    OK(t, cebus_detach(t->rt, cast, &in));
    OK(t, cebus_tensor_set_requires_grad(in, true));
    OK(t, cebus_max_pool2d(t->rt, in, o, &out));
    OK(t, cebus_backward(t->rt, out, given, false));
    OK(t, cebus_tensor_grad(in, &got));
    *values = cebus_test_doubles(t, got);
    cebus_tensor *const tensors[] = {cast, in, given, out, got};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
}

static void check_max_gradient(cebus_test *t, const cebus_pool_options *o, cebus_dtype dtype,
                               cebus_test_order order, int64_t channels)
{
    const int64_t size[] = {2, channels, 9, 11};
    const int64_t result[] = {2, channels, windows(o, 9, 0), windows(o, 11, 1)};
    cebus_tensor *x = cebus_test_image(t, order, dtype, 8, size);
    cebus_tensor *grad = cebus_test_image(t, order, dtype, 9, result);
    double *got = NULL, *want = NULL;
    max_gradient(t, o, x, grad, false, &got);
    max_gradient(t, o, x, grad, true, &want);
    double tolerance = dtype == CEBUS_F32 ? 1e-6 : dtype == CEBUS_F16 ? 1e-3 : 1e-2;
    if (got && want)
        cebus_test_near(t, "gradient", got, want, cebus_tensor_numel(x), tolerance, tolerance);
    free(got);
    free(want);
    cebus_tensor_release(x);
    cebus_tensor_release(grad);
}

/* Windows of several sizes over channels that are whole vectors, and that are not. */
static void max_gradients(cebus_test *t)
{
    static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F16, CEBUS_BF16};
    static const cebus_pool_options list[] = {
        {.kernel = {2, 2}},
        {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
        {.kernel = {3, 2}, .stride = {3, 1}, .padding = {1, 1}, .ceil_mode = true},
        {.kernel = {3, 3}, .stride = {1, 1}},
        {.kernel = {2, 2}, .stride = {3, 4}},
    };
    for (size_t i = 0; i < LENGTH(list); i++)
        for (size_t d = 0; d < LENGTH(floats); d++)
            for (cebus_test_order order = 0; order < CEBUS_TEST_ORDERS; order++)
                for (int64_t channels = 20; channels < 25; channels++)
                    check_max_gradient(t, &list[i], floats[d], order, channels);
}

static void determinism(cebus_test *t)
{
    cebus_pool_options o = {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};
    cebus_tensor *x =
        cebus_test_image(t, CEBUS_TEST_ROWS, CEBUS_F32, 8, (int64_t[]){4, 32, 32, 32});
    cebus_test_expect_repeats(t, avg_function, &o, &x, x);
    cebus_tensor_release(x);
}

/* --- errors ------------------------------------------------------------------------------- */

static void errors(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){2, 4, 5, 5});
    cebus_tensor *flat = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 3, (int64_t[]){4, 5, 5});
    cebus_tensor *ints = cebus_test_tensor(t, CEBUS_I32, 1, 9, 0, 4, (int64_t[]){2, 4, 5, 5});
    cebus_tensor *none = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){2, 0, 5, 5});
    cebus_tensor *out = x;
    cebus_runtime *rt = t->rt;
    const cebus_pool_options good = {.kernel = {2, 2}};
    FAILS(t, CEBUS_INVALID_ARGUMENT, "max_pool2d", cebus_max_pool2d(rt, NULL, &good, &out));
    EXPECT(t, out == NULL);
    FAILS(t, CEBUS_INVALID_ARGUMENT, "max_pool2d", cebus_max_pool2d(rt, x, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "max_pool2d", cebus_max_pool2d(rt, x, &good, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "avg_pool2d", cebus_avg_pool2d(NULL, x, &good, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "avg_pool2d", cebus_avg_pool2d(rt, x, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 5, 5]", cebus_max_pool2d(rt, flat, &good, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[2, 0, 5, 5]", cebus_avg_pool2d(rt, none, &good, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "i32", cebus_max_pool2d(rt, ints, &good, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast", cebus_avg_pool2d(rt, ints, &good, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "kernel 0",
          cebus_max_pool2d(rt, x, &(cebus_pool_options){.kernel = {2, 0}}, &out));
    FAILS(
        t, CEBUS_INVALID_ARGUMENT, "stride -1",
        cebus_avg_pool2d(rt, x, &(cebus_pool_options){.kernel = {2, 2}, .stride = {-1, 1}}, &out));
    FAILS(
        t, CEBUS_INVALID_ARGUMENT, "padding 2",
        cebus_avg_pool2d(rt, x, &(cebus_pool_options){.kernel = {3, 3}, .padding = {2, 0}}, &out));
    FAILS(
        t, CEBUS_INVALID_ARGUMENT, "dilation belongs",
        cebus_avg_pool2d(rt, x, &(cebus_pool_options){.kernel = {2, 2}, .dilation = {2, 1}}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "exclude_padding",
          cebus_max_pool2d(rt, x, &(cebus_pool_options){.kernel = {2, 2}, .exclude_padding = true},
                           &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "6 x 2",
          cebus_max_pool2d(rt, x, &(cebus_pool_options){.kernel = {6, 2}}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "0 x 2", cebus_adaptive_avg_pool2d(rt, x, 0, 2, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "adaptive", cebus_adaptive_avg_pool2d(rt, NULL, 2, 2, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 5, 5]", cebus_adaptive_avg_pool2d(rt, flat, 2, 2, &out));
    EXPECT(t, out == NULL);
    cebus_tensor *const tensors[] = {x, flat, ints, none};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
}

const cebus_case cebus_cases_pool[] = {
    {"max_pool2d: values", max_values},
    {"max_pool2d: special values", max_special},
    {"avg_pool2d: values", avg_values},
    {"adaptive_avg_pool2d: values", adaptive_values},
    {"pool: gradients", gradients},
    {"max_pool2d: gradient in all memory orders", gradient_orders},
    {"max_pool2d: gradients of vectors", max_gradients},
    {"avg_pool2d: determinism", determinism},
    {"pool: errors", errors},
    {NULL, NULL},
};
