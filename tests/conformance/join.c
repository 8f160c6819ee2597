/*
 * Ops that move elements. Every result is compared bit for bit with elements fetched one by one
 * from the coordinates that PyTorch's definitions name.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/sample.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const cebus_dtype all_types[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16,
                                        CEBUS_I64, CEBUS_I32, CEBUS_U8,  CEBUS_BOOL};

static void coordinates_of(int64_t i, shape s, int64_t *out)
{
    for (int d = s.ndim - 1; d >= 0; d--) {
        out[d] = i % s.size[d];
        i /= s.size[d];
    }
}

static int64_t position_of(const int64_t *coordinates, shape s)
{
    int64_t position = 0;
    for (int d = 0; d < s.ndim; d++)
        position = position * s.size[d] + coordinates[d];
    return position;
}

/* --- cat and stack ------------------------------------------------------------------------ */

enum {
    MOST = 200
};

/* `n` tensors of shape `s`, the i-th of length lengths[i % 3] in `dim`, one after another. */
static void check_cat(cebus_test *t, shape s, int dim, size_t n, const int64_t *lengths,
                      cebus_dtype dtype)
{
    sample parts[MOST];
    cebus_tensor *tensors[MOST], *out = NULL;
    shape result = s;
    int64_t begin = 0;
    result.size[dim] = 0;
    for (size_t i = 0; i < n; i++) {
        s.size[dim] = lengths[i % 3];
        parts[i] = sample_make(t, (cebus_test_layout)(i % CEBUS_TEST_LAYOUTS), dtype, i, s);
        tensors[i] = parts[i].tensor;
        result.size[dim] += s.size[dim];
    }
    OK(t, cebus_cat(t->rt, tensors, n, dim - s.ndim, &out));
    EXPECT(t, cebus_tensor_is_contiguous(out));
    double *want = malloc(((size_t)shape_count(result) + 1) * sizeof *want);
    for (size_t i = 0; i < n; i++) {
        s.size[dim] = lengths[i % 3];
        for (int64_t k = 0; k < shape_count(s); k++) {
            int64_t at[CEBUS_MAX_DIMS];
            coordinates_of(k, s, at);
            at[dim] += begin;
            want[position_of(at, result)] = parts[i].values[k];
        }
        begin += s.size[dim];
        sample_drop(&parts[i]);
    }
    sample_expect(t, "cat", out, want, result);
    free(want);
}

static void cat_values(cebus_test *t)
{
    static const shape shapes[] = {{1, {1}}, {2, {4, 5}}, {3, {2, 3, 4}}, {4, {2, 3, 1, 2}}};
    static const int64_t lengths[][3] = {{2, 1, 3}, {1, 0, 4}, {0, 0, 0}};
    for (size_t s = 0; s < LENGTH(shapes); s++)
        for (int dim = 0; dim < shapes[s].ndim; dim++)
            for (size_t l = 0; l < LENGTH(lengths); l++)
                check_cat(t, shapes[s], dim, 3, lengths[l], CEBUS_F32);
    for (size_t d = 0; d < LENGTH(all_types); d++)
        check_cat(t, shapes[2], 1, 5, lengths[0], all_types[d]);
    check_cat(t, shapes[1], 1, 1, lengths[0], CEBUS_F64);
    check_cat(t, shapes[1], 0, 64, lengths[0], CEBUS_F32);
    check_cat(t, shapes[1], 0, 200, lengths[0], CEBUS_F32);
    check_cat(t, (shape){2, {300, 1}}, 1, 3, (const int64_t[]){70, 20, 90}, CEBUS_F32);
}

/* Images with channels innermost stay so, whatever the dimension. */
static void cat_channels_last(cebus_test *t)
{
    static const shape channels_inner = {4, {2, 5, 4, 3}};
    sample a = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 1, channels_inner);
    sample b = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 2, channels_inner);
    static const int to_nchw[] = {0, 3, 1, 2};
    cebus_tensor *images[2], *out = NULL;
    double want[2 * 6 * 5 * 4];
    OK(t, cebus_permute(t->rt, a.tensor, to_nchw, &images[0]));
    OK(t, cebus_permute(t->rt, b.tensor, to_nchw, &images[1]));
    OK(t, cebus_cat(t->rt, images, 2, 1, &out));
    EXPECT(t, cebus_tensor_view(out)->strides[1] == 1);
    for (int i = 0; i < 2 * 6 * 20; i++) {
        int image = i / 120, channel = i / 20 % 6, pixel = i % 20;
        const double *from = channel < 3 ? a.values : b.values;
        want[i] = from[(image * 20 + pixel) * 3 + channel % 3];
    }
    sample_expect(t, "channels-last", out, want, (shape){4, {2, 6, 5, 4}});
    cebus_tensor_release(images[0]);
    cebus_tensor_release(images[1]);
    sample_drop(&a);
    sample_drop(&b);
}

