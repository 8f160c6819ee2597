/*
 * Batch normalization against its definition, its gradients against finite differences (f64) and
 * against the f64 gradients (f32), and the running statistics' updates.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/images.h"
#include "tests/support/strided.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef struct shape {
    int ndim;
    int64_t size[5];
} shape;

static int64_t count(const shape *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->ndim; d++)
        n *= s->size[d];
    return n;
}

static int64_t channel(const shape *s, int64_t i)
{
    int64_t plane = 1;
    for (int d = 2; d < s->ndim; d++)
        plane *= s->size[d];
    return i / plane % s->size[1];
}

/* Means and biased variances of the channels. */
static void statistics(const shape *s, const double *x, double *mean, double *var)
{
    int64_t values = count(s) / s->size[1];
    double n = (double)values;
    memset(mean, 0, (size_t)s->size[1] * sizeof *mean);
    memset(var, 0, (size_t)s->size[1] * sizeof *var);
    for (int64_t i = 0; i < count(s); i++)
        mean[channel(s, i)] += x[i] / n;
    for (int64_t i = 0; i < count(s); i++) {
        double d = x[i] - mean[channel(s, i)];
        var[channel(s, i)] += d * d / n;
    }
}

/* x in place -> its normalized values; weight and bias may be NULL. */
static void normalize(const shape *s, double *x, const double *mean, const double *var, double eps,
                      const double *weight, const double *bias)
{
    for (int64_t i = 0; i < count(s); i++) {
        int64_t c = channel(s, i);
        x[i] = (x[i] - mean[c]) / sqrt(var[c] + eps);
        x[i] = x[i] * (weight ? weight[c] : 1) + (bias ? bias[c] : 0);
    }
}

static cebus_tensor *make_input(cebus_test *t, cebus_test_order order, cebus_dtype dtype,
                                const shape *s)
{
    if (s->ndim == 4)
        return cebus_test_image(t, order, dtype, 12, s->size);
    cebus_test_layout layout = order == CEBUS_TEST_ROWS            ? CEBUS_TEST_PLAIN
                               : order == CEBUS_TEST_CHANNELS_LAST ? CEBUS_TEST_REVERSED
                                                                   : CEBUS_TEST_SPREAD;
    return cebus_test_strided_noise(t, layout, dtype, 12, s->ndim, s->size);
}

/* Tensors [C] with their elements. */
typedef struct parameters {
    cebus_tensor *weight, *bias, *mean, *var;
    double *w, *b, *m, *v;
} parameters;

static parameters parameters_make(cebus_test *t, cebus_dtype dtype, int64_t channels)
{
    parameters p = {
        .weight = cebus_test_tensor(t, dtype, 21, 1, 2, 1, &channels),
        .bias = cebus_test_tensor(t, dtype, 22, 1, 0, 1, &channels),
        .mean = cebus_test_tensor(t, dtype, 23, 1, 0, 1, &channels),
        .var = cebus_test_tensor(t, dtype, 24, 0.5, 1, 1, &channels),
    };
    p.w = cebus_test_doubles(t, p.weight);
    p.b = cebus_test_doubles(t, p.bias);
    p.m = cebus_test_doubles(t, p.mean);
    p.v = cebus_test_doubles(t, p.var);
    return p;
}

static void parameters_drop(parameters *p)
{
    cebus_tensor *const tensors[] = {p->weight, p->bias, p->mean, p->var};
    double *const arrays[] = {p->w, p->b, p->m, p->v};
    for (int i = 0; i < 4; i++) {
        cebus_tensor_release(tensors[i]);
        free(arrays[i]);
    }
}

static double tolerance(cebus_dtype dtype)
{
    return dtype == CEBUS_F64 ? 1e-12 : 1e-5;
}

