/*
 * Indexing ops against loops over row-major positions. Additions are compared bit for bit: the
 * order in which equal indices are added is part of the contract.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eager/device/half.h"
#include "tests/conformance/sample.h"
#include "tests/support/images.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const cebus_dtype all_types[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16,
                                        CEBUS_I64, CEBUS_I32, CEBUS_U8,  CEBUS_BOOL};
static const cebus_dtype added_types[] = {CEBUS_F32,  CEBUS_F64, CEBUS_F16,
                                          CEBUS_BF16, CEBUS_I64, CEBUS_I32};

/* The row-major position in `to` of the element at row-major position `i` of `from`, with its
 * coordinate in `dim` replaced by `picked`. */
static int64_t moved(int64_t i, shape from, shape to, int dim, int64_t picked)
{
    int64_t result = 0, step = 1;
    for (int d = from.ndim - 1; d >= 0; d--) {
        result += (d == dim ? picked : i % from.size[d]) * step;
        i /= from.size[d];
        step *= to.size[d];
    }
    return result;
}

/* a + b as `dtype` computes it. */
static double add(cebus_dtype dtype, double a, double b)
{
    switch (dtype) {
    case CEBUS_F32:
        return (float)a + (float)b;
    case CEBUS_F16:
        return cebus_f16_to_f32(cebus_f16_from_f32((float)a + (float)b));
    case CEBUS_BF16:
        return cebus_bf16_to_f32(cebus_bf16_from_f32((float)a + (float)b));
    default:
        return a + b;
    }
}

/* A device may add what very many indices share in another order: within roundings. */
static double long_run_tolerance(cebus_dtype dtype)
{
    return dtype == CEBUS_F64 ? 1e-13 : dtype == CEBUS_F32 ? 1e-5 : dtype == CEBUS_F16 ? 0.05 : 0.4;
}

/* Indices in [0, bound), as doubles; many are equal. */
static double *make_indices(uint64_t seed, int64_t bound, int64_t n)
{
    double *values = malloc(((size_t)n + 1) * sizeof *values);
    for (int64_t i = 0; values && i < n; i++)
        values[i] = floor((cebus_test_noise(seed, (uint64_t)i) + 1) / 2 * (double)bound);
    return values;
}

static sample make_index(cebus_test *t, cebus_test_layout layout, cebus_dtype dtype, int64_t bound,
                         shape s)
{
    sample made = {.values = make_indices(41, bound, shape_count(s))};
    if (made.values)
        made.tensor = cebus_test_strided(t, layout, dtype, made.values, s.ndim, s.size);
    return made;
}

/* A result lies densely whatever its inputs do. */
static void expect_dense(cebus_test *t, const char *what, cebus_tensor *got, const double *want,
                         shape s)
{
    EXPECT(t, cebus_tensor_is_contiguous(got));
    sample_expect(t, what, got, want, s);
}

/* --- embedding ---------------------------------------------------------------------------- */

static void check_embedding(cebus_test *t, cebus_dtype dtype, cebus_test_layout layout,
                            cebus_dtype index_type, shape indices, int64_t columns)
{
    const int64_t rows = 7;
    sample weight = sample_make(t, layout, dtype, 3, (shape){2, {rows, columns}});
    sample index = make_index(t, layout, index_type, rows, indices);
    shape result = indices;
    result.size[result.ndim++] = columns;
    double *want = malloc(((size_t)shape_count(result) + 1) * sizeof *want);
    cebus_tensor *out = NULL;
    for (int64_t i = 0; want && weight.values && i < shape_count(result); i++)
        want[i] = weight.values[(int64_t)index.values[i / columns] * columns + i % columns];
    if (cebus_embedding(t->rt, weight.tensor, index.tensor, CEBUS_NO_PADDING, &out) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "embedding: %s", cebus_last_error()->message);
    else if (want)
        expect_dense(t, "embedding", out, want, result);
    free(want);
    sample_drop(&weight);
    sample_drop(&index);
}

