/*
 * Copies: every type into every other, memory orders, what is not copied at all.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eager/device/half.h"
#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* What becomes of a small number. */
static double converted(double x, cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F32:
        return (double)(float)x;
    case CEBUS_F16:
        return (double)cebus_f16_to_f32(cebus_f16_from_f32((float)x));
    case CEBUS_BF16:
        return (double)cebus_bf16_to_f32(cebus_bf16_from_f32((float)x));
    case CEBUS_F64:
        return x;
    case CEBUS_U8:
        return fmod(trunc(x) + 256, 256);
    case CEBUS_BOOL:
        return x != 0;
    default:
        return trunc(x);
    }
}

static void check_cast(cebus_test *t, cebus_test_array *x, cebus_dtype to)
{
    cebus_dtype from = cebus_tensor_dtype(x->tensor);
    cebus_tensor *out = NULL;
    OK(t, cebus_cast(t->rt, x->tensor, to, &out));
    EXPECT(t, (out == x->tensor) == (from == to));
    for (int64_t i = 0; i < x->numel; i++)
        x->values[i] = converted(x->values[i], to);
    cebus_test_array_expect(t, cebus_dtype_name(to), out, x, to, 0);
}

static void values(cebus_test *t)
{
    static const struct {
        int ndim;
        int64_t shape[4];
    } extents[] = {{0, {0}}, {1, {0}}, {2, {3, 700}}, {4, {2, 5, 3, 4}}};
    for (int from = CEBUS_F32; from <= CEBUS_BOOL; from++)
        for (int to = CEBUS_F32; to <= CEBUS_BOOL; to++)
            for (size_t k = 0; k < LENGTH(extents) * CEBUS_WALKS; k++) {
                size_t e = k / CEBUS_WALKS;
                cebus_test_array x =
                    cebus_test_array_noise(t, (cebus_test_walk)(k % CEBUS_WALKS), (cebus_dtype)from,
                                           k, extents[e].ndim, extents[e].shape);
                check_cast(t, &x, (cebus_dtype)to);
                cebus_test_array_drop(&x);
            }
}

static void check_row(cebus_test *t, cebus_dtype from, cebus_dtype to, const double *in,
                      const double *want)
{
    cebus_test_array x = cebus_test_array_from(t, from, in, 1, (const int64_t[]){5});
    cebus_tensor *out = NULL;
    OK(t, cebus_cast(t->rt, x.tensor, to, &out));
    memcpy(x.values, want, 5 * sizeof *want);
    cebus_test_array_expect(t, "special", out, &x, to, 0);
    cebus_test_array_drop(&x);
}

static void special_values(cebus_test *t)
{
    const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 0.25};
    const double as_i64[] = {0, 0x1p63, -0x1p63, 0, 0};
    check_row(t, CEBUS_F32, CEBUS_I64, odd, as_i64);
    check_row(t, CEBUS_F64, CEBUS_I64, odd, as_i64);
    check_row(t, CEBUS_F64, CEBUS_BOOL, odd, (const double[]){1, 1, 1, 0, 1});
    check_row(t, CEBUS_F64, CEBUS_BF16, odd, odd);
    check_row(t, CEBUS_F32, CEBUS_F16, odd, odd);
    check_row(t, CEBUS_F32, CEBUS_F16, (const double[]){65519, 65520, 0x1p-24, 0x1p-25, 2049},
              (const double[]){65504, INFINITY, 0x1p-24, 0, 2048});
    check_row(t, CEBUS_I64, CEBUS_I32, (const double[]){0x1p32 + 5, -1, 0x1p31, 7, -0x1p33},
              (const double[]){5, -1, -0x1p31, 7, 0});
    check_row(t, CEBUS_I64, CEBUS_BOOL, (const double[]){256, 0, -1, 1, 512},
              (const double[]){1, 0, 1, 1, 1});
}

