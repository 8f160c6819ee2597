/*
 * Functions of two operands against a loop over all elements that broadcasts by division.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef cebus_status (*entry)(cebus_runtime *, cebus_tensor *, cebus_tensor *, cebus_tensor **);

/* ---- reference ----------------------------------------------------------------------------- */

static double ref_add(double a, double b)
{
    return a + b;
}
static double ref_sub(double a, double b)
{
    return a - b;
}
static double ref_mul(double a, double b)
{
    return a * b;
}
static double ref_div(double a, double b)
{
    return a / b;
}
static double ref_pow(double a, double b)
{
    return pow(a, b);
}
static double ref_fmod(double a, double b)
{
    return fmod(a, b);
}
static double ref_remainder(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && signbit(rest) != signbit(b) ? rest + b : rest;
}
static double ref_maximum(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}
static double ref_minimum(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}
static double ref_eq(double a, double b)
{
    return a == b;
}
static double ref_ne(double a, double b)
{
    return a != b;
}
static double ref_lt(double a, double b)
{
    return a < b;
}
static double ref_le(double a, double b)
{
    return a <= b;
}
static double ref_gt(double a, double b)
{
    return a > b;
}
static double ref_ge(double a, double b)
{
    return a >= b;
}

typedef struct function {
    const char *name;
    entry run;
    double (*reference)(double, double);
    const char *dtypes; /* f: floats, i: integers, b: bool */
    bool compares;
} function;

static const function functions[] = {
    {"add", cebus_add, ref_add, "fib", false},
    {"sub", cebus_sub, ref_sub, "fi", false},
    {"mul", cebus_mul, ref_mul, "fib", false},
    {"div", cebus_div, ref_div, "f", false},
    {"pow", cebus_pow, ref_pow, "f", false},
    {"maximum", cebus_maximum, ref_maximum, "fib", false},
    {"minimum", cebus_minimum, ref_minimum, "fib", false},
    {"fmod", cebus_fmod, ref_fmod, "f", false},
    {"remainder", cebus_remainder, ref_remainder, "f", false},
    {"eq", cebus_eq, ref_eq, "fib", true},
    {"ne", cebus_ne, ref_ne, "fib", true},
    {"lt", cebus_lt, ref_lt, "fib", true},
    {"le", cebus_le, ref_le, "fib", true},
    {"gt", cebus_gt, ref_gt, "fib", true},
    {"ge", cebus_ge, ref_ge, "fib", true},
};

static double tolerance(cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F32:
        return 2e-7;
    case CEBUS_F64:
        return 1e-15;
    case CEBUS_F16:
        return 0x1.1p-11;
    case CEBUS_BF16:
        return 0x1.1p-8;
    default:
        return 0;
    }
}

/* The element of `x` that stands at element `i` of the common shape. */
static double element(const cebus_test_array *x, const cebus_test_array *common, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int d = common->ndim - 1; d >= 0; d--) {
        int64_t coordinate = i % common->shape[d];
        int own = d - (common->ndim - x->ndim);
        i /= common->shape[d];
        if (own < 0)
            continue;
        at += x->shape[own] == 1 ? 0 : coordinate * step;
        step *= x->shape[own];
    }
    return x->values[at];
}

/* An array to be filled with what is expected, of the common shape. */
static cebus_test_array expected(const cebus_test_array *a, const cebus_test_array *b)
{
    cebus_test_array want = {.ndim = a->ndim > b->ndim ? a->ndim : b->ndim, .numel = 1};
    for (int d = 0; d < want.ndim; d++) {
        int in_a = d - (want.ndim - a->ndim), in_b = d - (want.ndim - b->ndim);
        int64_t m = in_a < 0 ? 1 : a->shape[in_a], n = in_b < 0 ? 1 : b->shape[in_b];
        want.shape[d] = m == 1 ? n : m;
        want.numel *= want.shape[d];
    }
    want.values = malloc(((size_t)want.numel + 1) * sizeof *want.values);
    return want;
}

