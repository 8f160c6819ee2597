/*
 * Interpolation against the textbook formula, element by element, and its gradient against finite
 * differences.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/support/images.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* --- reference ---------------------------------------------------------------------------- */

/* The coordinate in the image of pixel i of n. */
static double source(const cebus_interpolate_options *o, int d, int64_t i, int64_t length,
                     int64_t n)
{
    double step = o->scale[d] > 0 ? 1 / o->scale[d] : (double)length / (double)n;
    if (o->mode == CEBUS_INTERPOLATE_NEAREST) {
        int64_t exact = i * length / n;
        return o->scale[d] > 0 ? fmin(floor((double)i * step), (double)length - 1) : (double)exact;
    }
    if (o->align_corners)
        return n > 1 ? (double)(i * (length - 1)) / (double)(n - 1) : 0;
    return fmin(fmax(((double)i + 0.5) * step - 0.5, 0), (double)length - 1);
}

/* A hat of half width one around each pixel sums up to linear interpolation. */
static double hat(double distance)
{
    return fmax(0, 1 - fabs(distance));
}

static double *reference(const cebus_interpolate_options *o, const double *x, const int64_t *shape,
                         const int64_t *size)
{
    int64_t plane = size[0] * size[1], pixels = shape[2] * shape[3];
    double *want = calloc((size_t)(shape[0] * shape[1] * plane) + 1, sizeof *want);
    for (int64_t i = 0; want && i < shape[0] * shape[1] * plane; i++) {
        double h = source(o, 0, i % plane / size[1], shape[2], size[0]);
        double w = source(o, 1, i % size[1], shape[3], size[1]);
        for (int64_t p = 0; p < pixels; p++) {
            int64_t row = p / shape[3], column = p % shape[3];
            want[i] += x[i / plane * pixels + p] * hat(h - (double)row) * hat(w - (double)column);
        }
    }
    return want;
}

static void check(cebus_test *t, const cebus_interpolate_options *o, cebus_dtype dtype,
                  cebus_test_order order, const int64_t *shape)
{
    int64_t out_shape[4] = {shape[0], shape[1]};
    for (int d = 0; d < 2; d++)
        out_shape[2 + d] =
            o->size[d] ? o->size[d] : (int64_t)floor((double)shape[2 + d] * o->scale[d]);
    cebus_tensor *x = cebus_test_image(t, order, dtype, 6, shape), *out = NULL;
    double *values = x ? cebus_test_doubles(t, x) : NULL;
    double *want = values ? reference(o, values, shape, out_shape + 2) : NULL;
    if (cebus_interpolate(t->rt, x, o, &out) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "%s", cebus_last_error()->message);
    else if (want) {
        cebus_test_expect(t, "interpolate", out, 4, out_shape, want,
                          dtype == CEBUS_F64 ? 1e-13 : 1e-5);
        EXPECT(t, cebus_test_is_channels_last(out));
    }
    free(want);
    free(values);
    cebus_tensor_release(x);
    cebus_tensor_release(out);
}

static void values(cebus_test *t)
{
    uint64_t state = 5;
    for (int i = 0; i < 240 && t->failures == 0; i++) {
        int64_t shape[4] = {cebus_test_draw(&state, 0, 2), cebus_test_draw(&state, 1, 20),
                            cebus_test_draw(&state, 1, 7), cebus_test_draw(&state, 1, 7)};
        cebus_interpolate_options o = {.mode = i % 3 ? CEBUS_INTERPOLATE_BILINEAR
                                                     : CEBUS_INTERPOLATE_NEAREST};
        o.align_corners = i % 3 == 2;
        for (int d = 0; d < 2; d++) {
            if (i % 2)
                o.size[d] = cebus_test_draw(&state, 1, 14);
            else
                o.scale[d] = (double)cebus_test_draw(&state, 4, 12) / 4;
        }
        cebus_test_order order = (cebus_test_order)cebus_test_draw(&state, 0, 2);
        check(t, &o, i % 5 < 3 ? CEBUS_F32 : CEBUS_F64, order, shape);
        if (t->failures > 0)
            cebus_test_fail(t, __FILE__, __LINE__, "trial %d", i);
    }
}

/* The identity, and doubling, hold exactly. */
static void exact(cebus_test *t)
{
    const double x[] = {1, 2, 3, 4}, same[] = {1, 2, 3, 4};
    const double doubled[] = {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4};
    const cebus_interpolate_options keep = {.mode = CEBUS_INTERPOLATE_BILINEAR, .size = {2, 2}};
    const cebus_interpolate_options twice = {.scale = {2, 2}};
    cebus_tensor *image = cebus_test_from_doubles(t, CEBUS_F32, x, 4, (int64_t[]){1, 1, 2, 2});
    cebus_tensor *out = NULL;
    OK(t, cebus_interpolate(t->rt, image, &keep, &out));
    cebus_test_expect(t, "kept", out, 4, (int64_t[]){1, 1, 2, 2}, same, 0);
    cebus_tensor_release(out);
    OK(t, cebus_interpolate(t->rt, image, &twice, &out));
    cebus_test_expect(t, "doubled", out, 4, (int64_t[]){1, 1, 4, 4}, doubled, 0);
    cebus_tensor_release(out);
    cebus_tensor_release(image);
}