/* Every bit pattern of the narrow floats survives f32; a NaN stays a NaN. */
static void narrow_floats(cebus_test *t)
{
    enum {
        N = 65536
    };
    const int64_t n = N;
    static uint16_t bits[N], back[N];
    for (int i = 0; i < N; i++)
        bits[i] = (uint16_t)i;
    for (int k = 0; k < 2; k++) {
        cebus_dtype dtype = k ? CEBUS_BF16 : CEBUS_F16;
        unsigned infinity = k ? 0x7F80 : 0x7C00;
        cebus_tensor *x = NULL, *wide = NULL, *narrow = NULL;
        OK(t, cebus_tensor_from_host(t->rt, bits, dtype, 1, &n, &x));
        OK(t, cebus_cast(t->rt, x, CEBUS_F32, &wide));
        OK(t, cebus_cast(t->rt, wide, dtype, &narrow));
        OK(t, cebus_tensor_to_host(narrow, back, sizeof back));
        for (unsigned i = 0; i < N; i++) {
            bool is_nan = (i & 0x7FFF) > infinity;
            EXPECT(t, is_nan ? (back[i] & 0x7FFF) > infinity : back[i] == i);
        }
        cebus_tensor_release(x);
        cebus_tensor_release(wide);
        cebus_tensor_release(narrow);
    }
}

static void copies(cebus_test *t)
{
    const int64_t shape[] = {2, 5, 3, 4};
    for (int walk = 0; walk < CEBUS_WALKS; walk++)
        for (int k = CEBUS_F32; k <= CEBUS_BOOL; k++) {
            cebus_dtype dtype = (cebus_dtype)k;
            cebus_test_array x =
                cebus_test_array_noise(t, (cebus_test_walk)walk, dtype, 1, 4, shape);
            cebus_tensor *copy = NULL, *plain = NULL;
            OK(t, cebus_clone(t->rt, x.tensor, &copy));
            OK(t, cebus_contiguous(t->rt, x.tensor, &plain));
            EXPECT(t, copy != x.tensor);
            EXPECT(t, (plain == x.tensor) == cebus_tensor_is_contiguous(x.tensor));
            EXPECT(t, cebus_tensor_is_contiguous(plain));
            if (walk == CEBUS_WALK_CHANNELS_LAST)
                EXPECT(t, cebus_tensor_view(copy)->strides[1] == 1);
            cebus_test_array_expect(t, "clone", copy, &x, dtype, 0);
            cebus_test_array_expect(t, "contiguous", plain, &x, dtype, 0);
            cebus_test_array_drop(&x);
        }
}

/* Element `i` of x permuted by dims, read from x's own row-major elements. */
static double permuted(const cebus_test_array *x, const int *dims, int64_t i)
{
    int64_t coordinates[3];
    for (int d = 2; d >= 0; d--) {
        coordinates[dims[d]] = i % x->shape[dims[d]];
        i /= x->shape[dims[d]];
    }
    return x
        ->values[(coordinates[0] * x->shape[1] + coordinates[1]) * x->shape[2] + coordinates[2]];
}

/* Large enough for tiles and threads. */
static void transposes(cebus_test *t)
{
    const struct {
        int64_t shape[3];
        int dims[3];
    } rows[] = {
        {{1, 300, 257}, {0, 2, 1}}, {{7, 70, 65}, {2, 0, 1}},  {{33, 5, 130}, {2, 1, 0}},
        {{16, 16, 16}, {1, 2, 0}},  {{3, 1000, 2}, {1, 0, 2}},
    };
    const cebus_dtype dtypes[] = {CEBUS_F32, CEBUS_F64, CEBUS_BF16, CEBUS_U8};
    for (size_t k = 0; k < LENGTH(rows) * LENGTH(dtypes); k++) {
        const int *dims = rows[k / LENGTH(dtypes)].dims;
        cebus_test_array x = cebus_test_array_noise(t, CEBUS_WALK_PLAIN, dtypes[k % LENGTH(dtypes)],
                                                    k, 3, rows[k / LENGTH(dtypes)].shape);
        cebus_tensor *view = NULL, *plain = NULL;
        OK(t, cebus_permute(t->rt, x.tensor, dims, &view));
        OK(t, cebus_contiguous(t->rt, view, &plain));
        EXPECT(t, cebus_tensor_is_contiguous(plain));
        double *got = cebus_test_doubles(t, plain);
        for (int64_t i = 0; got && i < x.numel; i++)
            EXPECT(t, got[i] == permuted(&x, dims, i));
        free(got);
        cebus_tensor_release(plain);
        cebus_tensor_release(view);
        cebus_test_array_drop(&x);
    }
}