/* What becomes of a result that the type cannot hold. */
static double stored(cebus_dtype dtype, double value)
{
    switch (dtype) {
    case CEBUS_BOOL:
        return value != 0;
    case CEBUS_U8:
        return value - 256 * floor(value / 256);
    case CEBUS_F16:
        return fabs(value) < 65520 ? value : value * INFINITY;
    default:
        return value;
    }
}

static void check(cebus_test *t, const function *f, const cebus_test_array *a,
                  const cebus_test_array *b)
{
    cebus_dtype out_dtype = f->compares ? CEBUS_BOOL : cebus_tensor_dtype(a->tensor);
    cebus_tensor *out = NULL;
    OK(t, f->run(t->rt, a->tensor, b->tensor, &out));
    cebus_test_array want = expected(a, b);
    for (int64_t i = 0; i < want.numel; i++)
        want.values[i] =
            stored(out_dtype, f->reference(element(a, &want, i), element(b, &want, i)));
    cebus_test_array_expect(t, f->name, out, &want, out_dtype, tolerance(out_dtype));
    cebus_test_array_drop(&want);
}

/* ---- cases --------------------------------------------------------------------------------- */

typedef struct extent {
    int ndim;
    int64_t shape[4];
} extent;
static const extent extents[][2] = {
    {{0, {0}}, {0, {0}}},
    {{1, {1}}, {0, {0}}},
    {{1, {5}}, {1, {5}}},
    {{2, {3, 4}}, {1, {4}}},
    {{2, {1, 4}}, {2, {3, 1}}},
    {{1, {0}}, {1, {1}}},
    {{4, {2, 5, 3, 4}}, {4, {2, 5, 3, 4}}},
    {{4, {2, 5, 3, 4}}, {3, {5, 1, 1}}},
    {{3, {2, 1, 70}}, {3, {1, 3, 70}}},
    {{2, {3, 700}}, {2, {3, 1}}},
};

static bool takes(const function *f, cebus_dtype dtype)
{
    if (cebus_dtype_is_float(dtype))
        return true;
    return strchr(f->dtypes, dtype == CEBUS_BOOL ? 'b' : 'i') != NULL;
}

static void check_dtype(cebus_test *t, cebus_dtype dtype)
{
    size_t pairs = (size_t)CEBUS_WALKS * CEBUS_WALKS;
    for (size_t k = 0; k < LENGTH(extents) * pairs; k++) {
        const extent *e = extents[k / pairs];
        cebus_test_walk walk_a = (cebus_test_walk)(k % CEBUS_WALKS);
        cebus_test_walk walk_b = (cebus_test_walk)(k / CEBUS_WALKS % CEBUS_WALKS);
        cebus_test_array a = cebus_test_array_noise(t, walk_a, dtype, 3, e[0].ndim, e[0].shape);
        cebus_test_array b = cebus_test_array_noise(t, walk_b, dtype, 4, e[1].ndim, e[1].shape);
        for (size_t f = 0; f < LENGTH(functions); f++)
            if (takes(&functions[f], dtype))
                check(t, &functions[f], &a, &b);
        cebus_test_array_drop(&a);
        cebus_test_array_drop(&b);
    }
}

static void float_values(cebus_test *t)
{
    check_dtype(t, CEBUS_F32);
    check_dtype(t, CEBUS_F64);
}

static void narrow_values(cebus_test *t)
{
    check_dtype(t, CEBUS_F16);
    check_dtype(t, CEBUS_BF16);
}

static void integer_values(cebus_test *t)
{
    check_dtype(t, CEBUS_I64);
    check_dtype(t, CEBUS_I32);
    check_dtype(t, CEBUS_U8);
    check_dtype(t, CEBUS_BOOL);
}

