/*
 * Functions of one number against libm in double, in every type and memory order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef cebus_status (*entry)(cebus_runtime *, cebus_tensor *, cebus_tensor **);

/* ---- reference ----------------------------------------------------------------------------- */

static double ref_neg(double x)
{
    return -x;
}
static double ref_sign(double x)
{
    return (x > 0) - (x < 0);
}
static double ref_square(double x)
{
    return x * x;
}
static double ref_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static double ref_reciprocal(double x)
{
    return 1 / x;
}
static double ref_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}
static double ref_relu(double x)
{
    return x <= 0 ? 0 : x;
}
static double ref_gelu(double x)
{
    return 0.5 * x * erfc(-x / sqrt(2));
}
static double ref_gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
static double ref_silu(double x)
{
    return x / (1 + exp(-x));
}
static cebus_status leaky_tenth(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    return cebus_leaky_relu(rt, x, 0.1, out);
}
static double ref_leaky(double x)
{
    return x > 0 ? x : 0.1 * x;
}
static cebus_status clamp_half(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    return cebus_clamp(rt, x, -1, 0.75, out);
}
static double ref_clamp(double x)
{
    return x < -1 ? -1 : x > 0.75 ? 0.75 : x;
}

typedef struct function {
    const char *name;
    entry run;
    double (*reference)(double);
    bool integers;
    bool positive; /* where a gradient exists */
} function;

static const function functions[] = {
    {"neg", cebus_neg, ref_neg, true, false},
    {"sign", cebus_sign, ref_sign, true, false},
    {"abs", cebus_abs, fabs, true, false},
    {"square", cebus_square, ref_square, true, false},
    {"relu", cebus_relu, ref_relu, true, false},
    {"exp", cebus_exp, exp, false, false},
    {"log", cebus_log, log, false, true},
    {"sqrt", cebus_sqrt, sqrt, false, true},
    {"rsqrt", cebus_rsqrt, ref_rsqrt, false, true},
    {"reciprocal", cebus_reciprocal, ref_reciprocal, false, true},
    {"sin", cebus_sin, sin, false, false},
    {"cos", cebus_cos, cos, false, false},
    {"erf", cebus_erf, erf, false, false},
    {"tanh", cebus_tanh, tanh, false, false},
    {"sigmoid", cebus_sigmoid, ref_sigmoid, false, false},
    {"gelu", cebus_gelu, ref_gelu, false, false},
    {"gelu_tanh", cebus_gelu_tanh, ref_gelu_tanh, false, false},
    {"silu", cebus_silu, ref_silu, false, false},
    {"leaky_relu", leaky_tenth, ref_leaky, false, false},
    {"clamp", clamp_half, ref_clamp, false, false},
};

/* Half a unit in the last place of the narrow types; a few of the wide ones. */
static double tolerance(cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F32:
        return 4e-7;
    case CEBUS_F64:
        return 4e-15;
    case CEBUS_F16:
        return 0x1.1p-11;
    case CEBUS_BF16:
        return 0x1.1p-8;
    default:
        return 0;
    }
}

static void check(cebus_test *t, const function *f, cebus_test_array *x)
{
    cebus_dtype dtype = cebus_tensor_dtype(x->tensor);
    cebus_tensor *out = NULL;
    OK(t, f->run(t->rt, x->tensor, &out));
    for (int64_t i = 0; i < x->numel; i++)
        x->values[i] = f->reference(x->values[i]);
    cebus_test_array_expect(t, f->name, out, x, dtype, tolerance(dtype));
}

/* ---- cases --------------------------------------------------------------------------------- */

typedef struct extent {
    int ndim;
    int64_t shape[4];
} extent;
static const extent extents[] = {
    {0, {0}}, {1, {0}}, {1, {1}}, {2, {3, 1}}, {2, {3, 67}}, {4, {2, 5, 3, 4}}, {4, {2, 0, 3, 1}},
};

