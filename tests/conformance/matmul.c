/*
 * Matrix products against naive loops, over every combination of shapes, memory orders and types.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"
#include "tests/support/strided.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const cebus_dtype types[] = {CEBUS_F32, CEBUS_F64};

typedef struct shape {
    int ndim;
    int64_t size[CEBUS_MAX_DIMS];
} shape;

/* ---- reference --------------------------------------------------------------------------- */

static int64_t count(const shape *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->ndim; d++)
        n *= s->size[d];
    return n;
}

/* A vector becomes a row (on the left) or a column. */
static shape as_matrix(const shape *s, bool left)
{
    if (s->ndim > 1)
        return *s;
    return left ? (shape){2, {1, s->size[0]}} : (shape){2, {s->size[0], 1}};
}

/* Length of dimension `d` counted from the end, 0 being the last; 1 beyond the first. */
static int64_t from_end(const shape *s, int d)
{
    return d < s->ndim ? s->size[s->ndim - 1 - d] : 1;
}

/* Position in `s` (matrices in a broadcast batch) of matrix `index` of the batch of `out`. */
static int64_t matrix_of(const shape *s, const shape *out, int64_t index)
{
    int64_t position = 0, step = from_end(s, 0) * from_end(s, 1);
    for (int d = 2; d < out->ndim; d++) {
        if (from_end(s, d) > 1)
            position += index % from_end(out, d) * step;
        step *= from_end(s, d);
        index /= from_end(out, d);
    }
    return position;
}

static shape product_shape(const shape *a, const shape *b)
{
    shape out = {.ndim = a->ndim > b->ndim ? a->ndim : b->ndim};
    for (int d = 2; d < out.ndim; d++) {
        int64_t x = from_end(a, d), y = from_end(b, d);
        out.size[out.ndim - 1 - d] = x == 1 ? y : x;
    }
    out.size[out.ndim - 2] = from_end(a, 1);
    out.size[out.ndim - 1] = from_end(b, 0);
    return out;
}

/* The product of two operands with at least two dimensions; the caller frees. */
static double *multiply(const double *a, const shape *as, const double *b, const shape *bs)
{
    shape out = product_shape(as, bs);
    int64_t m = from_end(as, 1), k = from_end(as, 0), n = from_end(bs, 0);
    double *c = malloc(((size_t)count(&out) + 1) * sizeof *c);
    for (int64_t i = 0; c && i < count(&out); i++) {
        const double *row = a + matrix_of(as, &out, i / (m * n)) + i / n % m * k;
        const double *column = b + matrix_of(bs, &out, i / (m * n)) + i % n;
        c[i] = 0;
        for (int64_t p = 0; p < k; p++)
            c[i] += row[p] * column[p * n];
    }
    return c;
}

/* Tolerance of sums of k products of noise in the type. */
static double tolerance(cebus_dtype dtype)
{
    return dtype == CEBUS_F64 ? 1e-13 : 2e-5;
}

/* ---- matmul ------------------------------------------------------------------------------ */

typedef struct pair {
    shape a, b;
    int out_ndim; /* of the result, vectors dropped */
} pair;

static const pair pairs[] = {
    {{2, {3, 4}}, {2, {4, 5}}, 2},
    {{2, {1, 1}}, {2, {1, 1}}, 2},
    {{2, {7, 1}}, {2, {1, 6}}, 2},
    {{2, {1, 9}}, {2, {9, 1}}, 2},
    {{1, {6}}, {1, {6}}, 0},
    {{1, {6}}, {2, {6, 3}}, 1},
    {{2, {3, 6}}, {1, {6}}, 1},
    {{1, {6}}, {3, {2, 6, 3}}, 2},
    {{3, {2, 3, 6}}, {1, {6}}, 2},
    {{3, {5, 3, 4}}, {2, {4, 2}}, 3},
    {{2, {3, 4}}, {3, {5, 4, 2}}, 3},
    {{3, {5, 3, 4}}, {3, {5, 4, 2}}, 3},
    {{3, {1, 3, 4}}, {3, {5, 4, 2}}, 3},
    {{4, {2, 1, 3, 4}}, {4, {1, 3, 4, 2}}, 4},
    {{4, {2, 3, 1, 4}}, {3, {1, 4, 2}}, 4},
    {{4, {2, 3, 1, 4}}, {2, {4, 2}}, 4},
    {{2, {0, 4}}, {2, {4, 3}}, 2},
    {{2, {2, 0}}, {2, {0, 3}}, 2},
    {{3, {0, 2, 3}}, {3, {1, 3, 2}}, 3},
    {{1, {0}}, {1, {0}}, 0},
    {{2, {50, 67}}, {2, {67, 83}}, 2},
    {{2, {13, 300}}, {2, {300, 40}}, 2},
    {{2, {130, 20}}, {2, {20, 530}}, 2},
    {{3, {3, 65, 33}}, {3, {3, 33, 70}}, 3},
};