/* One row of operands and results of one function. */
static void check_row(cebus_test *t, entry run, cebus_dtype dtype, int64_t n, const double *a,
                      const double *b, const double *want)
{
    cebus_test_array x = cebus_test_array_from(t, dtype, a, 1, &n);
    cebus_test_array y = cebus_test_array_from(t, dtype, b, 1, &n);
    cebus_tensor *out = NULL;
    OK(t, run(t->rt, x.tensor, y.tensor, &out));
    memcpy(x.values, want, (size_t)n * sizeof *want);
    cebus_test_array_expect(t, "row", out, &x, cebus_tensor_dtype(out), 0);
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&y);
}

static void special_values(cebus_test *t)
{
    const double a[] = {NAN, 1, NAN, INFINITY}, b[] = {1, NAN, NAN, 2};
    check_row(t, cebus_maximum, CEBUS_F32, 4, a, b, (const double[]){NAN, NAN, NAN, INFINITY});
    check_row(t, cebus_minimum, CEBUS_F64, 4, a, b, (const double[]){NAN, NAN, NAN, 2});
    check_row(t, cebus_eq, CEBUS_F32, 4, a, b, (const double[]){0, 0, 0, 0});
    check_row(t, cebus_ne, CEBUS_F32, 4, a, b, (const double[]){1, 1, 1, 1});
    check_row(t, cebus_add, CEBUS_U8, 2, (const double[]){250, 3}, (const double[]){10, 4},
              (const double[]){4, 7});
    check_row(t, cebus_sub, CEBUS_U8, 2, (const double[]){3, 9}, (const double[]){4, 4},
              (const double[]){255, 5});
    check_row(t, cebus_add, CEBUS_BOOL, 4, (const double[]){0, 0, 1, 1},
              (const double[]){0, 1, 0, 1}, (const double[]){0, 1, 1, 1});
    const double high[] = {1e300, -1e300, -5.5, 3, -3, 1e308},
                 low[] = {7, 7, 2, INFINITY, INFINITY, 0};
    check_row(t, cebus_fmod, CEBUS_F64, 6, high, low,
              (const double[]){fmod(1e300, 7), -fmod(1e300, 7), -1.5, 3, -3, NAN});
    check_row(t, cebus_remainder, CEBUS_F64, 6, high, low,
              (const double[]){fmod(1e300, 7), 7 - fmod(1e300, 7), 0.5, 3, INFINITY, NAN});
    check_row(t, cebus_pow, CEBUS_I64, 6, (const double[]){3, 2, -1, 1, -1, 0},
              (const double[]){4, -1, -3, -5, -2, 0}, (const double[]){81, 0, -1, 1, 1, 1});
    check_row(t, cebus_add, CEBUS_I32, 1, (const double[]){INT32_MAX}, (const double[]){1},
              (const double[]){INT32_MIN});
}

static void memory_order(cebus_test *t)
{
    const int64_t shape[] = {2, 5, 3, 4}, channels[] = {5, 1, 1};
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_CHANNELS_LAST, CEBUS_F32, 1, 4, shape);
    cebus_tensor *c = cebus_test_tensor(t, CEBUS_F32, 2, 1, 0, 3, channels);
    cebus_tensor *first = NULL, *second = NULL;
    OK(t, cebus_add(t->rt, x.tensor, c, &first));
    OK(t, cebus_add(t->rt, c, x.tensor, &second));
    EXPECT(t, cebus_tensor_view(first)->strides[1] == 1);
    EXPECT(t, cebus_tensor_view(second)->strides[1] == 1);
    cebus_test_same_bits(t, "order of operands", first, second);
    cebus_tensor_release(first);
    cebus_tensor_release(second);
    cebus_tensor_release(c);
    cebus_test_array_drop(&x);
}

/* ---- with a number ------------------------------------------------------------------------- */

typedef cebus_status (*scalar_entry)(cebus_runtime *, cebus_tensor *, double, cebus_tensor **);

typedef struct scalar_function {
    const char *name;
    scalar_entry run;
    double (*reference)(double, double);
    bool integers, compares;
} scalar_function;

static double ref_rsub(double a, double b)
{
    return b - a;
}