static void check_training(cebus_test *t, cebus_dtype dtype, cebus_test_order order, const shape *s,
                           bool affine)
{
    int64_t channels = s->size[1], n = count(s) / channels;
    parameters p = parameters_make(t, dtype, channels);
    cebus_tensor *x = make_input(t, order, dtype, s), *out = NULL;
    double *want = cebus_test_doubles(t, x);
    double *mean = malloc((size_t)channels * sizeof *mean);
    double *var = malloc((size_t)channels * sizeof *var);
    const cebus_batch_norm_options o = {.running_mean = p.mean,
                                        .running_var = p.var,
                                        .training = true,
                                        .momentum = 0.25,
                                        .eps = 0.01};
    OK(t, cebus_batch_norm(t->rt, x, affine ? p.weight : NULL, affine ? p.bias : NULL, &o, &out));
    statistics(s, want, mean, var);
    normalize(s, want, mean, var, 0.01, affine ? p.w : NULL, affine ? p.b : NULL);
    cebus_test_expect(t, "result", out, s->ndim, s->size, want, tolerance(dtype));
    EXPECT(t, !cebus_test_is_channels_last(x) || cebus_test_is_channels_last(out));
    for (int64_t c = 0; c < channels; c++) {
        p.m[c] = 0.75 * p.m[c] + 0.25 * mean[c];
        p.v[c] = 0.75 * p.v[c] + 0.25 * var[c] * (double)n / (double)(n - 1);
    }
    cebus_test_expect(t, "running mean", p.mean, 1, &channels, p.m, tolerance(dtype));
    cebus_test_expect(t, "running variance", p.var, 1, &channels, p.v, tolerance(dtype));
    EXPECT(t, cebus_tensor_version(p.mean) == 1);
    EXPECT(t, cebus_tensor_version(p.var) == 1);
    free(want);
    free(mean);
    free(var);
    cebus_tensor_release(x);
    cebus_tensor_release(out);
    parameters_drop(&p);
}

static void check_evaluation(cebus_test *t, cebus_dtype dtype, cebus_test_order order,
                             const shape *s, bool affine)
{
    parameters p = parameters_make(t, dtype, s->size[1]);
    cebus_tensor *x = make_input(t, order, dtype, s), *out = NULL;
    double *want = cebus_test_doubles(t, x);
    const cebus_batch_norm_options o = {.running_mean = p.mean, .running_var = p.var};
    OK(t, cebus_batch_norm(t->rt, x, affine ? p.weight : NULL, affine ? p.bias : NULL, &o, &out));
    normalize(s, want, p.m, p.v, 1e-5, affine ? p.w : NULL, affine ? p.b : NULL);
    cebus_test_expect(t, "result", out, s->ndim, s->size, want, tolerance(dtype));
    EXPECT(t, cebus_tensor_version(p.mean) == 0);
    free(want);
    cebus_tensor_release(x);
    cebus_tensor_release(out);
    parameters_drop(&p);
}

static const shape shapes[] = {
    {2, {7, 5}},         {2, {200, 130}},      {3, {3, 4, 9}},       {4, {2, 3, 5, 7}},
    {4, {2, 1, 3, 3}},   {4, {1, 17, 1, 2}},   {4, {3, 33, 6, 5}},   {4, {4, 70, 17, 19}},
    {4, {2, 16, 1, 1}},  {5, {2, 3, 2, 3, 4}}, {4, {1, 2, 90, 100}}, {4, {8, 64, 40, 40}},
    {4, {6, 2, 57, 64}}, {4, {9, 2, 53, 55}},
};

static void training(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(shapes); i++)
        for (cebus_test_order order = 0; order < CEBUS_TEST_ORDERS; order++) {
            check_training(t, CEBUS_F32, order, &shapes[i], order != CEBUS_TEST_SPREAD_ROWS);
            check_training(t, CEBUS_F64, order, &shapes[i], order != CEBUS_TEST_ROWS);
        }
}

static void evaluation(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(shapes); i++)
        for (cebus_test_order order = 0; order < CEBUS_TEST_ORDERS; order++) {
            check_evaluation(t, CEBUS_F32, order, &shapes[i], order != CEBUS_TEST_SPREAD_ROWS);
            check_evaluation(t, CEBUS_F64, order, &shapes[i], order != CEBUS_TEST_ROWS);
        }
    check_evaluation(t, CEBUS_F32, CEBUS_TEST_ROWS, &(shape){4, {0, 3, 5, 5}}, true);
    check_evaluation(t, CEBUS_F32, CEBUS_TEST_ROWS, &(shape){2, {1, 3}}, true);
}

/* A large mean over a small spread: the variance must not drown. */
static void offset(cebus_test *t)
{
    const shape s = {4, {8, 3, 16, 16}};
    const cebus_batch_norm_options o = {.training = true, .eps = 1e-12};
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 5, 1, 1000, 4, s.size), *out = NULL;
    double *want = cebus_test_doubles(t, x), mean[3], var[3];
    OK(t, cebus_batch_norm(t->rt, x, NULL, NULL, &o, &out));
    statistics(&s, want, mean, var);
    normalize(&s, want, mean, var, 1e-12, NULL, NULL);
    cebus_test_expect(t, "result", out, 4, s.size, want, 1e-4);
    free(want);
    cebus_tensor_release(x);
    cebus_tensor_release(out);
}

