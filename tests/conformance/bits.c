/*
 * What devices share as inline functions gives the same bits on all of them: random numbers,
 * elementwise formulas that need no libm, conversions, optimizer steps. Each is computed on the
 * device and on the CPU. (What is not a number is so on both, in bits of the processor's own.)
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/harness.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Odd, and enough for more than one block. */
static const int64_t shape[] = {3, 677};

/* Makes a tensor on the runtime of `t`; NULL on failure. */
typedef cebus_tensor *(*maker)(cebus_test *t, cebus_dtype dtype);

static void *bytes_of(cebus_test *t, cebus_tensor *x, size_t *out_bytes)
{
    *out_bytes = x ? (size_t)cebus_tensor_numel(x) * cebus_dtype_size(cebus_tensor_dtype(x)) : 0;
    void *data = malloc(*out_bytes + 1);
    if (!data || !x || cebus_tensor_to_host(x, data, *out_bytes) != CEBUS_OK) {
        cebus_test_fail(t, __FILE__, __LINE__, "%s", cebus_last_error()->message);
        free(data);
        return NULL;
    }
    return data;
}

/* The same bits, or not a number on both: hardware gives it another sign and payload. */
static bool is_same(cebus_dtype dtype, const char *got, const char *want)
{
    static const struct {
        cebus_dtype dtype;
        uint64_t infinity;
    } floats[] = {{CEBUS_F64, UINT64_C(0x7FF) << 52},
                  {CEBUS_F32, 0x7F800000},
                  {CEBUS_F16, 0x7C00},
                  {CEBUS_BF16, 0x7F80}};
    const size_t size = cebus_dtype_size(dtype);
    uint64_t a = 0, b = 0;
    memcpy(&a, got, size);
    memcpy(&b, want, size);
    if (a == b)
        return true;
    for (size_t i = 0; i < LENGTH(floats); i++)
        if (floats[i].dtype == dtype) {
            const uint64_t unsigned_bits = (UINT64_C(1) << (8 * size - 1)) - 1;
            return (a & unsigned_bits) > floats[i].infinity &&
                   (b & unsigned_bits) > floats[i].infinity;
        }
    return false;
}

/* The bytes of what `make` makes on `device`. */
static void *run_on(cebus_test *t, const char *device, maker make, cebus_dtype dtype,
                    size_t *out_bytes)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    cebus_test there = {.name = t->name, .device = device};
    options.device = device;
    options.seed = 7;
    *out_bytes = 0;
    if (cebus_runtime_create(&options, &there.rt) != CEBUS_OK) {
        cebus_test_fail(t, __FILE__, __LINE__, "no runtime: %s", cebus_last_error()->message);
        return NULL;
    }
    cebus_tensor *x = make(&there, dtype);
    void *data = bytes_of(&there, x, out_bytes);
    cebus_tensor_release(x);
    cebus_runtime_destroy(there.rt);
    if (there.failures)
        cebus_test_fail(t, __FILE__, __LINE__, "on %s: %s", device, there.message);
    return data;
}

static void expect_same(cebus_test *t, const char *what, maker make, cebus_dtype dtype)
{
    size_t bytes, cpu_bytes;
    char *got = run_on(t, t->device, make, dtype, &bytes);
    char *want = run_on(t, "cpu", make, dtype, &cpu_bytes);
    size_t at = 0, size = cebus_dtype_size(dtype);
    EXPECT(t, bytes == cpu_bytes && bytes > 0);
    while (got && want && at < bytes && is_same(dtype, got + at, want + at))
        at += size;
    if (got && want && at < bytes)
        cebus_test_fail(t, __FILE__, __LINE__, "%s of %s: element %zu has other bits", what,
                        cebus_dtype_name(dtype), at / size);
    free(got);
    free(want);
}

/* What a call gave, NULL when it failed. */
static cebus_tensor *made(cebus_test *t, cebus_status status, cebus_tensor **out)
{
    if (status != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "%s", cebus_last_error()->message);
    return out ? *out : NULL;
}

/* --- random numbers ------------------------------------------------------------------------ */

static cebus_tensor *make_normal(cebus_test *t, cebus_dtype dtype)
{
    cebus_tensor *out = NULL;
    return made(t, cebus_randn(t->rt, dtype, 2, shape, &out), &out);
}

static cebus_tensor *make_uniform(cebus_test *t, cebus_dtype dtype)
{
    cebus_tensor *out = NULL;
    cebus_uniform_range range = {-2, 5};
    return made(t, cebus_uniform(t->rt, range, dtype, 2, shape, &out), &out);
}

static cebus_tensor *make_bernoulli(cebus_test *t, cebus_dtype dtype)
{
    cebus_tensor *out = NULL;
    return made(t, cebus_bernoulli(t->rt, 0.3, dtype, 2, shape, &out), &out);
}

static void random_numbers(cebus_test *t)
{
    static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F16, CEBUS_BF16, CEBUS_F64};
    static const cebus_dtype all[] = {CEBUS_F32, CEBUS_F16, CEBUS_BF16, CEBUS_F64,
                                      CEBUS_I64, CEBUS_I32, CEBUS_U8,   CEBUS_BOOL};
    for (size_t i = 0; i < LENGTH(floats); i++) {
        if (floats[i] != CEBUS_F64) /* its sine and logarithm are libm's */
            expect_same(t, "normal", make_normal, floats[i]);
        expect_same(t, "uniform", make_uniform, floats[i]);
    }
    for (size_t i = 0; i < LENGTH(all); i++)
        expect_same(t, "bernoulli", make_bernoulli, all[i]);
}