static const scalar_function scalar_functions[] = {
    {"add_scalar", cebus_add_scalar, ref_add, true, false},
    {"mul_scalar", cebus_mul_scalar, ref_mul, true, false},
    {"div_scalar", cebus_div_scalar, ref_div, false, false},
    {"rsub_scalar", cebus_rsub_scalar, ref_rsub, true, false},
    {"pow_scalar", cebus_pow_scalar, ref_pow, false, false},
    {"eq_scalar", cebus_eq_scalar, ref_eq, true, true},
    {"ne_scalar", cebus_ne_scalar, ref_ne, true, true},
    {"lt_scalar", cebus_lt_scalar, ref_lt, true, true},
    {"le_scalar", cebus_le_scalar, ref_le, true, true},
    {"gt_scalar", cebus_gt_scalar, ref_gt, true, true},
    {"ge_scalar", cebus_ge_scalar, ref_ge, true, true},
};

static void check_scalar(cebus_test *t, const scalar_function *f, cebus_dtype dtype, double value)
{
    const int64_t shape[] = {3, 5, 2, 4};
    for (int walk = 0; walk < CEBUS_WALKS; walk++) {
        cebus_test_array x = cebus_test_array_noise(t, (cebus_test_walk)walk, dtype, 8, 4, shape);
        cebus_tensor *out = NULL;
        OK(t, f->run(t->rt, x.tensor, value, &out));
        for (int64_t i = 0; i < x.numel; i++)
            x.values[i] = f->reference(x.values[i], value);
        cebus_test_array_expect(t, f->name, out, &x, f->compares ? CEBUS_BOOL : dtype,
                                f->compares ? 0 : tolerance(dtype));
        cebus_test_array_drop(&x);
    }
}

static void scalar_values(cebus_test *t)
{
    const double exponents[] = {2, 0.5, -0.5, -1, 0, 1, 3, 1.5};
    for (size_t f = 0; f < LENGTH(scalar_functions); f++) {
        const scalar_function *s = &scalar_functions[f];
        check_scalar(t, s, CEBUS_F32, 0.75);
        check_scalar(t, s, CEBUS_F64, -1.25);
        check_scalar(t, s, CEBUS_F16, 0.75);
        check_scalar(t, s, CEBUS_BF16, 0.75);
        if (s->integers) {
            check_scalar(t, s, CEBUS_I64, -3);
            check_scalar(t, s, CEBUS_I32, 2);
        }
        if (s->compares)
            check_scalar(t, s, CEBUS_I64, 0.5);
    }
    for (size_t k = 0; k < LENGTH(exponents); k++)
        check_scalar(t, &scalar_functions[4], CEBUS_F64, exponents[k]);
    check_scalar(t, &scalar_functions[4], CEBUS_I64, 3);
}

/* ---- where --------------------------------------------------------------------------------- */

static void check_where(cebus_test *t, cebus_dtype dtype, cebus_test_walk walk)
{
    const int64_t row[] = {4}, column[] = {3, 1}, full[] = {2, 3, 4};
    cebus_test_array c = cebus_test_array_noise(t, walk, CEBUS_BOOL, 1, 3, full);
    cebus_test_array a = cebus_test_array_noise(t, walk, dtype, 2, 2, column);
    cebus_test_array b = cebus_test_array_noise(t, walk, dtype, 3, 1, row);
    cebus_tensor *out = NULL;
    OK(t, cebus_where(t->rt, c.tensor, a.tensor, b.tensor, &out));
    cebus_test_array want = expected(&c, &b);
    for (int64_t i = 0; i < want.numel; i++)
        want.values[i] = element(element(&c, &want, i) != 0 ? &a : &b, &want, i);
    cebus_test_array_expect(t, "where", out, &want, dtype, 0);
    cebus_test_array_drop(&want);
    cebus_test_array_drop(&a);
    cebus_test_array_drop(&b);
    cebus_test_array_drop(&c);
}

static void where_values(cebus_test *t)
{
    for (int dtype = CEBUS_F32; dtype <= CEBUS_BOOL; dtype++)
        for (int walk = 0; walk < CEBUS_WALKS; walk++)
            check_where(t, (cebus_dtype)dtype, (cebus_test_walk)walk);
}