static void check_stack(cebus_test *t, shape s, int dim, size_t n, cebus_dtype dtype)
{
    sample parts[MOST];
    cebus_tensor *tensors[MOST], *out = NULL;
    shape result = {s.ndim + 1, {0}};
    for (int d = 0; d < result.ndim; d++)
        result.size[d] = d == dim ? (int64_t)n : s.size[d < dim ? d : d - 1];
    for (size_t i = 0; i < n; i++) {
        parts[i] = sample_make(t, (cebus_test_layout)(i % CEBUS_TEST_LAYOUTS), dtype, i, s);
        tensors[i] = parts[i].tensor;
    }
    OK(t, cebus_stack(t->rt, tensors, n, dim - result.ndim, &out));
    double *want = malloc(((size_t)shape_count(result) + 1) * sizeof *want);
    for (int64_t k = 0; k < shape_count(result); k++) {
        int64_t at[CEBUS_MAX_DIMS], from[CEBUS_MAX_DIMS];
        coordinates_of(k, result, at);
        for (int d = 0; d < s.ndim; d++)
            from[d] = at[d < dim ? d : d + 1];
        want[k] = parts[at[dim]].values[position_of(from, s)];
    }
    sample_expect(t, "stack", out, want, result);
    free(want);
    for (size_t i = 0; i < n; i++)
        sample_drop(&parts[i]);
}

static void stack_values(cebus_test *t)
{
    static const shape shapes[] = {{0, {0}}, {1, {4}}, {2, {4, 5}}, {3, {2, 0, 4}}, {3, {2, 3, 4}}};
    for (size_t s = 0; s < LENGTH(shapes); s++)
        for (int dim = 0; dim <= shapes[s].ndim; dim++)
            check_stack(t, shapes[s], dim, 3, CEBUS_F32);
    for (size_t d = 0; d < LENGTH(all_types); d++)
        check_stack(t, shapes[2], 1, 2, all_types[d]);
    check_stack(t, shapes[2], 1, 130, CEBUS_F32);
}

static void join_errors(cebus_test *t)
{
    sample a = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 1, (shape){2, {4, 5}});
    sample b = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 1, (shape){2, {4, 6}});
    sample c = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_I64, 1, (shape){2, {4, 5}});
    cebus_tensor *shapes[] = {a.tensor, b.tensor}, *types[] = {a.tensor, c.tensor};
    cebus_tensor *holes[] = {a.tensor, NULL}, *out = NULL;
    cebus_runtime *rt = t->rt;
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 6]", cebus_cat(rt, shapes, 2, 0, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 6]", cebus_stack(rt, shapes, 2, 0, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "i64", cebus_cat(rt, types, 2, 0, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast", cebus_stack(rt, types, 2, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "tensor 1 is NULL", cebus_cat(rt, holes, 2, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "got 0", cebus_cat(rt, shapes, 0, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "4097", cebus_cat(rt, shapes, 4097, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_stack(rt, NULL, 2, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "dimension 2", cebus_cat(rt, shapes, 2, 2, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "dimension -4", cebus_stack(rt, shapes, 2, -4, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", cebus_cat(rt, shapes, 2, 0, NULL));
    EXPECT(t, out == NULL);
    sample_drop(&a);
    sample_drop(&b);
    sample_drop(&c);
}

/* --- pad ---------------------------------------------------------------------------------- */

