/*
 * softmax and log_softmax against loops over single lines, in every memory order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef struct softmax {
    int dim;
    bool logarithm;
} softmax;

static cebus_status run(cebus_runtime *rt, cebus_tensor *x, const softmax *s, cebus_tensor **out)
{
    return (s->logarithm ? cebus_log_softmax : cebus_softmax)(rt, x, s->dim, out);
}

/* Replaces a line of n elements, `step` apart. */
static void transform_line(double *line, int64_t n, int64_t step, bool logarithm)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        largest = line[i * step] > largest ? line[i * step] : largest;
    for (int64_t i = 0; i < n; i++)
        sum += exp(line[i * step] - largest);
    for (int64_t i = 0; i < n; i++) {
        double distance = line[i * step] - largest;
        line[i * step] = logarithm ? distance - log(sum) : exp(distance) / sum;
    }
}

static void transform(const cebus_test_array *x, const softmax *s)
{
    int dim = x->ndim > 0 ? (s->dim + x->ndim) % x->ndim : 0;
    int64_t n = x->ndim > 0 ? x->shape[dim] : 1, step = 1;
    for (int d = dim + 1; d < x->ndim; d++)
        step *= x->shape[d];
    for (int64_t i = 0; i < x->numel; i++) {
        if (i / step % n == 0)
            transform_line(x->values + i, n, step, s->logarithm);
    }
}

static void check(cebus_test *t, cebus_test_walk walk, cebus_dtype dtype, int ndim,
                  const int64_t *shape, const softmax *s)
{
    cebus_test_array x = cebus_test_array_noise(t, walk, dtype, 3, ndim, shape);
    cebus_tensor *out = NULL;
    OK(t, run(t->rt, x.tensor, s, &out));
    const cebus_view *in = cebus_tensor_view(x.tensor), *result = cebus_tensor_view(out);
    bool dense = walk == CEBUS_WALK_REVERSED || walk == CEBUS_WALK_CHANNELS_LAST;
    for (int d = 0; dense && d < ndim; d++)
        EXPECT(t, result->shape[d] < 2 || result->strides[d] == in->strides[d]);
    transform(&x, s);
    cebus_test_array_expect(t, s->logarithm ? "log_softmax" : "softmax", out, &x, dtype,
                            dtype == CEBUS_F32 ? 2e-6 : 1e-13);
    cebus_test_array_drop(&x);
}

static const struct {
    int ndim;
    int64_t shape[4];
    int dim;
} cases[] = {
    {0, {0}, 0},       {1, {1}, 0},        {1, {37}, -1},        {2, {5, 33}, 1},
    {2, {33, 5}, 0},   {2, {3, 1}, 1},     {2, {0, 4}, 1},       {2, {4, 0}, 1},
    {3, {4, 7, 5}, 1}, {3, {4, 7, 5}, -3}, {4, {2, 9, 3, 4}, 1}, {4, {2, 3, 5, 70}, 2},
    {2, {50, 700}, 0}, {2, {70, 3000}, 1},
};

static void values(cebus_test *t)
{
    for (size_t c = 0; c < LENGTH(cases); c++) {
        for (cebus_test_walk walk = 0; walk < CEBUS_WALKS; walk++) {
            for (int i = 0; i < 4; i++)
                check(t, walk, i % 2 ? CEBUS_F64 : CEBUS_F32, cases[c].ndim, cases[c].shape,
                      &(softmax){cases[c].dim, i / 2});
        }
    }
}

static void extremes(cebus_test *t)
{
    static const double line[] = {1000, 999, -INFINITY, -1000};
    static const double hopeless[] = {-INFINITY, -INFINITY, NAN, 0, 1, INFINITY};
    for (int i = 0; i < 4; i++) {
        softmax s = {1, i / 2};
        cebus_dtype dtype = i % 2 ? CEBUS_F64 : CEBUS_F32;
        cebus_test_array x = cebus_test_array_from(t, dtype, line, 2, (int64_t[]){1, 4});
        cebus_tensor *out = NULL;
        OK(t, run(t->rt, x.tensor, &s, &out));
        transform(&x, &s);
        cebus_test_array_expect(t, "extremes", out, &x, dtype, 1e-6);
        cebus_test_array_drop(&x);
        /* Lines without a finite maximum have no softmax. */
        x = cebus_test_array_from(t, dtype, hopeless, 2, (int64_t[]){3, 2});
        out = NULL;
        OK(t, run(t->rt, x.tensor, &s, &out));
        double *got = cebus_test_doubles(t, out);
        for (int k = 0; k < 4; k++)
            EXPECT(t, isnan(got[k]));
        EXPECT(t, isnan(got[5]));
        free(got);
        cebus_tensor_release(out);
        cebus_test_array_drop(&x);
    }
}

static cebus_status plain(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                          cebus_tensor **out)
{
    return run(rt, in[0], context, out);
}

/* Strides before, and a gradient with strides behind. */
static cebus_status turned(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                           cebus_tensor **out)
{
    cebus_tensor *before = NULL, *between = NULL;
    cebus_status status = cebus_transpose(rt, in[0], 0, -1, &before);
    if (status == CEBUS_OK)
        status = run(rt, before, context, &between);
    if (status == CEBUS_OK)
        status = cebus_transpose(rt, between, 0, 1, out);
    cebus_tensor_release(before);
    cebus_tensor_release(between);
    return status;
}