/* ---- gradients ----------------------------------------------------------------------------- */

static cebus_status call(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                         cebus_tensor **out)
{
    return ((const function *)context)->run(rt, in[0], in[1], out);
}

typedef struct scalar_call {
    scalar_entry run;
    double value;
} scalar_call;

static cebus_status call_scalar(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                cebus_tensor **out)
{
    const scalar_call *c = context;
    return c->run(rt, in[0], c->value, out);
}

static cebus_status call_where(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                               cebus_tensor **out)
{
    return cebus_where(rt, context, in[0], in[1], out);
}

/* Both, or only one, require a gradient: what is kept differs. */
static void gradients(cebus_test *t)
{
    for (size_t k = 0; k < 7 * LENGTH(extents) * 3; k++) {
        const function *f = &functions[k % 7];
        const extent *e = extents[k / 7 % LENGTH(extents)];
        size_t who = k / 7 / LENGTH(extents) + 1;
        cebus_tensor *in[2] = {cebus_test_tensor(t, CEBUS_F64, 21, 1, 2, e[0].ndim, e[0].shape),
                               cebus_test_tensor(t, CEBUS_F64, 22, 1, 2, e[1].ndim, e[1].shape)};
        OK(t, cebus_tensor_set_requires_grad(in[0], who & 1));
        OK(t, cebus_tensor_set_requires_grad(in[1], who >> 1 & 1));
        cebus_test_gradient(t, f->name, call, (void *)f, in, 2);
        cebus_tensor_release(in[0]);
        cebus_tensor_release(in[1]);
    }
}

static void scalar_gradients(cebus_test *t)
{
    const double numbers[] = {1.75, 2, 0.5, -0.5, -1, 0};
    for (size_t k = 0; k < 5 * LENGTH(numbers); k++) {
        scalar_call c = {scalar_functions[k % 5].run, numbers[k / 5]};
        if (k % 5 == 2 && c.value == 0)
            continue; /* a division by zero */
        cebus_tensor *x = cebus_test_tensor(t, CEBUS_F64, 5, 1, 2, 2, (const int64_t[]){3, 4});
        OK(t, cebus_tensor_set_requires_grad(x, true));
        cebus_test_gradient(t, scalar_functions[k % 5].name, call_scalar, &c, &x, 1);
        cebus_tensor_release(x);
    }
}

static void where_gradients(cebus_test *t)
{
    cebus_tensor *c = cebus_test_tensor(t, CEBUS_BOOL, 5, 1, 0, 3, (const int64_t[]){2, 3, 4});
    cebus_tensor *in[2] = {cebus_test_tensor(t, CEBUS_F64, 6, 1, 0, 2, (const int64_t[]){3, 1}),
                           cebus_test_tensor(t, CEBUS_F64, 7, 1, 0, 1, (const int64_t[]){4})};
    OK(t, cebus_tensor_set_requires_grad(in[0], true));
    OK(t, cebus_tensor_set_requires_grad(in[1], true));
    cebus_test_gradient(t, "where", call_where, c, in, 2);
    cebus_tensor_release(in[0]);
    cebus_tensor_release(in[1]);
    cebus_tensor_release(c);
}

/* The kinks: ties of maximum share, 0^0 and 0^b have slopes without NaN. */
static void check_slopes(cebus_test *t, entry run, const double *a, const double *b,
                         const double *want)
{
    const int64_t n = 3;
    cebus_tensor *leaf[2] = {cebus_test_from_doubles(t, CEBUS_F64, a, 1, &n),
                             cebus_test_from_doubles(t, CEBUS_F64, b, 1, &n)};
    cebus_tensor *out = NULL, *ones = NULL;
    OK(t, cebus_tensor_set_requires_grad(leaf[0], true));
    OK(t, cebus_tensor_set_requires_grad(leaf[1], true));
    OK(t, run(t->rt, leaf[0], leaf[1], &out));
    OK(t, cebus_full_like(t->rt, out, 1, &ones));
    OK(t, cebus_backward(t->rt, out, ones, false));
    for (int i = 0; i < 2; i++) {
        cebus_tensor *grad = NULL;
        OK(t, cebus_tensor_grad(leaf[i], &grad));
        double *got = cebus_test_doubles(t, grad);
        cebus_test_near(t, "slopes", got, want + (ptrdiff_t)n * i, n, 1e-12, 0);
        free(got);
        cebus_tensor_release(grad);
        cebus_tensor_release(leaf[i]);
    }
    cebus_tensor_release(out);
    cebus_tensor_release(ones);
}