static cebus_status function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                             cebus_tensor **out)
{
    return cebus_interpolate(rt, in[0], context, out);
}

static void gradients(cebus_test *t)
{
    cebus_interpolate_options list[] = {
        {.size = {7, 3}},
        {.scale = {2, 0.5}},
        {.mode = CEBUS_INTERPOLATE_BILINEAR, .size = {9, 8}},
        {.mode = CEBUS_INTERPOLATE_BILINEAR, .size = {2, 3}},
        {.mode = CEBUS_INTERPOLATE_BILINEAR, .scale = {2, 1.5}},
        {.mode = CEBUS_INTERPOLATE_BILINEAR, .size = {9, 2}, .align_corners = true},
        {.mode = CEBUS_INTERPOLATE_BILINEAR, .size = {1, 1}, .align_corners = true},
    };
    for (size_t i = 0; i < LENGTH(list); i++)
        for (cebus_test_order order = 0; order < CEBUS_TEST_ORDERS; order++) {
            cebus_tensor *x = cebus_test_image(t, order, CEBUS_F64, 8, (int64_t[]){2, 3, 5, 4});
            OK(t, cebus_tensor_set_requires_grad(x, true));
            cebus_test_gradient(t, "interpolate", function, &list[i], &x, 1);
            cebus_tensor_release(x);
        }
}

static void determinism(cebus_test *t)
{
    cebus_interpolate_options o = {.mode = CEBUS_INTERPOLATE_BILINEAR, .size = {33, 29}};
    cebus_tensor *x =
        cebus_test_image(t, CEBUS_TEST_ROWS, CEBUS_F32, 8, (int64_t[]){2, 32, 16, 16});
    cebus_test_expect_repeats(t, function, &o, &x, x);
    cebus_tensor_release(x);
}

static void errors(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){2, 4, 5, 5});
    cebus_tensor *flat = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 3, (int64_t[]){4, 5, 5});
    cebus_tensor *ints = cebus_test_tensor(t, CEBUS_U8, 1, 9, 20, 4, (int64_t[]){2, 4, 5, 5});
    cebus_tensor *none = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){2, 4, 0, 5});
    cebus_tensor *out = x;
    cebus_runtime *rt = t->rt;
    const cebus_interpolate_options good = {.size = {2, 2}};
    const cebus_interpolate_options bad[] = {
        {.mode = CEBUS_INTERPOLATE_NEAREST},
        {.size = {2, 0}},
        {.size = {2, 2}, .scale = {2, 2}},
        {.scale = {2, -1}},
        {.scale = {2, NAN}},
        {.scale = {INFINITY, 2}},
        {.size = {-3, 2}},
        {.mode = (cebus_interpolate_mode)7, .size = {2, 2}},
        {.size = {2, 2}, .align_corners = true},
        {.size = {2, INT64_MAX}},
        {.scale = {1e300, 1}},
    };
    FAILS(t, CEBUS_INVALID_ARGUMENT, "interpolate", cebus_interpolate(rt, NULL, &good, &out));
    EXPECT(t, out == NULL);
    FAILS(t, CEBUS_INVALID_ARGUMENT, "interpolate", cebus_interpolate(rt, x, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "interpolate", cebus_interpolate(rt, x, &good, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "interpolate", cebus_interpolate(NULL, x, &good, &out));
    for (size_t i = 0; i < LENGTH(bad); i++)
        FAILS(t, CEBUS_INVALID_ARGUMENT, "interpolate", cebus_interpolate(rt, x, &bad[i], &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 5, 5]", cebus_interpolate(rt, flat, &good, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[2, 4, 0, 5]", cebus_interpolate(rt, none, &good, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast", cebus_interpolate(rt, ints, &good, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "0 x 0",
          cebus_interpolate(rt, x, &(cebus_interpolate_options){.scale = {0.1, 0.1}}, &out));
    EXPECT(t, out == NULL);
    cebus_tensor *const tensors[] = {x, flat, ints, none};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
}

const cebus_case cebus_cases_resize[] = {
    {"interpolate: values", values},       {"interpolate: exact cases", exact},
    {"interpolate: gradients", gradients}, {"interpolate: determinism", determinism},
    {"interpolate: errors", errors},       {NULL, NULL},
};