static void embedding_values(cebus_test *t)
{
    static const shape indices[] = {{0, {0}}, {1, {5}},       {2, {2, 3}},
                                    {1, {0}}, {3, {2, 1, 3}}, {2, {3, 0}}};
    for (size_t s = 0; s < LENGTH(indices); s++)
        for (cebus_test_layout layout = 0; layout < CEBUS_TEST_LAYOUTS; layout++) {
            check_embedding(t, CEBUS_F32, layout, CEBUS_I64, indices[s], 4);
            check_embedding(t, CEBUS_F32, layout, CEBUS_I32, indices[s], 1);
            check_embedding(t, CEBUS_F64, layout, CEBUS_I64, indices[s], 33);
            check_embedding(t, CEBUS_F64, layout, CEBUS_I64, indices[s], 0);
        }
    for (size_t d = 0; d < LENGTH(all_types); d++)
        check_embedding(t, all_types[d], CEBUS_TEST_PLAIN, CEBUS_I64, (shape){2, {3, 5}}, 9);
}

/* An expanded index: every row of the batch names the same rows. */
static void embedding_expanded_index(cebus_test *t)
{
    sample weight = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 3, (shape){2, {7, 3}});
    sample index = make_index(t, CEBUS_TEST_PLAIN, CEBUS_I64, 7, (shape){1, {4}});
    cebus_tensor *wide = NULL, *out = NULL;
    double want[2 * 4 * 3];
    OK(t, cebus_expand(t->rt, index.tensor, 2, (const int64_t[]){2, 4}, &wide));
    OK(t, cebus_embedding(t->rt, weight.tensor, wide, 2, &out));
    for (int i = 0; i < 24; i++)
        want[i] = weight.values[(int)index.values[i / 3 % 4] * 3 + i % 3];
    expect_dense(t, "expanded", out, want, (shape){3, {2, 4, 3}});
    cebus_tensor_release(wide);
    sample_drop(&weight);
    sample_drop(&index);
}

/* What adding `grad` rows at the indices comes to, in the order of the indices. */
static double *embedding_grad_reference(cebus_dtype dtype, const sample *index, int64_t n,
                                        const double *grad, shape weight, int64_t padding)
{
    int64_t columns = weight.size[1];
    double *want = calloc((size_t)shape_count(weight) + 1, sizeof *want);
    for (int64_t i = 0; want && i < n; i++) {
        int64_t row = (int64_t)index->values[i];
        for (int64_t c = 0; row != padding && c < columns; c++) {
            double *sum = &want[row * columns + c];
            *sum = add(dtype, *sum, grad[i * columns + c]);
        }
    }
    return want;
}

static void check_embedding_grad(cebus_test *t, cebus_dtype dtype, cebus_test_layout layout,
                                 shape weight_shape, shape indices, int64_t padding)
{
    sample weight = sample_make(t, CEBUS_TEST_PLAIN, dtype, 3, weight_shape);
    sample index = make_index(t, layout, CEBUS_I64, weight_shape.size[0], indices);
    shape result = indices;
    result.size[result.ndim++] = weight_shape.size[1];
    sample grad = sample_make(t, layout, dtype, 9, result);
    cebus_tensor *out = NULL, *got = NULL;
    double *want = embedding_grad_reference(dtype, &index, shape_count(indices), grad.values,
                                            weight_shape, padding);
    OK(t, cebus_tensor_set_requires_grad(weight.tensor, true));
    OK(t,
       cebus_embedding(t->rt, weight.tensor, index.tensor, padding - weight_shape.size[0], &out));
    OK(t, cebus_backward(t->rt, out, grad.tensor, false));
    OK(t, cebus_tensor_grad(weight.tensor, &got));
    expect_dense(t, "embedding_backward", got, want, weight_shape);
    cebus_tensor_release(out);
    free(want);
    sample_drop(&weight);
    sample_drop(&index);
    sample_drop(&grad);
}