typedef struct layouts {
    cebus_test_layout a, b;
    bool flip; /* operands handed over as transposed views of their transposes */
} layouts;

/* `values` as a tensor; flipped: stored transposed, and seen through cebus_transpose(). */
static cebus_tensor *make(cebus_test *t, cebus_test_layout layout, cebus_dtype dtype,
                          const double *values, const shape *s, bool flip)
{
    cebus_tensor *plain = cebus_test_strided(t, layout, dtype, values, s->ndim, s->size);
    cebus_tensor *turned = NULL, *dense = NULL, *back = NULL;
    if (!flip || !plain || s->ndim < 2)
        return plain;
    if (cebus_transpose(t->rt, plain, -2, -1, &turned) != CEBUS_OK ||
        cebus_contiguous(t->rt, turned, &dense) != CEBUS_OK ||
        cebus_transpose(t->rt, dense, -2, -1, &back) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "cannot flip: %s", cebus_last_error()->message);
    cebus_tensor_release(plain);
    cebus_tensor_release(turned);
    cebus_tensor_release(dense);
    return back;
}

static double *noise(uint64_t seed, const shape *s, cebus_dtype dtype)
{
    double *values = malloc(((size_t)count(s) + 1) * sizeof *values);
    for (int64_t i = 0; values && i < count(s); i++) {
        double x = cebus_test_noise(seed, (uint64_t)i);
        values[i] = dtype == CEBUS_F32 ? (double)(float)x : x;
    }
    return values;
}

static void expect(cebus_test *t, const char *what, cebus_tensor *got, const double *want,
                   int64_t n, cebus_dtype dtype)
{
    EXPECT(t, cebus_tensor_is_contiguous(got));
    EXPECT(t, cebus_tensor_dtype(got) == dtype);
    EXPECT(t, cebus_tensor_numel(got) == n);
    double *values = cebus_tensor_numel(got) == n ? cebus_test_doubles(t, got) : NULL;
    if (values && want)
        cebus_test_near(t, what, values, want, n, tolerance(dtype), tolerance(dtype) * 10);
    free(values);
}

static void check_pair(cebus_test *t, const pair *p, cebus_dtype dtype, layouts l)
{
    char what[96];
    shape as = as_matrix(&p->a, true), bs = as_matrix(&p->b, false), os = product_shape(&as, &bs);
    double *av = noise(1, &p->a, dtype), *bv = noise(2, &p->b, dtype);
    double *want = multiply(av, &as, bv, &bs);
    cebus_tensor *a = make(t, l.a, dtype, av, &p->a, l.flip);
    cebus_tensor *b = make(t, l.b, dtype, bv, &p->b, l.flip), *c = NULL;
    snprintf(what, sizeof what, "%s product of %dx%dx%d, layouts %d %d %d", cebus_dtype_name(dtype),
             (int)from_end(&as, 1), (int)from_end(&as, 0), (int)from_end(&bs, 0), l.a, l.b, l.flip);
    if (a && b && cebus_matmul(t->rt, a, b, &c) == CEBUS_OK) {
        EXPECT(t, cebus_tensor_ndim(c) == p->out_ndim);
        expect(t, what, c, want, count(&os), dtype);
    } else {
        cebus_test_fail(t, __FILE__, __LINE__, "%s: %s", what, cebus_last_error()->message);
    }
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(c);
    free(av);
    free(bv);
    free(want);
}

static void all_pairs(cebus_test *t)
{
    for (size_t d = 0; d < LENGTH(types); d++)
        for (size_t i = 0; i < LENGTH(pairs); i++)
            for (int l = 0; l < CEBUS_TEST_LAYOUTS * CEBUS_TEST_LAYOUTS * 2; l++)
                check_pair(t, &pairs[i], types[d],
                           (layouts){(cebus_test_layout)(l / 2 % CEBUS_TEST_LAYOUTS),
                                     (cebus_test_layout)(l / 2 / CEBUS_TEST_LAYOUTS), l % 2});
}