static void check_types(cebus_test *t, const cebus_dtype *dtypes, size_t n, bool integers)
{
    for (size_t f = 0; f < LENGTH(functions); f++) {
        if (integers && !functions[f].integers)
            continue;
        for (size_t k = 0; k < n * CEBUS_WALKS * LENGTH(extents); k++) {
            const extent *e = &extents[k % LENGTH(extents)];
            cebus_test_walk walk = (cebus_test_walk)(k / LENGTH(extents) % CEBUS_WALKS);
            cebus_dtype dtype = dtypes[k / LENGTH(extents) / CEBUS_WALKS];
            cebus_test_array x = cebus_test_array_noise(t, walk, dtype, f, e->ndim, e->shape);
            check(t, &functions[f], &x);
            cebus_test_array_drop(&x);
        }
    }
}

static void float_values(cebus_test *t)
{
    check_types(t, (const cebus_dtype[]){CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16}, 4, false);
}

/* u8 has no negative numbers; the reference of neg would have to wrap. */
static void integer_values(cebus_test *t)
{
    check_types(t, (const cebus_dtype[]){CEBUS_I64, CEBUS_I32}, 2, true);
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_U8, 5, 1, (const int64_t[]){40});
    cebus_tensor *out = NULL;
    OK(t, cebus_neg(t->rt, x.tensor, &out));
    for (int64_t i = 0; i < x.numel; i++)
        x.values[i] = fmod(256 - x.values[i], 256);
    cebus_test_array_expect(t, "neg u8", out, &x, CEBUS_U8, 0);
    cebus_test_array_drop(&x);
}

/* Numbers of all magnitudes, infinities and NaN; f32 within 3 units in the last place. */
static void accuracy(cebus_test *t)
{
    enum {
        N = 40000
    };
    double *values = malloc(N * sizeof *values);
    if (!values)
        return;
    for (int i = 0; i < N; i++)
        values[i] = (i & 1 ? -1 : 1) * exp(90.0 * (2 * i - N) / (2 * N)) * (1 + 0.3 * (i % 3));
    values[0] = INFINITY;
    values[1] = -INFINITY;
    values[2] = NAN;
    values[3] = 0.0;
    values[4] = -0.0;
    static const char *const checked[] = {"exp", "log", "tanh", "sigmoid", "erf", "sqrt"};
    for (size_t f = 0; f < LENGTH(functions); f++) {
        bool is_checked = false;
        for (size_t k = 0; k < LENGTH(checked); k++)
            is_checked = is_checked || strcmp(functions[f].name, checked[k]) == 0;
        if (!is_checked)
            continue;
        cebus_test_array x = cebus_test_array_from(t, CEBUS_F32, values, 1, (const int64_t[]){N});
        cebus_tensor *out = NULL;
        OK(t, functions[f].run(t->rt, x.tensor, &out));
        double *got = cebus_test_doubles(t, out);
        for (int i = 0; i < N; i++)
            x.values[i] = (double)(float)functions[f].reference(x.values[i]);
        cebus_test_near(t, functions[f].name, got, x.values, N, 3 * 0x1p-23, 3 * 0x1p-149);
        free(got);
        cebus_tensor_release(out);
        cebus_test_array_drop(&x);
    }
    free(values);
}

static void special_values(cebus_test *t)
{
    const double in[] = {NAN, INFINITY, -INFINITY, -0.0, 0.0};
    const struct {
        entry run;
        double want[5];
    } rows[] = {
        {cebus_relu, {NAN, INFINITY, 0, 0, 0}},
        {cebus_sign, {0, 1, -1, 0, 0}},
        {cebus_abs, {NAN, INFINITY, INFINITY, 0, 0}},
        {cebus_gelu, {NAN, INFINITY, NAN, 0, 0}},
        {leaky_tenth, {NAN, INFINITY, -INFINITY, 0, 0}},
        {clamp_half, {NAN, 0.75, -1, 0, 0}},
        {cebus_sin, {NAN, NAN, NAN, 0, 0}},
    };
    for (size_t k = 0; k < 2 * LENGTH(rows); k++) {
        cebus_dtype dtype = k & 1 ? CEBUS_F64 : CEBUS_F32;
        cebus_test_array x = cebus_test_array_from(t, dtype, in, 1, (const int64_t[]){5});
        cebus_tensor *out = NULL;
        OK(t, rows[k / 2].run(t->rt, x.tensor, &out));
        memcpy(x.values, rows[k / 2].want, sizeof rows[k / 2].want);
        cebus_test_array_expect(t, "special values", out, &x, dtype, 0);
        cebus_test_array_drop(&x);
    }
}

