/*
 * Random tensors: Philox against its published test vectors, moments and bounds of what is drawn,
 * the stream's order, dropout.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eager/rng.h"
#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Known answers of the reference implementation (Random123 kat_vectors, philox4x32 10), those
 * whose upper counter words are zero. */
static void philox(cebus_test *t)
{
    cebus_philox block = cebus_philox_block(0, 0);
    EXPECT(t, block.word[0] == 0x6627E8D5);
    EXPECT(t, block.word[1] == 0xE169C58D);
    EXPECT(t, block.word[2] == 0xBC57AC4C);
    EXPECT(t, block.word[3] == 0x9B00DBD8);
    EXPECT(t, cebus_philox_float(UINT32_MAX) == 1 - 0x1p-24F);
    EXPECT(t, cebus_philox_double(UINT32_MAX, UINT32_MAX) == 1 - 0x1p-53);
    EXPECT(t, cebus_philox_double(0, UINT32_C(1) << 11) == 0x1p-53);
}

typedef struct moments {
    double mean, variance, low, high, lag; /* lag: correlation of neighbours */
} moments;

static moments measure(const double *x, int64_t n)
{
    moments m = {.low = x[0], .high = x[0]};
    for (int64_t i = 0; i < n; i++) {
        m.mean += x[i] / (double)n;
        m.low = fmin(m.low, x[i]);
        m.high = fmax(m.high, x[i]);
    }
    for (int64_t i = 0; i < n; i++) {
        m.variance += (x[i] - m.mean) * (x[i] - m.mean) / (double)n;
        m.lag += i ? (x[i] - m.mean) * (x[i - 1] - m.mean) / (double)n : 0;
    }
    m.lag /= m.variance;
    return m;
}

/* Takes over `x`; checks mean and variance within five standard errors. */
static moments expect_moments(cebus_test *t, cebus_tensor *x, double mean, double variance)
{
    int64_t n = cebus_tensor_numel(x);
    double *values = cebus_test_doubles(t, x);
    moments m = values ? measure(values, n) : (moments){.mean = NAN};
    double error = 5 / sqrt((double)n);
    /* Storage in bf16 rounds by up to 2^-9 of each value. */
    EXPECT(t, fabs(m.mean - mean) < error * sqrt(variance) + 0x1p-9 * fabs(mean));
    EXPECT(t, fabs(m.variance - variance) < error * 2 * variance);
    EXPECT(t, fabs(m.lag) < error);
    free(values);
    cebus_tensor_release(x);
    return m;
}

static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16};

static void normal(cebus_test *t)
{
    const int64_t shape[] = {101, 1003};
    for (size_t i = 0; i < LENGTH(floats); i++) {
        cebus_tensor *x = NULL;
        OK(t, cebus_randn(t->rt, floats[i], 2, shape, &x));
        EXPECT(t, cebus_tensor_dtype(x) == floats[i]);
        moments m = expect_moments(t, x, 0, 1);
        EXPECT(t, m.low < -3.5 && m.low > -9);
        EXPECT(t, m.high > 3.5 && m.high < 9);
    }
}

static void uniform(cebus_test *t)
{
    const int64_t shape[] = {101, 1003};
    for (size_t i = 0; i < LENGTH(floats); i++) {
        cebus_tensor *x = NULL;
        OK(t, cebus_uniform(t->rt, (cebus_uniform_range){-1, 3}, floats[i], 2, shape, &x));
        moments m = expect_moments(t, x, 1, 16.0 / 12);
        EXPECT(t, m.low >= -1 && m.low < -0.99);
        EXPECT(t, m.high <= 3 && m.high > 2.98);
    }
}

static void bernoulli(cebus_test *t)
{
    const int64_t shape[] = {101, 1003};
    for (int k = CEBUS_F32; k <= CEBUS_BOOL; k++) {
        cebus_tensor *x = NULL;
        OK(t, cebus_bernoulli(t->rt, 0.3, (cebus_dtype)k, 2, shape, &x));
        EXPECT(t, cebus_tensor_dtype(x) == (cebus_dtype)k);
        moments m = expect_moments(t, x, 0.3, 0.21);
        EXPECT(t, m.low == 0 && m.high == 1);
        double *values = NULL;
        for (int p = 0; p < 2; p++) {
            OK(t, cebus_bernoulli(t->rt, p, (cebus_dtype)k, 2, shape, &x));
            values = cebus_test_doubles(t, x);
            for (int64_t i = 0; values && i < cebus_tensor_numel(x); i++)
                EXPECT(t, values[i] == p);
            free(values);
            cebus_tensor_release(x);
        }
    }
}

/* Equal seeds, whatever the number of threads, give equal streams; calls do not repeat; empty and
 * tiny shapes work. */