/* The same over many values, of which the first lies far from all others. */
static void outlier(cebus_test *t)
{
    static const shape list[] = {{4, {5, 2, 64, 80}}, {4, {5, 2, 67, 79}}};
    const cebus_batch_norm_options o = {.training = true, .eps = 1e-12};
    for (size_t i = 0; i < LENGTH(list); i++) {
        const shape *s = &list[i];
        cebus_tensor *x = NULL, *out = NULL;
        float *values = calloc((size_t)count(s), sizeof *values);
        for (int64_t k = 0; values && k < count(s); k++)
            values[k] = 1000 + (float)(k * 7919 % 1009) / 1009;
        for (int64_t c = 0; values && c < s->size[1]; c++)
            values[c * s->size[2] * s->size[3]] = 3;
        OK(t, cebus_tensor_from_host(t->rt, values, CEBUS_F32, s->ndim, s->size, &x));
        double *want = cebus_test_doubles(t, x), mean[2], var[2];
        OK(t, cebus_batch_norm(t->rt, x, NULL, NULL, &o, &out));
        statistics(s, want, mean, var);
        normalize(s, want, mean, var, 1e-12, NULL, NULL);
        cebus_test_expect(t, "result", out, s->ndim, s->size, want, 2e-5);
        free(values);
        free(want);
        cebus_tensor_release(x);
        cebus_tensor_release(out);
    }
}

/* Inputs: x, weight, bias; context: the options. */
static cebus_status affine_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                    cebus_tensor **out)
{
    return cebus_batch_norm(rt, in[0], in[1], in[2], context, out);
}

static cebus_status plain_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                   cebus_tensor **out)
{
    return cebus_batch_norm(rt, in[0], NULL, NULL, context, out);
}

static void gradients(cebus_test *t)
{
    static const shape list[] = {{2, {6, 3}}, {4, {2, 3, 3, 4}}, {3, {2, 3, 5}}};
    parameters p = parameters_make(t, CEBUS_F64, 3);
    cebus_batch_norm_options modes[] = {
        {.training = true, .eps = 0.1},
        {.running_mean = p.mean, .running_var = p.var},
    };
    OK(t, cebus_tensor_set_requires_grad(p.weight, true));
    OK(t, cebus_tensor_set_requires_grad(p.bias, true));
    for (size_t i = 0; i < LENGTH(list) * 2 * CEBUS_TEST_ORDERS; i++) {
        cebus_test_order order = (cebus_test_order)(i / 2 % CEBUS_TEST_ORDERS);
        cebus_tensor *x = make_input(t, order, CEBUS_F64, &list[i / 2 / CEBUS_TEST_ORDERS]);
        cebus_tensor *in[] = {x, p.weight, p.bias};
        OK(t, cebus_tensor_set_requires_grad(x, true));
        cebus_test_gradient(t, i % 2 ? "evaluation" : "training", affine_function, &modes[i % 2],
                            in, 3);
        OK(t, cebus_tensor_set_grad(p.weight, NULL));
        OK(t, cebus_tensor_set_grad(p.bias, NULL));
        cebus_tensor_release(x);
    }
    for (int mode = 0; mode < 2; mode++) {
        cebus_tensor *x = make_input(t, CEBUS_TEST_ROWS, CEBUS_F64, &list[1]);
        OK(t, cebus_tensor_set_requires_grad(x, true));
        cebus_test_gradient(t, "no weight", plain_function, &modes[mode], &x, 1);
        cebus_tensor_release(x);
    }
    parameters_drop(&p);
}

/* Gradients of x, weight and bias as doubles, in one type and the orders of x and of the result's
 * gradient; the caller frees. */
static bool gradients_of(cebus_test *t, cebus_dtype dtype, const cebus_test_order order[2],
                         const shape *s, double **out)
{
    int64_t channels = s->size[1];
    const cebus_batch_norm_options o = {.training = true};
    cebus_tensor *in[] = {make_input(t, order[0], dtype, s),
                          cebus_test_tensor(t, dtype, 21, 1, 2, 1, &channels),
                          cebus_test_tensor(t, dtype, 22, 1, 0, 1, &channels)};
    cebus_tensor *y = NULL, *grad = cebus_test_image(t, order[1], dtype, 9, s->size);
    bool ok = true;
    for (int i = 0; i < 3; i++)
        ok = ok && cebus_tensor_set_requires_grad(in[i], true) == CEBUS_OK;
    ok = ok && cebus_batch_norm(t->rt, in[0], in[1], in[2], &o, &y) == CEBUS_OK &&
         cebus_backward(t->rt, y, grad, false) == CEBUS_OK;
    for (int i = 0; i < 3; i++) {
        cebus_tensor *got = NULL;
        out[i] =
            ok && cebus_tensor_grad(in[i], &got) == CEBUS_OK ? cebus_test_doubles(t, got) : NULL;
        cebus_tensor_release(got);
        cebus_tensor_release(in[i]);
    }
    cebus_tensor_release(y);
    cebus_tensor_release(grad);
    EXPECT(t, ok);
    return ok;
}