/* Few rows that very many indices share, and one that is left out; as sums in double. */
static void check_shared_rows(cebus_test *t, cebus_dtype dtype, shape table, shape indices,
                              int64_t padding)
{
    sample weight = sample_make(t, CEBUS_TEST_PLAIN, dtype, 3, table);
    sample index = make_index(t, CEBUS_TEST_PLAIN, CEBUS_I64, table.size[0], indices);
    shape result = indices;
    result.size[result.ndim++] = table.size[1];
    sample grad = sample_make(t, CEBUS_TEST_PLAIN, dtype, 9, result);
    cebus_tensor *out = NULL, *got[2] = {NULL};
    double *want = embedding_grad_reference(CEBUS_F64, &index, shape_count(indices), grad.values,
                                            table, padding);
    OK(t, cebus_tensor_set_requires_grad(weight.tensor, true));
    for (int i = 0; i < 2; i++) {
        OK(t, cebus_tensor_set_grad(weight.tensor, NULL));
        OK(t, cebus_embedding(t->rt, weight.tensor, index.tensor, padding, &out));
        OK(t, cebus_backward(t->rt, out, grad.tensor, false));
        OK(t, cebus_tensor_grad(weight.tensor, &got[i]));
        cebus_tensor_release(out);
    }
    cebus_test_expect_same(t, "embedding_backward again", got[0], got[1]);
    cebus_test_expect(t, "embedding_backward of shared rows", got[0], 2, table.size, want,
                      long_run_tolerance(dtype));
    cebus_tensor_release(got[0]);
    cebus_tensor_release(got[1]);
    free(want);
    sample_drop(&weight);
    sample_drop(&index);
    sample_drop(&grad);
}

static void embedding_shared_rows(cebus_test *t)
{
    static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16};
    for (size_t d = 0; d < LENGTH(floats); d++) {
        check_shared_rows(t, floats[d], (shape){2, {2, 40}}, (shape){2, {20, 50}},
                          CEBUS_NO_PADDING);
        check_shared_rows(t, floats[d], (shape){2, {3, 13}}, (shape){1, {1100}}, 1);
        if (d < 2)
            check_shared_rows(t, floats[d], (shape){2, {1, 3}}, (shape){1, {9001}},
                              CEBUS_NO_PADDING);
        /* Runs just below and above what a device may cut. */
        check_shared_rows(t, floats[d], (shape){2, {9, 24}}, (shape){1, {1152}}, 4);
    }
}

static void embedding_gradients(cebus_test *t)
{
    static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16};
    for (size_t d = 0; d < LENGTH(floats); d++)
        for (cebus_test_layout layout = 0; layout < CEBUS_TEST_LAYOUTS; layout++) {
            check_embedding_grad(t, floats[d], layout, (shape){2, {7, 5}}, (shape){2, {3, 4}}, 2);
            check_embedding_grad(t, floats[d], layout, (shape){2, {3, 1}}, (shape){0, {0}}, 0);
        }
    /* Many threads' worth, in one row of indices and in many. */
    check_embedding_grad(t, CEBUS_F32, CEBUS_TEST_PLAIN, (shape){2, {50, 96}}, (shape){1, {2000}},
                         7);
    check_embedding_grad(t, CEBUS_F32, CEBUS_TEST_PLAIN, (shape){2, {50, 96}}, (shape){2, {40, 50}},
                         7);
    /* A long table. */
    check_embedding_grad(t, CEBUS_F32, CEBUS_TEST_PLAIN, (shape){2, {5000, 3}}, (shape){1, {300}},
                         7);
}