static void stream(cebus_test *t)
{
    const int64_t shape[] = {30011}, empty[] = {0}, three[] = {3};
    cebus_tensor *x[2][4] = {{NULL}};
    cebus_test other[2] = {{.name = t->name}, {.name = t->name}};
    for (int k = 0; k < 2; k++) {
        cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
        options.threads = k ? 3 : 1;
        OK(t, cebus_runtime_create(&options, &other[k].rt));
        cebus_manual_seed(other[k].rt, 1234);
        OK(t, cebus_randn(other[k].rt, CEBUS_F32, 1, shape, &x[k][0]));
        OK(t, cebus_randn(other[k].rt, CEBUS_F32, 1, empty, &x[k][1]));
        OK(t, cebus_randn(other[k].rt, CEBUS_F64, 1, three, &x[k][2]));
        OK(t, cebus_randn(other[k].rt, CEBUS_F32, 1, shape, &x[k][3]));
    }
    for (int i = 0; i < 4; i++)
        cebus_test_same_bits(t, "equal seeds", x[0][i], x[1][i]);
    double *first = cebus_test_doubles(t, x[0][0]), *last = cebus_test_doubles(t, x[0][3]);
    int64_t equal = 0;
    for (int64_t i = 0; first && last && i < shape[0]; i++)
        equal += first[i] == last[i];
    EXPECT(t, equal < 10);
    free(first);
    free(last);
    cebus_tensor *again = NULL;
    cebus_manual_seed(other[0].rt, 1234);
    OK(t, cebus_randn(other[0].rt, CEBUS_F32, 1, shape, &again));
    cebus_test_same_bits(t, "seeded again", again, x[0][0]);
    cebus_tensor_release(again);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 4; i++)
            cebus_tensor_release(x[k][i]);
        cebus_runtime_destroy(other[k].rt);
    }
}

/* ---- dropout ------------------------------------------------------------------------------- */

static void check_dropout(cebus_test *t, cebus_dtype dtype, cebus_test_walk walk)
{
    const int64_t shape[] = {8, 25, 10, 10};
    cebus_test_array x = cebus_test_array_noise(t, walk, dtype, 3, 4, shape);
    cebus_tensor *out = NULL;
    OK(t, cebus_dropout(t->rt, x.tensor, 0.25, true, &out));
    double *got = cebus_test_doubles(t, out);
    int64_t kept = 0;
    for (int64_t i = 0; got && i < x.numel; i++) {
        EXPECT(t, got[i] == 0 || fabs(got[i] - x.values[i] / 0.75) <= 0.01 * fabs(got[i]));
        kept += got[i] != 0;
    }
    EXPECT(t, fabs((double)kept / (double)x.numel - 0.75) < 0.02);
    free(got);
    cebus_tensor_release(out);
    cebus_test_array_drop(&x);
}

static void dropout_values(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(floats); i++)
        for (int walk = 0; walk < CEBUS_WALKS; walk++)
            check_dropout(t, floats[i], (cebus_test_walk)walk);
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, (const int64_t[]){50});
    cebus_tensor *out = NULL;
    OK(t, cebus_dropout(t->rt, x, 0.5, false, &out));
    EXPECT(t, out == x);
    cebus_tensor_release(out);
    OK(t, cebus_dropout(t->rt, x, 0, true, &out));
    EXPECT(t, out == x);
    cebus_tensor_release(out);
    OK(t, cebus_dropout(t->rt, x, 1, true, &out));
    double *got = cebus_test_doubles(t, out);
    for (int i = 0; got && i < 50; i++)
        EXPECT(t, got[i] == 0);
    free(got);
    cebus_tensor_release(out);
    cebus_tensor_release(x);
}

/* The same mask every time: the function under the gradient check must be one function. */
static cebus_status seeded_dropout(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                   cebus_tensor **out)
{
    cebus_manual_seed(rt, 99);
    return cebus_dropout(rt, in[0], *(const double *)context, true, out);
}

static void dropout_gradient(cebus_test *t)
{
    double p[] = {0.4, 1};
    for (int i = 0; i < 2; i++) {
        cebus_tensor *x = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 2, (const int64_t[]){6, 10});
        OK(t, cebus_tensor_set_requires_grad(x, true));
        cebus_test_gradient(t, "dropout", seeded_dropout, &p[i], &x, 1);
        cebus_tensor_release(x);
    }
}

static void errors(cebus_test *t)
{
    cebus_tensor *out = NULL;
    cebus_uniform_range backwards = {1, 0}, endless = {-INFINITY, 0}, nan = {0, NAN};
    cebus_tensor *whole = cebus_test_tensor(t, CEBUS_I64, 1, 3, 0, 1, (const int64_t[]){3});
    const int64_t bad[] = {-2};
    FAILS(t, CEBUS_INVALID_ARGUMENT, "i64", cebus_randn(t->rt, CEBUS_I64, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "[-2]", cebus_randn(t->rt, CEBUS_F32, 1, bad, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "runtime", cebus_randn(NULL, CEBUS_F32, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", cebus_randn(t->rt, CEBUS_F32, 0, NULL, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "[1, 0)",
          cebus_uniform(t->rt, backwards, CEBUS_F32, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "finite",
          cebus_uniform(t->rt, endless, CEBUS_F32, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "finite", cebus_uniform(t->rt, nan, CEBUS_F32, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "bool", cebus_uniform(t->rt, nan, CEBUS_BOOL, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "[0, 1]",
          cebus_bernoulli(t->rt, 1.5, CEBUS_F32, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "[0, 1]", cebus_dropout(t->rt, whole, -0.1, true, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "[0, 1]", cebus_dropout(t->rt, whole, NAN, true, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "i64 [3]", cebus_dropout(t->rt, whole, 0.1, true, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_dropout(t->rt, NULL, 0.1, true, &out));
    EXPECT(t, out == NULL);
    cebus_tensor_release(whole);
}

const cebus_case cebus_cases_random[] = {
    {"random: philox", philox},
    {"random: normal", normal, CEBUS_READS_VALUES},
    {"random: uniform", uniform, CEBUS_READS_VALUES},
    {"random: bernoulli", bernoulli, CEBUS_READS_VALUES},
    {"random: stream", stream},
    {"random: dropout", dropout_values, CEBUS_READS_VALUES},
    {"random: gradient of dropout", dropout_gradient},
    {"random: errors", errors},
    {NULL, NULL},
};