static void check_pad(cebus_test *t, shape s, int n_pads, const int64_t *pads, cebus_dtype dtype,
                      cebus_test_layout layout)
{
    sample x = sample_make(t, layout, dtype, 4, s);
    shape result = s;
    cebus_tensor *out = NULL;
    double value = dtype == CEBUS_BOOL ? 1 : 7;
    for (int i = 0; i < n_pads; i++)
        result.size[s.ndim - 1 - i / 2] += pads[i];
    OK(t, cebus_pad(t->rt, x.tensor, n_pads, pads, value, &out));
    double *want = malloc(((size_t)shape_count(result) + 1) * sizeof *want);
    for (int64_t k = 0; k < shape_count(result); k++) {
        int64_t at[CEBUS_MAX_DIMS];
        bool inside = true;
        coordinates_of(k, result, at);
        for (int i = 0; i < n_pads; i += 2)
            at[s.ndim - 1 - i / 2] -= pads[i];
        for (int d = 0; d < s.ndim; d++)
            inside = inside && at[d] >= 0 && at[d] < s.size[d];
        want[k] = inside ? x.values[position_of(at, s)] : value;
    }
    sample_expect(t, "pad", out, want, result);
    free(want);
    sample_drop(&x);
}

static void pad_values(cebus_test *t)
{
    static const int64_t pads[][6] = {
        {1, 2, 0, 0, 0, 0},   {0, 0, 3, 1, 0, 2},  {1, 1, 1, 1, 1, 1}, {-1, 2, 0, -1, 1, 0},
        {-2, -2, 0, 0, 0, 0}, {0, -4, 2, 0, 0, 0}, {0, 0, 0, 0, 0, 0}};
    for (size_t p = 0; p < LENGTH(pads); p++)
        for (cebus_test_layout layout = 0; layout < CEBUS_TEST_LAYOUTS; layout++) {
            check_pad(t, (shape){3, {2, 3, 4}}, 6, pads[p], CEBUS_F32, layout);
            check_pad(t, (shape){4, {2, 1, 3, 5}}, 4, pads[p], CEBUS_F64, layout);
        }
    for (size_t d = 0; d < LENGTH(all_types); d++)
        check_pad(t, (shape){2, {3, 4}}, 4, pads[2], all_types[d], CEBUS_TEST_PLAIN);
    check_pad(t, (shape){0, {0}}, 0, NULL, CEBUS_F32, CEBUS_TEST_PLAIN);
    check_pad(t, (shape){2, {0, 4}}, 4, pads[2], CEBUS_F32, CEBUS_TEST_PLAIN);
    check_pad(t, (shape){4, {3, 4, 50, 60}}, 4, pads[2], CEBUS_F32, CEBUS_TEST_PLAIN);
}

static void pad_keeps_channels_last(cebus_test *t)
{
    sample x = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 1, (shape){4, {1, 2, 2, 3}});
    cebus_tensor *image = NULL, *out = NULL;
    double want[3 * 2 * 3] = {0};
    OK(t, cebus_permute(t->rt, x.tensor, (const int[]){0, 3, 1, 2}, &image));
    OK(t, cebus_pad(t->rt, image, 2, (const int64_t[]){1, 0}, 0, &out));
    EXPECT(t, cebus_tensor_view(out)->strides[1] == 1);
    for (int channel = 0; channel < 3; channel++)
        for (int pixel = 0; pixel < 4; pixel++)
            want[channel * 6 + pixel / 2 * 3 + pixel % 2 + 1] = x.values[pixel * 3 + channel];
    sample_expect(t, "pad", out, want, (shape){4, {1, 3, 2, 3}});
    cebus_tensor_release(image);
    sample_drop(&x);
}