static void embedding_errors(cebus_test *t)
{
    sample weight = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 3, (shape){2, {4, 3}});
    sample cube = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 3, (shape){3, {4, 3, 2}});
    cebus_tensor *high, *low, *real, *out = NULL;
    high = cebus_test_from_doubles(t, CEBUS_I64, (const double[]){0, 3, 4}, 1, (int64_t[]){3});
    low = cebus_test_from_doubles(t, CEBUS_I32, (const double[]){0, -1}, 1, (int64_t[]){2});
    real = cebus_test_from_doubles(t, CEBUS_F32, (const double[]){1}, 1, (int64_t[]){1});
    FAILS_BY_DATA(t, "index 4 at position 2", &out,
                  cebus_embedding(t->rt, weight.tensor, high, CEBUS_NO_PADDING, &out));
    EXPECT(t, strcmp(cebus_last_error()->op, "embedding") == 0);
    EXPECT(t, strstr(cebus_last_error()->message, "[0, 4)") != NULL);
    EXPECT(t, out == NULL);
    FAILS_BY_DATA(t, "index -1 at position 1", &out,
                  cebus_embedding(t->rt, weight.tensor, low, CEBUS_NO_PADDING, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "cebus_cast",
          cebus_embedding(t->rt, weight.tensor, real, CEBUS_NO_PADDING, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 3, 2]",
          cebus_embedding(t->rt, cube.tensor, high, CEBUS_NO_PADDING, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "padding_idx 4",
          cebus_embedding(t->rt, weight.tensor, high, 4, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "padding_idx -5",
          cebus_embedding(t->rt, weight.tensor, high, -5, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "embedding", cebus_embedding(t->rt, NULL, high, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "embedding",
          cebus_embedding(t->rt, weight.tensor, NULL, 0, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", cebus_embedding(t->rt, weight.tensor, high, 0, NULL));
    cebus_tensor_release(high);
    cebus_tensor_release(low);
    cebus_tensor_release(real);
    sample_drop(&weight);
    sample_drop(&cube);
}

/* --- gather and scatter_add --------------------------------------------------------------- */

/* A shape of x, one of the index, and the dimension. */
typedef struct along {
    shape x, index;
    int dim;
} along;

static const along alongs[] = {
    {{1, {6}}, {1, {9}}, 0},
    {{2, {4, 6}}, {2, {4, 6}}, 0},
    {{2, {4, 6}}, {2, {3, 9}}, 1},
    {{2, {4, 6}}, {2, {9, 5}}, 0},
    {{2, {8, 5}}, {2, {8, 1}}, -1},
    {{3, {3, 4, 5}}, {3, {3, 7, 5}}, 1},
    {{3, {3, 4, 5}}, {3, {2, 2, 4}}, 0},
    {{3, {3, 4, 5}}, {3, {3, 4, 2}}, 2},
    {{0, {0}}, {0, {0}}, 0},
    {{2, {4, 6}}, {2, {0, 6}}, 0},
    {{4, {2, 3, 2, 3}}, {4, {2, 4, 2, 3}}, -3},
};

static int64_t bound_of(const along *a, int *out_dim)
{
    *out_dim = a->dim < 0 ? a->dim + a->x.ndim : a->dim;
    return a->x.ndim > 0 ? a->x.size[*out_dim] : 1;
}

static void check_gather(cebus_test *t, const along *a, cebus_dtype dtype, cebus_test_layout layout,
                         cebus_dtype index_type)
{
    int dim;
    int64_t bound = bound_of(a, &dim), n = shape_count(a->index);
    sample x = sample_make(t, layout, dtype, 5, a->x);
    sample index = make_index(t, layout, index_type, bound, a->index);
    double *want = malloc(((size_t)n + 1) * sizeof *want);
    cebus_tensor *out = NULL;
    OK(t, cebus_gather(t->rt, x.tensor, a->dim, index.tensor, &out));
    for (int64_t i = 0; i < n; i++)
        want[i] = x.values[moved(i, a->index, a->x, dim, (int64_t)index.values[i])];
    expect_dense(t, "gather", out, want, a->index);
    free(want);
    sample_drop(&x);
    sample_drop(&index);
}

static void gather_values(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(alongs); i++)
        for (cebus_test_layout layout = 0; layout < CEBUS_TEST_LAYOUTS; layout++) {
            check_gather(t, &alongs[i], CEBUS_F32, layout, CEBUS_I64);
            check_gather(t, &alongs[i], CEBUS_F64, layout, CEBUS_I32);
        }
    for (size_t d = 0; d < LENGTH(all_types); d++)
        check_gather(t, &alongs[5], all_types[d], CEBUS_TEST_PLAIN, CEBUS_I64);
    static const along large[] = {{{2, {300, 200}}, {2, {300, 150}}, 1},
                                  {{2, {300, 200}}, {2, {350, 200}}, 0}};
    for (size_t i = 0; i < LENGTH(large); i++)
        check_gather(t, &large[i], CEBUS_F32, CEBUS_TEST_PLAIN, CEBUS_I64);
}

/* src is one longer than the index in every dimension: the rest of it is not looked at. */
static void check_scatter_add(cebus_test *t, const along *a, cebus_dtype dtype,
                              cebus_test_layout layout, cebus_dtype index_type)
{
    int dim;
    int64_t bound = bound_of(a, &dim);
    bool shared = a->index.size[dim] / bound >= 128;
    shape longer = a->index;
    for (int d = 0; d < longer.ndim; d++)
        longer.size[d]++;
    sample x = sample_make(t, layout, dtype, 5, a->x);
    sample src = sample_make(t, layout, dtype, 6, longer);
    sample index = make_index(t, layout, index_type, bound, a->index);
    cebus_tensor *out = NULL;
    OK(t, cebus_scatter_add(t->rt, x.tensor, a->dim, index.tensor, src.tensor, &out));
    for (int64_t i = 0; i < shape_count(a->index); i++) {
        double *sum = &x.values[moved(i, a->index, a->x, dim, (int64_t)index.values[i])];
        *sum = add(dtype, *sum, src.values[moved(i, a->index, longer, -1, 0)]);
    }
    if (shared && cebus_dtype_is_float(dtype)) {
        cebus_test_expect(t, "scatter_add of many", out, a->x.ndim, a->x.size, x.values,
                          long_run_tolerance(dtype));
        cebus_tensor_release(out);
    } else {
        expect_dense(t, "scatter_add", out, x.values, a->x);
    }
    sample_drop(&x);
    sample_drop(&src);
    sample_drop(&index);
}

static void scatter_add_values(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(alongs); i++)
        for (cebus_test_layout layout = 0; layout < CEBUS_TEST_LAYOUTS; layout++) {
            check_scatter_add(t, &alongs[i], CEBUS_F32, layout, CEBUS_I64);
            check_scatter_add(t, &alongs[i], CEBUS_F64, layout, CEBUS_I32);
        }
    for (size_t d = 0; d < LENGTH(added_types); d++)
        check_scatter_add(t, &alongs[6], added_types[d], CEBUS_TEST_PLAIN, CEBUS_I64);
    static const along large[] = {{{2, {300, 20}}, {2, {300, 150}}, 1},
                                  {{2, {30, 200}}, {2, {350, 200}}, 0},
                                  {{1, {64}}, {1, {40000}}, 0}};
    for (size_t i = 0; i < LENGTH(large); i++) {
        check_scatter_add(t, &large[i], CEBUS_F32, CEBUS_TEST_PLAIN, CEBUS_I64);
        check_scatter_add(t, &large[i], CEBUS_I64, CEBUS_TEST_PLAIN, CEBUS_I64);
    }
}

static void gather_errors(cebus_test *t)
{
    sample x = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 5, (shape){2, {4, 6}});
    sample bytes = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_U8, 5, (shape){2, {4, 6}});
    sample wide = make_index(t, CEBUS_TEST_PLAIN, CEBUS_I64, 4, (shape){2, {4, 7}});
    sample flat = make_index(t, CEBUS_TEST_PLAIN, CEBUS_I64, 4, (shape){1, {4}});
    sample good = make_index(t, CEBUS_TEST_PLAIN, CEBUS_I64, 4, (shape){2, {4, 6}});
    cebus_tensor *high, *out = NULL, *rt_x = x.tensor;
    cebus_runtime *rt = t->rt;
    high = cebus_test_from_doubles(t, CEBUS_I64, (const double[]){0, 6}, 2, (int64_t[]){1, 2});
    FAILS_BY_DATA(t, "index 6 at position 1", &out, cebus_gather(rt, rt_x, 1, high, &out));
    FAILS_BY_DATA(t, "[0, 4)", &out, cebus_gather(rt, rt_x, 0, high, &out));
    FAILS_BY_DATA(t, "scatter_add", &out, cebus_scatter_add(rt, rt_x, 1, high, rt_x, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 7]", cebus_gather(rt, rt_x, 0, wide.tensor, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4]", cebus_gather(rt, rt_x, 0, flat.tensor, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "f32", cebus_gather(rt, rt_x, 0, rt_x, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "dimension 2", cebus_gather(rt, rt_x, 2, high, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_gather(rt, rt_x, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", cebus_gather(rt, rt_x, 0, high, NULL));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[4, 7]",
          cebus_scatter_add(rt, rt_x, 1, wide.tensor, rt_x, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "u8",
          cebus_scatter_add(rt, rt_x, 0, good.tensor, bytes.tensor, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "u8",
          cebus_scatter_add(rt, bytes.tensor, 0, good.tensor, bytes.tensor, &out));
    EXPECT(t, out == NULL);
    cebus_tensor_release(high);
    sample_drop(&x);
    sample_drop(&bytes);
    sample_drop(&wide);
    sample_drop(&flat);
    sample_drop(&good);
}

/* --- index_select ------------------------------------------------------------------------- */

static void check_index_select(cebus_test *t, shape xs, int dim, shape is, cebus_dtype dtype,
                               cebus_test_layout layout)
{
    sample x = sample_make(t, layout, dtype, 5, xs);
    sample index = make_index(t, layout, CEBUS_I64, xs.size[dim], is);
    shape result = xs;
    result.size[dim] = shape_count(is);
    int64_t n = shape_count(result), inner = 1;
    for (int d = dim + 1; d < xs.ndim; d++)
        inner *= xs.size[d];
    double *want = malloc(((size_t)n + 1) * sizeof *want);
    cebus_tensor *out = NULL;
    OK(t, cebus_index_select(t->rt, x.tensor, dim - xs.ndim, index.tensor, &out));
    for (int64_t i = 0; i < n; i++) {
        int64_t picked = (int64_t)index.values[i / inner % shape_count(is)];
        want[i] = x.values[moved(i, result, xs, dim, picked)];
    }
    expect_dense(t, "index_select", out, want, result);
    free(want);
    sample_drop(&x);
    sample_drop(&index);
}

static void index_select_values(cebus_test *t)
{
    static const shape shapes[] = {{1, {5}}, {2, {4, 6}}, {3, {3, 4, 5}}, {4, {2, 3, 4, 2}}};
    static const shape indices[] = {{1, {7}}, {0, {0}}, {1, {0}}, {1, {1}}};
    for (size_t s = 0; s < LENGTH(shapes); s++)
        for (int dim = 0; dim < shapes[s].ndim; dim++)
            for (size_t i = 0; i < LENGTH(indices); i++)
                for (cebus_test_layout layout = 0; layout < CEBUS_TEST_LAYOUTS; layout++)
                    check_index_select(t, shapes[s], dim, indices[i], CEBUS_F32, layout);
    for (size_t d = 0; d < LENGTH(all_types); d++)
        check_index_select(t, shapes[2], 1, indices[0], all_types[d], CEBUS_TEST_PLAIN);
    check_index_select(t, (shape){3, {20, 30, 40}}, 1, (shape){1, {90}}, CEBUS_F32,
                       CEBUS_TEST_PLAIN);
}

static void index_select_errors(cebus_test *t)
{
    sample x = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 5, (shape){2, {4, 6}});
    sample scalar = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 5, (shape){0, {0}});
    sample square = make_index(t, CEBUS_TEST_PLAIN, CEBUS_I64, 4, (shape){2, {2, 2}});
    cebus_tensor *high, *out = NULL;
    high = cebus_test_from_doubles(t, CEBUS_I32, (const double[]){5}, 0, NULL);
    FAILS_BY_DATA(t, "index 5 at position 0", &out,
                  cebus_index_select(t->rt, x.tensor, 0, high, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[2, 2]",
          cebus_index_select(t->rt, x.tensor, 0, square.tensor, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "index_select",
          cebus_index_select(t->rt, scalar.tensor, 0, high, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "-3", cebus_index_select(t->rt, x.tensor, -3, high, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "f32",
          cebus_index_select(t->rt, x.tensor, 0, scalar.tensor, &out));
    EXPECT(t, out == NULL);
    cebus_tensor_release(high);
    sample_drop(&x);
    sample_drop(&scalar);
    sample_drop(&square);
}

/* --- gradients ---------------------------------------------------------------------------- */

typedef struct call {
    int dim;
    cebus_tensor *index;
} call;

static cebus_status call_embedding(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                   cebus_tensor **out)
{
    return cebus_embedding(rt, in[0], ((call *)context)->index, CEBUS_NO_PADDING, out);
}

static cebus_status call_gather(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                cebus_tensor **out)
{
    return cebus_gather(rt, in[0], ((call *)context)->dim, ((call *)context)->index, out);
}

static cebus_status call_index_select(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                      cebus_tensor **out)
{
    return cebus_index_select(rt, in[0], ((call *)context)->dim, ((call *)context)->index, out);
}

static cebus_status call_scatter_add(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                     cebus_tensor **out)
{
    return cebus_scatter_add(rt, in[0], ((call *)context)->dim, ((call *)context)->index, in[1],
                             out);
}

static void gradients(cebus_test *t)
{
    static const shape xs = {3, {3, 4, 5}}, longer = {3, {3, 7, 6}};
    for (cebus_test_layout layout = 0; layout < CEBUS_TEST_LAYOUTS; layout++) {
        sample weight = sample_make(t, layout, CEBUS_F64, 1, (shape){2, {6, 3}});
        sample x = sample_make(t, layout, CEBUS_F64, 1, xs);
        sample src = sample_make(t, layout, CEBUS_F64, 2, longer);
        sample words = make_index(t, layout, CEBUS_I64, 6, (shape){2, {2, 4}});
        sample line = make_index(t, layout, CEBUS_I64, 4, (shape){1, {7}});
        sample block = make_index(t, layout, CEBUS_I64, 4, (shape){3, {3, 7, 5}});
        OK(t, cebus_tensor_set_requires_grad(weight.tensor, true));
        OK(t, cebus_tensor_set_requires_grad(x.tensor, true));
        OK(t, cebus_tensor_set_requires_grad(src.tensor, true));
        call c = {1, words.tensor};
        cebus_test_gradient(t, "embedding", call_embedding, &c, &weight.tensor, 1);
        c.index = line.tensor;
        cebus_test_gradient(t, "index_select", call_index_select, &c, &x.tensor, 1);
        c.index = block.tensor;
        cebus_test_gradient(t, "gather", call_gather, &c, &x.tensor, 1);
        cebus_tensor *both[] = {x.tensor, src.tensor};
        cebus_test_gradient(t, "scatter_add", call_scatter_add, &c, both, 2);
        sample_drop(&weight);
        sample_drop(&x);
        sample_drop(&src);
        sample_drop(&words);
        sample_drop(&line);
        sample_drop(&block);
    }
}

/* A bad index fails the call and nothing else: what was made before is as it was. */
static void bad_index_changes_nothing(cebus_test *t)
{
    sample x = sample_make(t, CEBUS_TEST_PLAIN, CEBUS_F32, 5, (shape){1, {4}});
    cebus_tensor *bad, *out = NULL;
    bad = cebus_test_from_doubles(t, CEBUS_I64, (const double[]){1, 9}, 1, (int64_t[]){2});
    uint64_t version = cebus_tensor_version(x.tensor);
    FAILS_BY_DATA(t, "index 9", &out, cebus_scatter_add(t->rt, x.tensor, 0, bad, x.tensor, &out));
    EXPECT(t, out == NULL);
    EXPECT(t, cebus_tensor_version(x.tensor) == version);
    expect_dense(t, "untouched", cebus_tensor_retain(x.tensor), x.values, (shape){1, {4}});
    cebus_tensor_release(bad);
    sample_drop(&x);
}

const cebus_case cebus_cases_index[] = {
    {"index/embedding_values", embedding_values},
    {"index/embedding_expanded_index", embedding_expanded_index},
    {"index/embedding_gradients", embedding_gradients},
    {"index/embedding_shared_rows", embedding_shared_rows},
    {"index/embedding_errors", embedding_errors, CEBUS_READS_VALUES},
    {"index/gather_values", gather_values},
    {"index/scatter_add_values", scatter_add_values},
    {"index/gather_errors", gather_errors, CEBUS_READS_VALUES},
    {"index/index_select_values", index_select_values},
    {"index/index_select_errors", index_select_errors, CEBUS_READS_VALUES},
    {"index/gradients", gradients},
    {"index/bad_index_changes_nothing", bad_index_changes_nothing, CEBUS_READS_VALUES},
    {NULL, NULL},
};