/* Steps and repetitions, whose elements are written down here: other tests trust them. */
static void strides(cebus_test *t)
{
    double whole[24], stepped[12], repeated[12];
    for (int i = 0; i < 24; i++)
        whole[i] = i;
    for (int i = 0; i < 12; i++) {
        int row = i / 3;
        stepped[i] = 6 * row + 1 + 2 * (i % 3);
        row = i / 4;
        repeated[i] = row;
    }
    cebus_tensor *x = cebus_test_from_doubles(t, CEBUS_F32, whole, 2, (const int64_t[]){4, 6});
    cebus_tensor *column = cebus_test_from_doubles(t, CEBUS_F32, whole, 2, (const int64_t[]){3, 1});
    cebus_tensor *odd = NULL, *wide = NULL;
    OK(t, cebus_slice(t->rt, x, 1, 1, 6, 2, &odd));
    OK(t, cebus_expand(t->rt, column, 2, (const int64_t[]){3, 4}, &wide));
    double *got[] = {cebus_test_doubles(t, odd), cebus_test_doubles(t, wide)};
    for (int i = 0; i < 12; i++) {
        EXPECT(t, got[0] && got[0][i] == stepped[i]);
        EXPECT(t, got[1] && got[1][i] == repeated[i]);
    }
    free(got[0]);
    free(got[1]);
    cebus_tensor_release(wide);
    cebus_tensor_release(odd);
    cebus_tensor_release(column);
    cebus_tensor_release(x);
}

/* ---- gradients and errors ------------------------------------------------------------------ */

static cebus_status turned_copy(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                cebus_tensor **out)
{
    cebus_tensor *turned = NULL, *plain = NULL;
    (void)context;
    cebus_status status = cebus_transpose(rt, in[0], 0, 1, &turned);
    if (status == CEBUS_OK)
        status = cebus_contiguous(rt, turned, &plain);
    if (status == CEBUS_OK)
        status = cebus_clone(rt, plain, out);
    cebus_tensor_release(turned);
    cebus_tensor_release(plain);
    return status;
}

static void gradients(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 2, (const int64_t[]){4, 3});
    OK(t, cebus_tensor_set_requires_grad(x, true));
    cebus_test_gradient(t, "contiguous and clone", turned_copy, NULL, &x, 1);
    cebus_tensor *narrow = NULL, *weights = NULL, *grad = NULL;
    OK(t, cebus_tensor_set_grad(x, NULL));
    OK(t, cebus_cast(t->rt, x, CEBUS_BF16, &narrow));
    OK(t, cebus_full_like(t->rt, narrow, 0.5, &weights));
    OK(t, cebus_backward(t->rt, narrow, weights, false));
    OK(t, cebus_tensor_grad(x, &grad));
    EXPECT(t, grad && cebus_tensor_dtype(grad) == CEBUS_F64);
    double *got = cebus_test_doubles(t, grad);
    for (int i = 0; got && i < 12; i++)
        EXPECT(t, got[i] == 0.5);
    free(got);
    cebus_tensor_release(grad);
    cebus_tensor_release(weights);
    cebus_tensor_release(narrow);
    cebus_tensor_release(x);
}

static void errors(cebus_test *t)
{
    cebus_tensor *out = NULL;
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 1, (const int64_t[]){3});
    FAILS(t, CEBUS_INVALID_ARGUMENT, "99", cebus_cast(t->rt, x, (cebus_dtype)99, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "input 0", cebus_cast(t->rt, NULL, CEBUS_F64, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", cebus_cast(t->rt, x, CEBUS_F64, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "runtime", cebus_cast(NULL, x, CEBUS_F64, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "input 0", cebus_clone(t->rt, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", cebus_clone(t->rt, x, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "input 0", cebus_contiguous(t->rt, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", cebus_contiguous(t->rt, x, NULL));
    EXPECT(t, out == NULL);
    cebus_tensor_release(x);
}

const cebus_case cebus_cases_cast[] = {
    {"cast: values", values},
    {"cast: special values", special_values},
    {"cast: narrow floats", narrow_floats, CEBUS_READS_VALUES},
    {"cast: clone and contiguous", copies},
    {"cast: transposes", transposes},
    {"cast: steps and repetitions", strides, CEBUS_READS_VALUES},
    {"cast: gradients", gradients, CEBUS_READS_VALUES},
    {"cast: errors", errors},
    {NULL, NULL},
};