static void clamp_bounds(cebus_test *t)
{
    const double in[] = {-7, -2, -1, 0, 1, 3, 9};
    const double want[] = {-1, -1, -1, 0, 1, 2, 2};
    cebus_test_array x = cebus_test_array_from(t, CEBUS_I32, in, 1, (const int64_t[]){7});
    cebus_tensor *out = NULL;
    OK(t, cebus_clamp(t->rt, x.tensor, -1.5, 2.5, &out));
    memcpy(x.values, want, sizeof want);
    cebus_test_array_expect(t, "integers within bounds", out, &x, CEBUS_I32, 0);
    OK(t, cebus_clamp(t->rt, x.tensor, -INFINITY, INFINITY, &out));
    memcpy(x.values, in, sizeof in);
    cebus_test_array_expect(t, "open ends", out, &x, CEBUS_I32, 0);
    cebus_test_array_drop(&x);
}

/* Dense inputs keep their memory order; others become row-major. */
static void memory_order(cebus_test *t)
{
    const int64_t shape[] = {2, 5, 3, 4};
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_CHANNELS_LAST, CEBUS_F32, 1, 4, shape);
    cebus_tensor *out = NULL, *sliced = NULL, *plain = NULL;
    OK(t, cebus_exp(t->rt, x.tensor, &out));
    EXPECT(t, cebus_tensor_view(out)->strides[1] == 1);
    EXPECT(t, cebus_tensor_view(out)->strides[0] == 60);
    OK(t, cebus_slice(t->rt, x.tensor, 1, 0, 3, 1, &sliced));
    OK(t, cebus_exp(t->rt, sliced, &plain));
    EXPECT(t, cebus_tensor_is_contiguous(plain));
    cebus_tensor_release(plain);
    cebus_tensor_release(sliced);
    cebus_tensor_release(out);
    cebus_test_array_drop(&x);
}

/* ---- gradients ----------------------------------------------------------------------------- */

static cebus_status call(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                         cebus_tensor **out)
{
    return ((const function *)context)->run(rt, in[0], out);
}

static void gradients(cebus_test *t)
{
    for (size_t f = 0; f < LENGTH(functions); f++) {
        double shift = functions[f].positive ? 3 : 0;
        cebus_tensor *x = cebus_test_tensor(t, CEBUS_F64, f, 2, shift, 2, (const int64_t[]){7, 8});
        OK(t, cebus_tensor_set_requires_grad(x, true));
        cebus_test_gradient(t, functions[f].name, call, (void *)&functions[f], &x, 1);
        cebus_tensor_release(x);
    }
}

/* The gradient of sum(w f(x)) as doubles, x of `dtype`, w an expanded number: not dense. */
static double *gradient_in(cebus_test *t, const function *f, cebus_dtype dtype, const double *x,
                           int64_t n)
{
    cebus_tensor *leaf = cebus_test_from_doubles(t, dtype, x, 1, &n);
    cebus_tensor *one = cebus_test_from_doubles(t, dtype, (const double[]){0.5}, 0, NULL);
    cebus_tensor *weights = NULL, *out = NULL, *grad = NULL;
    double *values = NULL;
    if (cebus_tensor_set_requires_grad(leaf, true) == CEBUS_OK &&
        cebus_expand(t->rt, one, 1, &n, &weights) == CEBUS_OK &&
        f->run(t->rt, leaf, &out) == CEBUS_OK &&
        cebus_backward(t->rt, out, weights, false) == CEBUS_OK &&
        cebus_tensor_grad(leaf, &grad) == CEBUS_OK && grad)
        values = cebus_test_doubles(t, grad);
    else
        cebus_test_fail(t, __FILE__, __LINE__, "%s: %s", f->name, cebus_last_error()->message);
    cebus_tensor_release(grad);
    cebus_tensor_release(out);
    cebus_tensor_release(weights);
    cebus_tensor_release(one);
    cebus_tensor_release(leaf);
    return values;
}