/* Expanded operands have stride 0, in the matrix too. */
static void expanded(cebus_test *t)
{
    cebus_tensor *row = cebus_test_tensor(t, CEBUS_F64, 3, 1, 0, 2, (int64_t[]){1, 4}), *a, *b, *c;
    cebus_tensor *column = cebus_test_tensor(t, CEBUS_F64, 4, 1, 0, 2, (int64_t[]){4, 1});
    OK(t, cebus_expand(t->rt, row, 3, (int64_t[]){2, 3, 4}, &a));
    OK(t, cebus_expand(t->rt, column, 3, (int64_t[]){2, 4, 5}, &b));
    OK(t, cebus_matmul(t->rt, a, b, &c));
    double *x = cebus_test_doubles(t, row), *y = cebus_test_doubles(t, column), want[30], sum = 0;
    for (int p = 0; p < 4; p++)
        sum += x[p] * y[p];
    for (int i = 0; i < 30; i++)
        want[i] = sum;
    expect(t, "expanded", c, want, 30, CEBUS_F64);
    free(x);
    free(y);
    cebus_tensor_release(row);
    cebus_tensor_release(column);
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(c);
}

static void special_values(cebus_test *t)
{
    const double av[] = {0, INFINITY, 1, NAN}, bv[] = {1, 0, 0, 1};
    const double want[] = {NAN, INFINITY, NAN, NAN};
    cebus_tensor *a = cebus_test_from_doubles(t, CEBUS_F32, av, 2, (int64_t[]){2, 2});
    cebus_tensor *b = cebus_test_from_doubles(t, CEBUS_F32, bv, 2, (int64_t[]){2, 2}), *c;
    OK(t, cebus_matmul(t->rt, a, b, &c));
    expect(t, "infinities and NaN", c, want, 4, CEBUS_F32);
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(c);
}

static cebus_status run_matmul(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                               cebus_tensor **out)
{
    (void)context;
    return cebus_matmul(rt, in[0], in[1], out);
}

static void matmul_gradients(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        const pair *p = &pairs[i];
        if (count(&p->a) > 400)
            continue;
        for (int which = 1; which < 4; which++) {
            char what[64];
            cebus_tensor *in[2] = {
                cebus_test_tensor(t, CEBUS_F64, 5, 1, 0, p->a.ndim, p->a.size),
                cebus_test_tensor(t, CEBUS_F64, 6, 1, 0, p->b.ndim, p->b.size),
            };
            OK(t, cebus_tensor_set_requires_grad(in[0], which & 1));
            OK(t, cebus_tensor_set_requires_grad(in[1], which & 2));
            snprintf(what, sizeof what, "matmul pair %zu, gradients %d", i, which);
            cebus_test_gradient(t, what, run_matmul, NULL, in, 2);
            cebus_tensor_release(in[0]);
            cebus_tensor_release(in[1]);
        }
    }
}

static cebus_status run_transposed(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                   cebus_tensor **out)
{
    cebus_tensor *a = NULL, *b = NULL;
    cebus_status status = cebus_transpose(rt, in[0], -2, -1, &a);
    (void)context;
    if (status == CEBUS_OK)
        status = cebus_transpose(rt, in[1], -2, -1, &b);
    if (status == CEBUS_OK)
        status = cebus_matmul(rt, a, b, out);
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    return status;
}

static void transposed_gradients(cebus_test *t)
{
    cebus_tensor *in[2] = {cebus_test_tensor(t, CEBUS_F64, 7, 1, 0, 3, (int64_t[]){2, 4, 3}),
                           cebus_test_tensor(t, CEBUS_F64, 8, 1, 0, 2, (int64_t[]){5, 4})};
    OK(t, cebus_tensor_set_requires_grad(in[0], true));
    OK(t, cebus_tensor_set_requires_grad(in[1], true));
    cebus_test_gradient(t, "transposed views", run_transposed, NULL, in, 2);
    cebus_tensor_release(in[0]);
    cebus_tensor_release(in[1]);
}

/* ---- linear ------------------------------------------------------------------------------ */

static const shape linear_inputs[] = {{1, {6}},    {2, {4, 6}}, {3, {2, 3, 6}}, {4, {2, 1, 3, 6}},
                                      {2, {1, 6}}, {2, {0, 6}}, {2, {70, 6}}};