static void check_single_gradients(cebus_test *t, const cebus_test_order order[2], const shape *s)
{
    const int64_t sizes[] = {count(s), s->size[1], s->size[1]};
    double *single[3], *wide[3];
    bool ok = gradients_of(t, CEBUS_F32, order, s, single);
    ok = gradients_of(t, CEBUS_F64, order, s, wide) && ok;
    for (int i = 0; i < 3; i++) {
        if (ok)
            cebus_test_near(t, "f32 gradient", single[i], wide[i], sizes[i], 1e-4, 1e-4);
        free(single[i]);
        free(wide[i]);
    }
}

static void single_gradients(cebus_test *t)
{
    static const shape list[] = {
        {4, {4, 72, 13, 11}}, {4, {6, 2, 57, 64}}, {4, {9, 2, 53, 55}}, {4, {3, 9, 1, 3}}};
    for (size_t i = 0; i < LENGTH(list); i++)
        for (cebus_test_order order = 0; order < CEBUS_TEST_ORDERS; order++)
            for (int last = 0; last < 2; last++)
                check_single_gradients(
                    t,
                    (cebus_test_order[]){last ? CEBUS_TEST_CHANNELS_LAST : CEBUS_TEST_ROWS, order},
                    &list[i]);
}

/* Parameters that are rows of a larger tensor's columns. */
static void strided_parameters(cebus_test *t)
{
    const int64_t channels = 3;
    const cebus_batch_norm_options o = {.training = true};
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 5, 1, 0, 2, (int64_t[]){8, 3});
    cebus_tensor *plain = cebus_test_tensor(t, CEBUS_F32, 6, 1, 0, 1, &channels);
    cebus_tensor *spread =
        cebus_test_strided_noise(t, CEBUS_TEST_SPREAD, CEBUS_F32, 6, 1, &channels);
    cebus_tensor *out[2] = {NULL};
    OK(t, cebus_batch_norm(t->rt, x, plain, plain, &o, &out[0]));
    OK(t, cebus_batch_norm(t->rt, x, spread, spread, &o, &out[1]));
    cebus_test_expect_same(t, "result", out[0], out[1]);
    cebus_tensor *const tensors[] = {x, plain, spread, out[0], out[1]};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
}

/* Images that begin anywhere in memory: the same bits, forward and backward. */
static void check_addresses(cebus_test *t, cebus_dtype dtype, const int dims[4])
{
    const int64_t size[] = {3, 8, 8, 8}, numel = 3 * 8 * 8 * 8, longer = numel + 3;
    const cebus_batch_norm_options o = {.training = true};
    cebus_tensor *flat = cebus_test_tensor(t, dtype, 5, 1, 0, 1, &longer), *piece = NULL;
    cebus_tensor *rows = NULL, *copy = NULL, *x[2] = {NULL}, *out[2] = {NULL}, *grad[2] = {NULL};
    OK(t, cebus_slice(t->rt, flat, 0, 3, longer, 1, &piece));
    OK(t, cebus_reshape(t->rt, piece, 4, size, &rows));
    OK(t, cebus_clone(t->rt, rows, &copy));
    OK(t, cebus_permute(t->rt, rows, dims, &x[0]));
    OK(t, cebus_permute(t->rt, copy, dims, &x[1]));
    for (int k = 0; k < 2; k++) {
        OK(t, cebus_tensor_set_requires_grad(x[k], true));
        OK(t, cebus_batch_norm(t->rt, x[k], NULL, NULL, &o, &out[k]));
        OK(t, cebus_backward(t->rt, out[k], x[1 - k], false));
        OK(t, cebus_tensor_grad(x[k], &grad[k]));
    }
    cebus_test_expect_same(t, "result", out[0], out[1]);
    cebus_test_expect_same(t, "gradient", grad[0], grad[1]);
    cebus_tensor *const tensors[] = {flat, piece,  rows,   copy,    x[0],
                                     x[1], out[0], out[1], grad[0], grad[1]};
    for (size_t k = 0; k < LENGTH(tensors); k++)
        cebus_tensor_release(tensors[k]);
}