static void kinks(cebus_test *t)
{
    const double a[] = {1, 2, 3}, b[] = {1, 3, 2};
    check_slopes(t, cebus_maximum, a, b, (const double[]){0.5, 0, 1, 0.5, 1, 0});
    check_slopes(t, cebus_minimum, a, b, (const double[]){0.5, 1, 0, 0.5, 0, 1});
    check_slopes(t, cebus_pow, (const double[]){0, 0, 2}, (const double[]){0, 2, 0},
                 (const double[]){0, 0, 0, 0, 0, log(2)});
}

/* ---- errors -------------------------------------------------------------------------------- */

static void check_errors(cebus_test *t, const function *f, cebus_tensor *const *x)
{
    cebus_tensor *out = NULL;
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[2, 3] and [4]", f->run(t->rt, x[0], x[1], &out));
    EXPECT(t, out == NULL);
    FAILS(t, CEBUS_DTYPE_MISMATCH, "f32 [2, 3] and i64 [3]", f->run(t->rt, x[0], x[2], &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, f->name, f->run(t->rt, NULL, x[0], &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "input 1", f->run(t->rt, x[0], NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", f->run(t->rt, x[0], x[0], NULL));
    if (!strchr(f->dtypes, 'b'))
        FAILS(t, CEBUS_DTYPE_MISMATCH, "bool [3]", f->run(t->rt, x[3], x[3], &out));
    if (!strchr(f->dtypes, 'i') && f->run != cebus_pow)
        FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast()", f->run(t->rt, x[2], x[2], &out));
}

static void errors(cebus_test *t)
{
    cebus_tensor *out = NULL;
    cebus_tensor *x[] = {cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, (const int64_t[]){2, 3}),
                         cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, (const int64_t[]){4}),
                         cebus_test_tensor(t, CEBUS_I64, 1, 1, 0, 1, (const int64_t[]){3}),
                         cebus_test_tensor(t, CEBUS_BOOL, 1, 1, 0, 1, (const int64_t[]){3})};
    for (size_t f = 0; f < LENGTH(functions); f++)
        check_errors(t, &functions[f], x);
    FAILS(t, CEBUS_DTYPE_MISMATCH, "0.5", cebus_add_scalar(t->rt, x[2], 0.5, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast()", cebus_div_scalar(t->rt, x[2], 2, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "bool [3]", cebus_mul_scalar(t->rt, x[3], 2, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_pow_scalar(t->rt, NULL, 2, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "condition", cebus_where(t->rt, x[0], x[0], x[0], &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "f32 [2, 3] and i64 [3]",
          cebus_where(t->rt, x[3], x[0], x[2], &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4] and [3]", cebus_where(t->rt, x[3], x[1], x[1], &out));
    for (size_t i = 0; i < LENGTH(x); i++)
        cebus_tensor_release(x[i]);
}

const cebus_case cebus_cases_binary[] = {
    {"binary: floats", float_values},
    {"binary: narrow floats", narrow_values},
    {"binary: integers and bool", integer_values},
    {"binary: special values", special_values},
    {"binary: memory order", memory_order},
    {"binary: with a number", scalar_values},
    {"binary: where", where_values},
    {"binary: gradients", gradients},
    {"binary: gradients with a number", scalar_gradients},
    {"binary: gradients of where", where_gradients},
    {"binary: kinks", kinks},
    {"binary: errors", errors},
    {NULL, NULL},
};