static void pad_errors(cebus_test *t)
{
    sample x = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_U8, 4, (shape){2, {3, 4}});
    static const int64_t pads[] = {1, 1, 1, 1, 1, 1}, cut[] = {-3, -2}, most[] = {INT64_MAX, 1};
    static const int64_t least[] = {INT64_MIN, 1}, shift[] = {-5, 5};
    cebus_tensor *out = NULL;
    cebus_runtime *rt = t->rt;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "got 3", cebus_pad(rt, x.tensor, 3, pads, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "got 6", cebus_pad(rt, x.tensor, 6, pads, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "got -2", cebus_pad(rt, x.tensor, -2, pads, 0, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[3, 4]", cebus_pad(rt, x.tensor, 2, cut, 0, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[3, 4]", cebus_pad(rt, x.tensor, 2, shift, 0, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[3, 4]", cebus_pad(rt, x.tensor, 2, most, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out of range", cebus_pad(rt, x.tensor, 2, least, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "u8", cebus_pad(rt, x.tensor, 2, pads, 256, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "u8", cebus_pad(rt, x.tensor, 2, pads, NAN, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_pad(rt, NULL, 2, pads, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_pad(rt, x.tensor, 2, NULL, 0, &out));
    EXPECT(t, out == NULL);
    sample_drop(&x);
}

/* --- roll --------------------------------------------------------------------------------- */

static int64_t wrap(int64_t value, int64_t length)
{
    return (value % length + length) % length;
}

static void check_roll(cebus_test *t, shape s, int n, const int64_t *shifts, const int *dims,
                       cebus_dtype dtype, cebus_test_layout layout)
{
    sample x = sample_make(t, layout, dtype, 4, s);
    cebus_tensor *out = NULL;
    OK(t, cebus_roll(t->rt, x.tensor, n, shifts, dims, &out));
    double *want = malloc(((size_t)shape_count(s) + 1) * sizeof *want);
    for (int64_t k = 0; k < shape_count(s); k++) {
        int64_t at[CEBUS_MAX_DIMS];
        coordinates_of(k, s, at);
        for (int i = 0; dims && i < n; i++) {
            int d = dims[i] < 0 ? dims[i] + s.ndim : dims[i];
            at[d] = wrap(at[d] + shifts[i], s.size[d]);
        }
        int64_t to = dims ? position_of(at, s) : wrap(k + shifts[0], shape_count(s));
        want[to] = x.values[k];
    }
    sample_expect(t, "roll", out, want, s);
    free(want);
    sample_drop(&x);
}

static void roll_values(cebus_test *t)
{
    static const shape cube = {3, {3, 4, 5}};
    for (cebus_test_layout layout = 0; layout < CEBUS_TEST_LAYOUTS; layout++) {
        check_roll(t, cube, 1, (int64_t[]){2}, (int[]){1}, CEBUS_F32, layout);
        check_roll(t, cube, 1, (int64_t[]){-1}, (int[]){-1}, CEBUS_F32, layout);
        check_roll(t, cube, 2, (int64_t[]){1, -7}, (int[]){0, 2}, CEBUS_F64, layout);
        check_roll(t, cube, 3, (int64_t[]){1, 2, 3}, (int[]){0, 1, 2}, CEBUS_F32, layout);
        check_roll(t, cube, 3, (int64_t[]){1, 1, 3}, (int[]){1, 1, -2}, CEBUS_F32, layout);
        check_roll(t, cube, 1, (int64_t[]){7}, NULL, CEBUS_F32, layout);
        check_roll(t, cube, 1, (int64_t[]){-61}, NULL, CEBUS_F32, layout);
        check_roll(t, cube, 1, (int64_t[]){INT64_MIN}, (int[]){0}, CEBUS_F32, layout);
    }
    for (size_t d = 0; d < LENGTH(all_types); d++)
        check_roll(t, cube, 2, (int64_t[]){1, 2}, (int[]){0, 2}, all_types[d], CEBUS_TEST_PLAIN);
    check_roll(t, (shape){0, {0}}, 1, (int64_t[]){3}, NULL, CEBUS_F32, CEBUS_TEST_PLAIN);
    check_roll(t, (shape){2, {0, 4}}, 1, (int64_t[]){3}, (int[]){0}, CEBUS_F32, CEBUS_TEST_PLAIN);
    check_roll(t, (shape){2, {300, 200}}, 2, (int64_t[]){9, 9}, (int[]){0, 1}, CEBUS_F32,
               CEBUS_TEST_PLAIN);
}

static void roll_errors(cebus_test *t)
{
    sample x = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 4, (shape){2, {3, 4}});
    static const int64_t shifts[] = {1, 1};
    cebus_tensor *out = NULL;
    cebus_runtime *rt = t->rt;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "dimension 2",
          cebus_roll(rt, x.tensor, 1, shifts, (const int[]){2}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "got 2", cebus_roll(rt, x.tensor, 2, shifts, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "got 0",
          cebus_roll(rt, x.tensor, 0, shifts, (const int[]){0}, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_roll(rt, NULL, 1, shifts, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_roll(rt, x.tensor, 1, NULL, NULL, &out));
    EXPECT(t, out == NULL);
    sample_drop(&x);
}

/* --- gradients ---------------------------------------------------------------------------- */

static cebus_status call_cat(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                             cebus_tensor **out)
{
    return cebus_cat(rt, in, 3, *(int *)context, out);
}

static cebus_status call_stack(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                               cebus_tensor **out)
{
    return cebus_stack(rt, in, 3, *(int *)context, out);
}

static cebus_status call_pad(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                             cebus_tensor **out)
{
    return cebus_pad(rt, in[0], 4, context, 3, out);
}

static cebus_status call_roll(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                              cebus_tensor **out)
{
    return cebus_roll(rt, in[0], 2, context, (const int[]){2, 0}, out);
}

static cebus_status call_roll_flat(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                   cebus_tensor **out)
{
    return cebus_roll(rt, in[0], 1, context, NULL, out);
}

static void gradients(cebus_test *t)
{
    cebus_tensor *in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = cebus_test_strided_noise(t, (cebus_test_layout)i, CEBUS_F64, (uint64_t)i, 3,
                                         (const int64_t[]){2, 3, 4});
        if (!in[i])
            return;
        /* The middle one gets no gradient: the others must not shift. */
        OK(t, cebus_tensor_set_requires_grad(in[i], i != 1));
    }
    for (int dim = 0; dim < 3; dim++)
        cebus_test_gradient(t, "cat", call_cat, &dim, in, 3);
    for (int dim = 0; dim < 4; dim++)
        cebus_test_gradient(t, "stack", call_stack, &dim, in, 3);
    cebus_test_gradient(t, "pad", call_pad, (int64_t[]){1, 2, 0, 1}, in, 1);
    cebus_test_gradient(t, "crop", call_pad, (int64_t[]){-1, 2, 1, -1}, in, 1);
    cebus_test_gradient(t, "no border", call_pad, (int64_t[]){0, 0, 0, 0}, in, 1);
    cebus_test_gradient(t, "roll", call_roll, (int64_t[]){1, -1}, in, 1);
    cebus_test_gradient(t, "roll flat", call_roll_flat, (int64_t[]){5}, in + 2, 1);
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(in[i]);
}

/* Joining more tensors than a call takes is differentiable too, and a tensor may come twice. */
static void gradients_of_many(cebus_test *t)
{
    cebus_tensor *many[100], *out = NULL, *grad = NULL;
    cebus_tensor *x =
        cebus_test_strided_noise(t, CEBUS_TEST_PLAIN, CEBUS_F64, 3, 1, (const int64_t[]){2});
    cebus_tensor *weights =
        cebus_test_strided_noise(t, CEBUS_TEST_PLAIN, CEBUS_F64, 4, 1, (const int64_t[]){200});
    double want[2] = {0};
    if (!x || !weights)
        return;
    for (int i = 0; i < 100; i++)
        many[i] = x;
    for (int i = 0; i < 200; i++)
        want[i % 2] += cebus_test_noise(4, (uint64_t)i);
    OK(t, cebus_tensor_set_requires_grad(x, true));
    OK(t, cebus_cat(t->rt, many, 100, 0, &out));
    OK(t, cebus_backward(t->rt, out, weights, false));
    OK(t, cebus_tensor_grad(x, &grad));
    double *got = cebus_test_doubles(t, grad);
    if (got)
        cebus_test_near(t, "gradient", got, want, 2, 1e-12, 1e-12);
    free(got);
    cebus_tensor_release(grad);
    cebus_tensor_release(out);
    cebus_tensor_release(weights);
    cebus_tensor_release(x);
}

const cebus_case cebus_cases_join[] = {
    {"join/cat_values", cat_values},
    {"join/cat_channels_last", cat_channels_last},
    {"join/stack_values", stack_values},
    {"join/join_errors", join_errors},
    {"join/pad_values", pad_values},
    {"join/pad_keeps_channels_last", pad_keeps_channels_last},
    {"join/pad_errors", pad_errors},
    {"join/roll_values", roll_values},
    {"join/roll_errors", roll_errors},
    {"join/gradients", gradients},
    {"join/gradients_of_many", gradients_of_many},
    {NULL, NULL},
};