static void addresses(cebus_test *t)
{
    for (cebus_dtype dtype = CEBUS_F32; dtype <= CEBUS_BF16; dtype++) {
        check_addresses(t, dtype, (const int[]){0, 1, 2, 3});
        check_addresses(t, dtype, (const int[]){0, 3, 1, 2});
    }
}

static void determinism(cebus_test *t)
{
    static const shape s = {4, {4, 64, 32, 32}};
    for (cebus_test_order last = 0; last < CEBUS_TEST_ORDERS; last++) {
        const cebus_test_order order[] = {CEBUS_TEST_CHANNELS_LAST, last};
        double *first[3], *second[3];
        bool ok = gradients_of(t, CEBUS_F32, order, &s, first);
        ok = gradients_of(t, CEBUS_F32, order, &s, second) && ok;
        const int64_t sizes[] = {count(&s), 64, 64};
        for (int i = 0; ok && i < 3; i++)
            cebus_test_near(t, "gradient again", second[i], first[i], sizes[i], 0, 0);
        for (int i = 0; i < 3; i++) {
            free(first[i]);
            free(second[i]);
        }
    }
}

static void errors(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 4, (int64_t[]){2, 3, 4, 4});
    cebus_tensor *one = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, (int64_t[]){1, 3});
    cebus_tensor *flat = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, (int64_t[]){3});
    cebus_tensor *four = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, (int64_t[]){4});
    cebus_tensor *wide = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 1, (int64_t[]){3});
    cebus_tensor *ints = cebus_test_tensor(t, CEBUS_I64, 1, 9, 0, 2, (int64_t[]){3, 3});
    cebus_tensor *out = x;
    cebus_runtime *rt = t->rt;
    const cebus_batch_norm_options train = {.training = true};
    const cebus_batch_norm_options bad[] = {
        {.training = false},
        {.training = true, .running_mean = flat},
        {.training = true, .eps = -1},
        {.training = true, .eps = NAN},
        {.training = true, .momentum = 1.5},
        {.training = true, .momentum = NAN},
    };
    FAILS(t, CEBUS_INVALID_ARGUMENT, "batch_norm",
          cebus_batch_norm(rt, NULL, NULL, NULL, &train, &out));
    EXPECT(t, out == NULL);
    FAILS(t, CEBUS_INVALID_ARGUMENT, "batch_norm", cebus_batch_norm(rt, x, NULL, NULL, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "batch_norm",
          cebus_batch_norm(rt, x, NULL, NULL, &train, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "batch_norm",
          cebus_batch_norm(NULL, x, NULL, NULL, &train, &out));
    for (size_t i = 0; i < LENGTH(bad); i++)
        FAILS(t, CEBUS_INVALID_ARGUMENT, "batch_norm",
              cebus_batch_norm(rt, x, NULL, NULL, &bad[i], &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "two values",
          cebus_batch_norm(rt, one, NULL, NULL, &train, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[3]", cebus_batch_norm(rt, flat, NULL, NULL, &train, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4]", cebus_batch_norm(rt, x, four, NULL, &train, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4]", cebus_batch_norm(rt, x, NULL, four, &train, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "f64", cebus_batch_norm(rt, x, wide, NULL, &train, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "i64", cebus_batch_norm(rt, ints, NULL, NULL, &train, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "running statistic [4]",
          cebus_batch_norm(rt, x, NULL, NULL,
                           &(cebus_batch_norm_options){.running_mean = four, .running_var = flat},
                           &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "running statistic f64",
          cebus_batch_norm(rt, x, NULL, NULL,
                           &(cebus_batch_norm_options){.running_mean = flat, .running_var = wide},
                           &out));
    EXPECT(t, out == NULL);
    cebus_tensor *const tensors[] = {x, one, flat, four, wide, ints};
    for (size_t i = 0; i < LENGTH(tensors); i++)
        cebus_tensor_release(tensors[i]);
}

const cebus_case cebus_cases_batch_norm[] = {
    {"batch_norm: training", training},
    {"batch_norm: evaluation", evaluation},
    {"batch_norm: large mean", offset},
    {"batch_norm: a value far off", outlier},
    {"batch_norm: gradients", gradients},
    {"batch_norm: f32 gradients", single_gradients},
    {"batch_norm: strided parameters", strided_parameters},
    {"batch_norm: addresses", addresses},
    {"batch_norm: determinism", determinism},
    {"batch_norm: errors", errors},
    {NULL, NULL},
};