/* --- elementwise --------------------------------------------------------------------------- */

typedef cebus_status (*unary)(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out);
static unary function; /* of make_unary() */

static cebus_tensor *make_unary(cebus_test *t, cebus_dtype dtype)
{
    cebus_tensor *x = cebus_test_tensor(t, dtype, 3, 9, 0.5, 2, shape), *out = NULL;
    cebus_tensor *result = made(t, function(t->rt, x, &out), &out);
    cebus_tensor_release(x);
    return result;
}

static void functions(cebus_test *t)
{
    static const unary all[] = {cebus_exp,     cebus_log,    cebus_sqrt, cebus_tanh,
                                cebus_sigmoid, cebus_gelu,   cebus_silu, cebus_erf,
                                cebus_relu,    cebus_square, cebus_abs,  cebus_gelu_tanh};
    static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F16, CEBUS_BF16};
    for (size_t i = 0; i < LENGTH(all); i++)
        for (size_t d = 0; d < LENGTH(floats); d++) {
            function = all[i];
            expect_same(t, "a function", make_unary, floats[d]);
        }
}

/* (a / b) b + a, a broadcast by rows. */
static cebus_tensor *make_mixed(cebus_test *t, cebus_dtype dtype)
{
    cebus_tensor *a = cebus_test_tensor(t, dtype, 4, 3, 0, 1, shape + 1);
    cebus_tensor *b = cebus_test_tensor(t, dtype, 5, 3, 0.1, 2, shape);
    cebus_tensor *quotient = NULL, *product = NULL, *out = NULL;
    if (cebus_div(t->rt, a, b, &quotient) == CEBUS_OK &&
        cebus_mul(t->rt, quotient, b, &product) == CEBUS_OK)
        made(t, cebus_add(t->rt, product, a, &out), &out);
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(quotient);
    cebus_tensor_release(product);
    return out;
}

static cebus_dtype source; /* of make_cast() */

static cebus_tensor *make_cast(cebus_test *t, cebus_dtype dtype)
{
    cebus_tensor *x = cebus_test_tensor(t, source, 6, 100, 110, 2, shape), *out = NULL;
    cebus_tensor *result = made(t, cebus_cast(t->rt, x, dtype, &out), &out);
    cebus_tensor_release(x);
    return result;
}

static void elementwise(cebus_test *t)
{
    static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16};
    for (size_t i = 0; i < LENGTH(floats); i++)
        expect_same(t, "a quotient, product and sum", make_mixed, floats[i]);
    for (source = CEBUS_F32; source <= CEBUS_BOOL; source++)
        for (cebus_dtype to = CEBUS_F32; to <= CEBUS_BOOL; to++)
            expect_same(t, "a conversion", make_cast, to);
}

/* gelu(dropout(a)) + b: so many that devices take them in vectors, and some more. Of f64
 * |dropout(a)|
 * + b: there a device has its own gelu. */
static cebus_tensor *make_many(cebus_test *t, cebus_dtype dtype)
{
    static const int64_t many[] = {389, 677};
    cebus_tensor *a = cebus_test_tensor(t, dtype, 4, 3, 0, 2, many);
    cebus_tensor *b = cebus_test_tensor(t, dtype, 5, 3, 0.1, 2, many);
    cebus_tensor *dropped = NULL, *gelu = NULL, *out = NULL;
    if (cebus_dropout(t->rt, a, 0.3, true, &dropped) == CEBUS_OK &&
        (dtype == CEBUS_F64 ? cebus_abs : cebus_gelu)(t->rt, dropped, &gelu) == CEBUS_OK)
        made(t, cebus_add(t->rt, gelu, b, &out), &out);
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(dropped);
    cebus_tensor_release(gelu);
    return out;
}

static void vectors(cebus_test *t)
{
    static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16};
    for (size_t i = 0; i < LENGTH(floats); i++)
        expect_same(t, "many elements", make_many, floats[i]);
}

/* --- optimizer steps ----------------------------------------------------------------------- */

static cebus_tensor *make_adam(cebus_test *t, cebus_dtype dtype)
{
    cebus_adam_options how = CEBUS_ADAM_OPTIONS_INIT;
    cebus_adam_tensors tensors = {
        .param = cebus_test_tensor(t, dtype, 1, 1, 0, 2, shape),
        .grad = cebus_test_tensor(t, dtype, 2, 1, 0, 2, shape),
        .exp_avg = cebus_test_tensor(t, dtype, 3, 1, 0, 2, shape),
        .exp_avg_sq = cebus_test_tensor(t, dtype, 4, 1, 1, 2, shape),
    };
    how.lr = 0.01;
    how.weight_decay = 0.1;
    made(t, cebus_adam_step(t->rt, &tensors, 3, &how), NULL);
    cebus_tensor_release(tensors.grad);
    cebus_tensor_release(tensors.exp_avg);
    cebus_tensor_release(tensors.exp_avg_sq);
    return tensors.param;
}

static void steps(cebus_test *t)
{
    expect_same(t, "a step of Adam", make_adam, CEBUS_F32);
    expect_same(t, "a step of Adam", make_adam, CEBUS_F64);
}

const cebus_case cebus_cases_bits[] = {
    {"bits: random numbers", random_numbers, CEBUS_READS_VALUES},
    {"bits: functions", functions, CEBUS_READS_VALUES},
    {"bits: elementwise", elementwise, CEBUS_READS_VALUES},
    {"bits: vectors", vectors, CEBUS_READS_VALUES},
    {"bits: optimizer steps", steps, CEBUS_READS_VALUES},
    {NULL, NULL},
};