static void narrow_gradients(cebus_test *t)
{
    enum {
        N = 70
    };
    double x[N];
    const cebus_dtype dtypes[] = {CEBUS_F32, CEBUS_BF16};
    const double rtol[] = {4e-6, 0.03};
    for (int i = 0; i < N; i++) /* exact in bf16 */
        x[i] = (i + 1) * 0.0625;
    for (size_t k = 0; k < 2 * LENGTH(functions); k++) {
        const function *f = &functions[k / 2];
        double *want = gradient_in(t, f, CEBUS_F64, x, N);
        double *got = gradient_in(t, f, dtypes[k & 1], x, N);
        if (want && got)
            cebus_test_near(t, f->name, got, want, N, rtol[k & 1], rtol[k & 1]);
        free(want);
        free(got);
    }
}

/* ---- threads and errors -------------------------------------------------------------------- */

/* Many elements on one thread and on three. */
static void thread_count(cebus_test *t)
{
    const int64_t shape[] = {211, 503};
    cebus_tensor *out[2] = {NULL, NULL};
    cebus_test other[2] = {{.name = t->name}, {.name = t->name}};
    for (int k = 0; k < 2; k++) {
        cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
        options.threads = k ? 3 : 1;
        OK(t, cebus_runtime_create(&options, &other[k].rt));
        cebus_tensor *x = cebus_test_tensor(&other[k], CEBUS_F32, 3, 4, 0, 2, shape);
        cebus_tensor *flipped = NULL;
        OK(t, cebus_transpose(other[k].rt, x, 0, 1, &flipped));
        OK(t, cebus_gelu(other[k].rt, flipped, &out[k]));
        cebus_tensor_release(flipped);
        cebus_tensor_release(x);
    }
    cebus_test_same_bits(t, "one thread and three", out[0], out[1]);
    for (int k = 0; k < 2; k++) {
        cebus_tensor_release(out[k]);
        cebus_runtime_destroy(other[k].rt);
    }
}

static void errors(cebus_test *t)
{
    cebus_tensor *out = NULL;
    cebus_tensor *whole = cebus_test_tensor(t, CEBUS_I64, 1, 3, 0, 1, (const int64_t[]){3});
    cebus_tensor *truth = cebus_test_tensor(t, CEBUS_BOOL, 1, 3, 0, 1, (const int64_t[]){3});
    for (size_t f = 0; f < LENGTH(functions); f++) {
        FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast()", functions[f].run(t->rt, truth, &out));
        EXPECT(t, out == NULL);
        if (!functions[f].integers && functions[f].run != clamp_half)
            FAILS(t, CEBUS_DTYPE_MISMATCH, "i64 [3]", functions[f].run(t->rt, whole, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, functions[f].name, functions[f].run(t->rt, NULL, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "runtime", functions[f].run(NULL, whole, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "out", functions[f].run(t->rt, whole, NULL));
    }
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NaN", cebus_clamp(t->rt, whole, NAN, 1, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NaN", cebus_clamp(t->rt, whole, 0, NAN, &out));
    cebus_tensor_release(whole);
    cebus_tensor_release(truth);
}

const cebus_case cebus_cases_unary[] = {
    {"unary: floats", float_values},
    {"unary: integers", integer_values},
    {"unary: accuracy", accuracy},
    {"unary: special values", special_values},
    {"unary: clamp", clamp_bounds},
    {"unary: memory order", memory_order},
    {"unary: gradients", gradients},
    {"unary: gradients of narrow types", narrow_gradients},
    {"unary: thread count", thread_count},
    {"unary: errors", errors},
    {NULL, NULL},
};