static void gradients(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 3, 3, (int64_t[]){3, 4, 5});
    OK(t, cebus_tensor_set_requires_grad(x.tensor, true));
    for (int i = 0; i < 6; i++) {
        softmax s = {i % 3, i / 3};
        cebus_test_gradient(t, "plain", plain, &s, &x.tensor, 1);
        cebus_test_gradient(t, "turned", turned, &s, &x.tensor, 1);
    }
    cebus_test_array_drop(&x);
}

/* d(sum(out * weight)) / dx of noise, with f32 or f64 loops; NULL on failure. */
static cebus_tensor *gradient_of(cebus_test *t, cebus_dtype dtype, const softmax *s)
{
    const int64_t shape[] = {40, 77};
    cebus_test_array x = cebus_test_array_noise(t, CEBUS_WALK_PLAIN, dtype, 3, 2, shape);
    cebus_test_array g = cebus_test_array_noise(t, CEBUS_WALK_REVERSED, dtype, 4, 2, shape);
    cebus_tensor *out = NULL, *grad = NULL;
    cebus_status status = cebus_tensor_set_requires_grad(x.tensor, true);
    if (status == CEBUS_OK)
        status = run(t->rt, x.tensor, s, &out);
    if (status == CEBUS_OK)
        status = cebus_backward(t->rt, out, g.tensor, false);
    if (status == CEBUS_OK)
        status = cebus_tensor_grad(x.tensor, &grad);
    if (status != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "gradient: %s", cebus_last_error()->message);
    cebus_tensor_release(out);
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&g);
    return grad;
}

static void single_precision_gradients(cebus_test *t)
{
    for (int i = 0; i < 4; i++) {
        softmax s = {i % 2, i / 2};
        cebus_tensor *narrow = gradient_of(t, CEBUS_F32, &s);
        cebus_tensor *again = gradient_of(t, CEBUS_F32, &s);
        cebus_tensor *wide = gradient_of(t, CEBUS_F64, &s);
        if (narrow == NULL || again == NULL || wide == NULL)
            return;
        double *got = cebus_test_doubles(t, narrow), *want = cebus_test_doubles(t, wide);
        cebus_test_near(t, "gradient", got, want, 40 * 77, 1e-5, 1e-5);
        cebus_test_same_bits(t, "gradient", narrow, again);
        free(got);
        free(want);
        cebus_tensor_release(narrow);
        cebus_tensor_release(again);
        cebus_tensor_release(wide);
    }
}

static cebus_tensor *run_threaded(cebus_test *t, int threads, const softmax *s)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = threads;
    cebus_test other = *t;
    cebus_tensor *out = NULL;
    if (cebus_runtime_create(&options, &other.rt) != CEBUS_OK)
        return NULL;
    cebus_test_array x =
        cebus_test_array_noise(&other, CEBUS_WALK_PLAIN, CEBUS_F32, 5, 3, (int64_t[]){30, 20, 101});
    if (x.tensor != NULL && run(other.rt, x.tensor, s, &out) != CEBUS_OK)
        out = NULL;
    cebus_test_array_drop(&x);
    cebus_runtime_destroy(other.rt);
    return out;
}

static void same_bits_for_any_threads(cebus_test *t)
{
    for (int i = 0; i < 6; i++) {
        softmax s = {i % 3, i / 3};
        cebus_tensor *first = run_threaded(t, 1, &s);
        for (int threads = 1; threads <= cebus_test_most_threads(t); threads++) {
            cebus_tensor *again = run_threaded(t, threads, &s);
            cebus_test_same_bits(t, "softmax", first, again);
            cebus_tensor_release(again);
        }
        cebus_tensor_release(first);
    }
}

static void errors(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (int64_t[]){2, 3});
    cebus_test_array whole =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_I64, 1, 2, (int64_t[]){2, 3});
    for (int logarithm = 0; logarithm < 2; logarithm++) {
        softmax s = {1, logarithm}, beyond = {-3, logarithm};
        cebus_tensor *out = x.tensor;
        FAILS(t, CEBUS_INVALID_ARGUMENT, "dimension -3 is out of range for shape [2, 3]",
              run(t->rt, x.tensor, &beyond, &out));
        EXPECT(t, out == NULL);
        EXPECT(t, strcmp(cebus_last_error()->op, logarithm ? "log_softmax" : "softmax") == 0);
        FAILS(t, CEBUS_DTYPE_MISMATCH, "i64 [2, 3]", run(t->rt, whole.tensor, &s, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "x is NULL", run(t->rt, NULL, &s, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "rt is NULL", run(NULL, x.tensor, &s, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL", run(t->rt, x.tensor, &s, NULL));
    }
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&whole);
}

const cebus_case cebus_cases_softmax[] = {
    {"softmax: values in every memory order", values},
    {"softmax: far and infinite elements", extremes, CEBUS_READS_VALUES},
    {"softmax: gradients", gradients},
    {"softmax: gradients in f32", single_precision_gradients},
    {"softmax: the same bits for any number of threads", same_bits_for_any_threads},
    {"softmax: errors", errors},
    {NULL, NULL},
};