static void check_linear(cebus_test *t, const shape *xs, cebus_dtype dtype,
                         cebus_test_layout layout, bool with_bias)
{
    const shape ws = {2, {5, 6}}, turned = {2, {6, 5}}, bs = {1, {5}};
    shape rows = as_matrix(xs, true), out = product_shape(&rows, &turned);
    double *xv = noise(11, xs, dtype), *wv = noise(12, &ws, dtype), *bv = noise(13, &bs, dtype);
    double across[30];
    for (int i = 0; i < 30; i++)
        across[i % 6 * 5 + i / 6] = wv[i];
    double *want = multiply(xv, &rows, across, &turned);
    for (int64_t i = 0; with_bias && i < count(&out); i++)
        want[i] += bv[i % 5];
    cebus_tensor *x = cebus_test_strided(t, layout, dtype, xv, xs->ndim, xs->size);
    cebus_tensor *w = cebus_test_strided(t, layout, dtype, wv, 2, ws.size), *y = NULL;
    cebus_tensor *b = with_bias ? cebus_test_strided(t, layout, dtype, bv, 1, bs.size) : NULL;
    if (cebus_linear(t->rt, x, w, b, &y) == CEBUS_OK) {
        EXPECT(t, cebus_tensor_ndim(y) == xs->ndim);
        expect(t, "linear", y, want, count(&out), dtype);
    } else {
        cebus_test_fail(t, __FILE__, __LINE__, "linear: %s", cebus_last_error()->message);
    }
    cebus_tensor_release(x);
    cebus_tensor_release(w);
    cebus_tensor_release(b);
    cebus_tensor_release(y);
    free(xv);
    free(wv);
    free(bv);
    free(want);
}

static void linear_values(cebus_test *t)
{
    for (size_t d = 0; d < LENGTH(types); d++)
        for (size_t i = 0; i < LENGTH(linear_inputs); i++)
            for (int l = 0; l < 2 * CEBUS_TEST_LAYOUTS; l++)
                check_linear(t, &linear_inputs[i], types[d], (cebus_test_layout)(l / 2), l % 2);
}

/* No features in: the bias alone. */
static void linear_without_features(cebus_test *t)
{
    const double want[] = {1, 2, 1, 2, 1, 2};
    cebus_tensor *x = cebus_test_from_doubles(t, CEBUS_F32, NULL, 2, (int64_t[]){3, 0}), *y;
    cebus_tensor *w = cebus_test_from_doubles(t, CEBUS_F32, NULL, 2, (int64_t[]){2, 0});
    cebus_tensor *b = cebus_test_from_doubles(t, CEBUS_F32, want, 1, (int64_t[]){2});
    OK(t, cebus_linear(t->rt, x, w, b, &y));
    expect(t, "no features", y, want, 6, CEBUS_F32);
    cebus_tensor_release(x);
    cebus_tensor_release(w);
    cebus_tensor_release(b);
    cebus_tensor_release(y);
}

static cebus_status run_linear(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                               cebus_tensor **out)
{
    (void)context;
    return cebus_linear(rt, in[0], in[1], in[2], out);
}

static void linear_gradients(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(linear_inputs); i++) {
        const shape *xs = &linear_inputs[i];
        for (int which = 1; which < 8; which++) {
            cebus_tensor *in[3] = {
                cebus_test_tensor(t, CEBUS_F64, 21, 1, 0, xs->ndim, xs->size),
                cebus_test_tensor(t, CEBUS_F64, 22, 1, 0, 2, (int64_t[]){5, 6}),
                which & 4 ? cebus_test_tensor(t, CEBUS_F64, 23, 1, 0, 1, (int64_t[]){5}) : NULL,
            };
            for (int k = 0; k < 3; k++)
                if (in[k])
                    OK(t, cebus_tensor_set_requires_grad(in[k], which >> k & 1));
            cebus_test_gradient(t, "linear", run_linear, NULL, in, 3);
            for (int k = 0; k < 3; k++)
                cebus_tensor_release(in[k]);
        }
    }
}

/* ---- determinism and errors -------------------------------------------------------------- */

static void determinism(cebus_test *t)
{
    for (size_t d = 0; d < LENGTH(types); d++) {
        cebus_tensor *a = cebus_test_tensor(t, types[d], 31, 1, 0, 3, (int64_t[]){3, 150, 120});
        cebus_tensor *b = cebus_test_tensor(t, types[d], 32, 1, 0, 2, (int64_t[]){120, 140});
        cebus_tensor *c[2];
        for (int i = 0; i < 2; i++)
            OK(t, cebus_matmul(t->rt, a, b, &c[i]));
        cebus_test_same_bits(t, "twice", c[0], c[1]);
        cebus_tensor_release(a);
        cebus_tensor_release(b);
        cebus_tensor_release(c[0]);
        cebus_tensor_release(c[1]);
    }
}

