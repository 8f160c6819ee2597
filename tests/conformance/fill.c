/*
 * Tensors made from a number.
 */
#include <math.h>
#include <stdlib.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void expect_all(cebus_test *t, const char *what, cebus_tensor *got, cebus_dtype dtype,
                       int64_t n, double want)
{
    if (!got) {
        cebus_test_fail(t, __FILE__, __LINE__, "%s: %s", what, cebus_last_error()->message);
        return;
    }
    double *values = cebus_test_doubles(t, got);
    EXPECT(t, cebus_tensor_dtype(got) == dtype);
    EXPECT(t, cebus_tensor_numel(got) == n);
    for (int64_t i = 0; values && i < n; i++)
        cebus_test_near(t, what, &values[i], &want, 1, 0, 0);
    free(values);
    cebus_tensor_release(got);
}

static void constants(cebus_test *t)
{
    const int64_t shape[] = {3, 1, 5}, empty[] = {2, 0}, large[] = {40000};
    for (int k = CEBUS_F32; k <= CEBUS_BOOL; k++) {
        cebus_dtype dtype = (cebus_dtype)k;
        cebus_tensor *out = NULL;
        OK(t, cebus_full(t->rt, 3, dtype, 3, shape, &out));
        expect_all(t, "full", out, dtype, 15, dtype == CEBUS_BOOL ? 1 : 3);
        OK(t, cebus_ones(t->rt, dtype, 0, NULL, &out));
        expect_all(t, "ones", out, dtype, 1, 1);
        OK(t, cebus_zeros(t->rt, dtype, 1, large, &out));
        expect_all(t, "zeros", out, dtype, 40000, 0);
        OK(t, cebus_empty(t->rt, dtype, 2, empty, &out));
        expect_all(t, "empty, no elements", out, dtype, 0, 0);
        OK(t, cebus_empty(t->rt, dtype, 3, shape, &out));
        expect_all(t, "empty", out, dtype, 15, 0);
    }
}

static void conversions(cebus_test *t)
{
    const struct {
        cebus_dtype dtype;
        double value, want;
    } rows[] = {
        {CEBUS_F32, 0.1, (double)0.1F},
        {CEBUS_F32, 1e300, INFINITY},
        {CEBUS_F64, 0.1, 0.1},
        {CEBUS_F16, 65519.99, 65504},
        {CEBUS_F16, 65520, INFINITY},
        {CEBUS_BF16, 1.00390625, 1},
        {CEBUS_BF16, 1.01171875, 1.015625},
        {CEBUS_I32, -2.75, -2},
        {CEBUS_U8, 255, 255},
        {CEBUS_I64, 0x1p53, 0x1p53},
        {CEBUS_BOOL, 0.25, 1},
        {CEBUS_F64, NAN, NAN},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        cebus_tensor *out = NULL;
        OK(t, cebus_full(t->rt, rows[i].value, rows[i].dtype, 0, NULL, &out));
        expect_all(t, "full", out, rows[i].dtype, 1, rows[i].want);
    }
}

static void like(cebus_test *t)
{
    const int64_t shape[] = {2, 5, 3, 4};
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_CHANNELS_LAST, CEBUS_F32, 1, 4, shape);
    cebus_tensor *out = NULL, *first = NULL;
    OK(t, cebus_full_like(t->rt, x.tensor, 2.5, &out));
    EXPECT(t, cebus_tensor_view(out)->strides[1] == 1);
    expect_all(t, "full_like", out, CEBUS_F32, 120, 2.5);
    OK(t, cebus_select(t->rt, x.tensor, 3, 1, &first));
    OK(t, cebus_zeros_like(t->rt, first, &out));
    EXPECT(t, cebus_tensor_is_contiguous(out));
    expect_all(t, "zeros_like", out, CEBUS_F32, 30, 0);
    cebus_tensor_release(first);
    cebus_test_array_drop(&x);
}

static void ranges(cebus_test *t)
{
    const struct {
        cebus_dtype dtype;
        double start, stop, step;
        int64_t n;
    } rows[] = {
        {CEBUS_F32, 0, 5, 1, 5},        {CEBUS_F64, 1, -1, -0.25, 8},
        {CEBUS_I64, 3, 20000, 7, 2857}, {CEBUS_I32, 5, 5, 1, 0},
        {CEBUS_F32, 5, 0, 1, 0},        {CEBUS_U8, 0, 256, 1, 256},
        {CEBUS_BF16, 0, 10, 0.5, 20},   {CEBUS_F16, -3, 3, 2, 3},
        {CEBUS_F64, 0, 1, 0.1, 10},     {CEBUS_I64, -70000, 0, 2, 35000},
    };
    for (size_t k = 0; k < LENGTH(rows); k++) {
        cebus_tensor *out = NULL;
        OK(t, cebus_arange(t->rt, rows[k].start, rows[k].stop, rows[k].step, rows[k].dtype, &out));
        EXPECT(t, cebus_tensor_ndim(out) == 1);
        EXPECT(t, cebus_tensor_numel(out) == rows[k].n);
        EXPECT(t, cebus_tensor_dtype(out) == rows[k].dtype);
        double *got = cebus_test_doubles(t, out);
        for (int64_t i = 0; got && i < cebus_tensor_numel(out); i++)
            EXPECT(t, got[i] == rows[k].start + (double)i * rows[k].step);
        free(got);
        cebus_tensor_release(out);
    }
}

static void errors(cebus_test *t)
{
    cebus_tensor *out = NULL;
    const int64_t negative[] = {2, -1}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    const int64_t deep[9] = {0};
    cebus_status (*const makers[])(cebus_runtime *, cebus_dtype, int, const int64_t *,
                                   cebus_tensor **) = {cebus_zeros, cebus_ones, cebus_empty};
    for (size_t i = 0; i < LENGTH(makers); i++) {
        FAILS(t, CEBUS_INVALID_ARGUMENT, "[2, -1]", makers[i](t->rt, CEBUS_F32, 2, negative, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "2^62", makers[i](t->rt, CEBUS_F32, 2, huge, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "9 dimensions",
              makers[i](t->rt, CEBUS_F32, 9, deep, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "-1 dim", makers[i](t->rt, CEBUS_F32, -1, deep, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "shape is NULL",
              makers[i](t->rt, CEBUS_F32, 1, NULL, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "99", makers[i](t->rt, (cebus_dtype)99, 0, NULL, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "runtime", makers[i](NULL, CEBUS_F32, 0, NULL, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "out", makers[i](t->rt, CEBUS_F32, 0, NULL, NULL));
        EXPECT(t, out == NULL);
    }
    FAILS(t, CEBUS_INVALID_ARGUMENT, "256", cebus_full(t->rt, 256, CEBUS_U8, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "i32", cebus_full(t->rt, 3e9, CEBUS_I32, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "nan", cebus_full(t->rt, NAN, CEBUS_I64, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_zeros_like(t->rt, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "zero", cebus_arange(t->rt, 0, 1, 0, CEBUS_F32, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "finite", cebus_arange(t->rt, 0, NAN, 1, CEBUS_F32, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "2^62", cebus_arange(t->rt, 0, 1e300, 1, CEBUS_F32, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "u8", cebus_arange(t->rt, 0, 300, 1, CEBUS_U8, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "bool", cebus_arange(t->rt, 0, 2, 1, CEBUS_BOOL, &out));
}

const cebus_case cebus_cases_fill[] = {
    {"fill: constants", constants}, {"fill: conversions", conversions},
    {"fill: like another", like},   {"fill: ranges", ranges, CEBUS_READS_VALUES},
    {"fill: errors", errors},       {NULL, NULL},
};