/* Large enough to be shared: one matrix by its tiles, several by turns. */
static void check_threads(cebus_test *t)
{
    static const pair large[] = {{{2, {150, 140}}, {2, {140, 130}}, 2},
                                 {{3, {7, 60, 50}}, {3, {7, 50, 70}}, 3}};
    for (size_t i = 0; i < LENGTH(large); i++)
        check_pair(t, &large[i], CEBUS_F32, (layouts){CEBUS_TEST_PLAIN, CEBUS_TEST_PLAIN, false});
    determinism(t);
}

static void threads(cebus_test *t)
{
    for (int n = 2; n < 6; n++)
        cebus_test_with_threads(t, n, check_threads);
}

static void matmul_errors(cebus_test *t)
{
    cebus_tensor *c = NULL;
    cebus_tensor *a = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, (int64_t[]){2, 3});
    cebus_tensor *b = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, (int64_t[]){4, 5});
    cebus_tensor *scalar = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 0, NULL);
    cebus_tensor *d = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 2, (int64_t[]){3, 3});
    cebus_tensor *whole = cebus_test_tensor(t, CEBUS_I32, 1, 1, 0, 2, (int64_t[]){2, 2});
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 3, (int64_t[]){2, 3, 4});
    cebus_tensor *y = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 3, (int64_t[]){3, 4, 2});
    FAILS(t, CEBUS_SHAPE_MISMATCH, "shapes [2, 3] and [4, 5] do not go together: 3 != 4",
          cebus_matmul(t->rt, a, b, &c));
    EXPECT(t, strcmp(cebus_last_error()->op, "matmul") == 0);
    EXPECT(t, c == NULL);
    FAILS(t, CEBUS_SHAPE_MISMATCH, "batches [2] and [3] do not broadcast",
          cebus_matmul(t->rt, x, y, &c));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "shapes [] and [2, 3]", cebus_matmul(t->rt, scalar, a, &c));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast() one of them", cebus_matmul(t->rt, a, d, &c));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "got i32 [2, 2]: cebus_cast() it",
          cebus_matmul(t->rt, whole, whole, &c));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "a is NULL", cebus_matmul(t->rt, NULL, b, &c));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "b is NULL", cebus_matmul(t->rt, a, NULL, &c));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL", cebus_matmul(t->rt, a, b, NULL));
    cebus_tensor *all[] = {a, b, scalar, d, whole, x, y};
    for (size_t i = 0; i < LENGTH(all); i++)
        cebus_tensor_release(all[i]);
}

static void linear_errors(cebus_test *t)
{
    cebus_tensor *y = NULL;
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, (int64_t[]){2, 3});
    cebus_tensor *w = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, (int64_t[]){5, 4});
    cebus_tensor *good = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, (int64_t[]){5, 3});
    cebus_tensor *bias = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, (int64_t[]){4});
    cebus_tensor *wide = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 1, (int64_t[]){5});
    FAILS(t, CEBUS_SHAPE_MISMATCH, "x [2, 3] and weight [5, 4] do not go together: 3 != 4",
          cebus_linear(t->rt, x, w, NULL, &y));
    EXPECT(t, strcmp(cebus_last_error()->op, "linear") == 0);
    FAILS(t, CEBUS_SHAPE_MISMATCH, "bias [4] does not go with weight [5, 3]: it must be [5]",
          cebus_linear(t->rt, x, good, bias, &y));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "weight [features out", cebus_linear(t->rt, x, bias, NULL, &y));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast() one of them",
          cebus_linear(t->rt, x, good, wide, &y));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "weight is NULL", cebus_linear(t->rt, x, NULL, NULL, &y));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "x is NULL", cebus_linear(t->rt, NULL, w, NULL, &y));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL", cebus_linear(t->rt, x, w, NULL, NULL));
    EXPECT(t, y == NULL);
    cebus_tensor *all[] = {x, w, good, bias, wide};
    for (size_t i = 0; i < LENGTH(all); i++)
        cebus_tensor_release(all[i]);
}

const cebus_case cebus_cases_matmul[] = {
    {"matmul/all_pairs", all_pairs},
    {"matmul/expanded", expanded},
    {"matmul/special_values", special_values},
    {"matmul/gradients", matmul_gradients},
    {"matmul/transposed_gradients", transposed_gradients},
    {"matmul/errors", matmul_errors},
    {"matmul/determinism", determinism},
    {"matmul/threads", threads},
    {"linear/values", linear_values},
    {"linear/without_features", linear_without_features},
    {"linear/gradients", linear_gradients},
    {"linear/errors", linear_errors},
    {NULL, NULL},
};
