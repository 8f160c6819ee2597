/*
 * Every op in f16 and bf16 against itself in f32: the same numbers go in, what comes out and the
 * gradients differ by the rounding of the narrow type. (f32 is held against naive loops in the
 * op's own family.)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MAX_INPUTS 5

typedef cebus_status (*function)(cebus_runtime *rt, cebus_tensor *const *in, cebus_tensor **out);

typedef struct operand {
    int ndim;
    int64_t shape[4];
    bool wide; /* f32 also beside narrow ones */
} operand;

typedef struct operation {
    const char *name;
    function run;
    operand in[MAX_INPUTS]; /* up to the first of no dimensions */
} operation;

/* ---- operations -------------------------------------------------------------------------- */

/* 0, 1, .. n - 1: as class indices and rows of tables. */
static cebus_status count_up(cebus_runtime *rt, int64_t n, cebus_tensor **out)
{
    return cebus_arange(rt, 0, (double)n, 1, CEBUS_I64, out);
}

#define INDEXED(name, n, call)                                                                     \
    static cebus_status name(cebus_runtime *rt, cebus_tensor *const *in, cebus_tensor **out)       \
    {                                                                                              \
        cebus_tensor *index = NULL;                                                                \
        cebus_status status = count_up(rt, n, &index);                                             \
        if (status == CEBUS_OK)                                                                    \
            status = call;                                                                         \
        cebus_tensor_release(index);                                                               \
        return status;                                                                             \
    }
#define PLAIN(name, call)                                                                          \
    static cebus_status name(cebus_runtime *rt, cebus_tensor *const *in, cebus_tensor **out)       \
    {                                                                                              \
        return call;                                                                               \
    }

static const int last[] = {-1};
static const cebus_conv_options conv_options = {.stride = {2, 1}, .padding = {1, 1}, .groups = 2};
static const cebus_conv_options point_options = {.stride = {1, 2}};
static const cebus_pool_options pool_options = {.kernel = {2, 3}, .padding = {1, 1}};
static const cebus_interpolate_options twice = {.scale = {2, 2}, .mode = 1};
static const cebus_class_loss_options smooth = {.label_smoothing = 0.1};
static const cebus_class_loss_options each = {.reduction = CEBUS_LOSS_NONE};
static const cebus_attention_options causal = {.is_causal = true};
static const cebus_group_norm_options groups = {.groups = 2};
static const cebus_batch_norm_options training = {.training = true};
static const cebus_var_options rows = {.dims = last, .n_dims = 1, .correction = 1};

PLAIN(matmul, cebus_matmul(rt, in[0], in[1], out))
PLAIN(linear, cebus_linear(rt, in[0], in[1], in[2], out))
PLAIN(conv, cebus_conv2d(rt, in[0], in[1], in[2], &conv_options, out))
PLAIN(point, cebus_conv2d(rt, in[0], in[1], in[2], &point_options, out))
PLAIN(conv_transpose, cebus_conv_transpose2d(rt, in[0], in[1], in[2], &conv_options, out))
PLAIN(max_pool, cebus_max_pool2d(rt, in[0], &pool_options, out))
PLAIN(avg_pool, cebus_avg_pool2d(rt, in[0], &pool_options, out))
PLAIN(adaptive_pool, cebus_adaptive_avg_pool2d(rt, in[0], 3, 2, out))
PLAIN(interpolate, cebus_interpolate(rt, in[0], &twice, out))
PLAIN(softmax, cebus_softmax(rt, in[0], -1, out))
PLAIN(softmax_across, cebus_softmax(rt, in[0], 0, out))
PLAIN(log_softmax, cebus_log_softmax(rt, in[0], 1, out))
PLAIN(layer_norm, cebus_layer_norm(rt, in[0], in[1], in[2], NULL, out))
PLAIN(bare_layer_norm, cebus_layer_norm(rt, in[0], NULL, NULL, NULL, out))
PLAIN(rms_norm, cebus_rms_norm(rt, in[0], in[1], NULL, out))
PLAIN(group_norm, cebus_group_norm(rt, in[0], in[1], in[2], &groups, out))
PLAIN(batch_norm, cebus_batch_norm(rt, in[0], in[1], in[2], &training, out))
PLAIN(bare_batch_norm, cebus_batch_norm(rt, in[0], NULL, NULL, &training, out))
PLAIN(attention, cebus_scaled_dot_product_attention(rt, in[0], in[1], in[2], &causal, out))
PLAIN(var, cebus_var(rt, in[0], &rows, out))
PLAIN(logsumexp, cebus_logsumexp(rt, in[0], 1, last, false, out))
PLAIN(largest, cebus_max(rt, in[0], 1, last, false, out))
PLAIN(smallest, cebus_min(rt, in[0], 1, last, true, out))
PLAIN(sum, cebus_sum(rt, in[0], 1, last, false, out))
PLAIN(mean, cebus_mean(rt, in[0], -1, NULL, false, out))
PLAIN(mse, cebus_mse_loss(rt, in[0], in[1], CEBUS_LOSS_MEAN, out))
PLAIN(product, cebus_mul(rt, in[0], in[1], out))
PLAIN(quotient, cebus_div(rt, in[0], in[1], out))
PLAIN(gelu, cebus_gelu(rt, in[0], out))
PLAIN(joined, cebus_cat(rt, in, 2, 1, out))
INDEXED(cross_entropy, 6, cebus_cross_entropy(rt, in[0], index, &smooth, out))
INDEXED(nll, 6, cebus_nll_loss(rt, in[0], index, &each, out))
INDEXED(embedding, 5, cebus_embedding(rt, in[0], index, -1, out))
INDEXED(selected, 3, cebus_index_select(rt, in[0], 1, index, out))

/* A mask of the type of q. */
static cebus_status masked_attention(cebus_runtime *rt, cebus_tensor *const *in, cebus_tensor **out)
{
    const cebus_attention_options options = {.mask = in[3], .scale = 0.5};
    return cebus_scaled_dot_product_attention(rt, in[0], in[1], in[2], &options, out);
}

static cebus_status eval_norm(cebus_runtime *rt, cebus_tensor *const *in, cebus_tensor **out)
{
    cebus_batch_norm_options options = {.running_mean = in[3], .eps = 0.5};
    cebus_status status = cebus_square(rt, in[4], &options.running_var);
    if (status == CEBUS_OK)
        status = cebus_batch_norm(rt, in[0], in[1], in[2], &options, out);
    cebus_tensor_release(options.running_var);
    return status;
}

static cebus_status lstm(cebus_runtime *rt, cebus_tensor *const *in, cebus_tensor **out)
{
    const cebus_recurrent_weights weights = {in[1], in[2], in[3], NULL};
    cebus_recurrent_result result = {NULL, NULL, NULL};
    cebus_status status = cebus_lstm(rt, in[0], NULL, &weights, NULL, &result);
    cebus_tensor_release(result.h);
    cebus_tensor_release(result.c);
    *out = result.out;
    return status;
}

static cebus_status gru(cebus_runtime *rt, cebus_tensor *const *in, cebus_tensor **out)
{
    const cebus_recurrent_weights weights = {in[1], in[2], in[3], NULL};
    cebus_recurrent_result result = {NULL, NULL, NULL};
    cebus_status status = cebus_gru(rt, in[0], NULL, &weights, NULL, &result);
    cebus_tensor_release(result.h);
    *out = result.out;
    return status;
}

/* clang-format off */
static const operation operations[] = {
    {"matmul", matmul, {{2, {37, 53}}, {2, {53, 29}}}},
    {"matmul of a batch", matmul, {{4, {2, 3, 7, 9}}, {3, {3, 9, 5}}}},
    {"matmul of vectors", matmul, {{1, {300}}, {1, {300}}}},
    {"linear", linear, {{3, {4, 6, 33}}, {2, {17, 33}}, {1, {17}}}},
    {"conv2d", conv, {{4, {2, 4, 9, 8}}, {4, {6, 2, 3, 3}}, {1, {6}}}},
    {"conv2d of single pixels", point, {{4, {5, 6, 9, 8}}, {4, {7, 6, 1, 1}}, {1, {7}}}},
    {"conv_transpose2d", conv_transpose, {{4, {2, 6, 5, 4}}, {4, {6, 2, 3, 3}}, {1, {4}}}},
    {"max_pool2d", max_pool, {{4, {2, 3, 8, 9}}}},
    {"avg_pool2d", avg_pool, {{4, {2, 3, 8, 9}}}},
    {"adaptive_avg_pool2d", adaptive_pool, {{4, {2, 3, 8, 9}}}},
    {"interpolate", interpolate, {{4, {2, 3, 4, 5}}}},
    {"softmax", softmax, {{3, {3, 4, 65}}}},
    {"softmax along the first", softmax_across, {{2, {40, 33}}}},
    {"log_softmax", log_softmax, {{3, {3, 40, 6}}}},
    {"layer_norm", layer_norm, {{3, {5, 4, 70}}, {1, {70}}, {1, {70}}}},
    {"layer_norm, wide weights", layer_norm, {{2, {50, 30}}, {1, {30}, true}, {1, {30}, true}}},
    {"layer_norm, wide bias", layer_norm, {{2, {50, 30}}, {1, {30}}, {1, {30}, true}}},
    {"layer_norm without weights", bare_layer_norm, {{2, {6, 33}}}},
    {"rms_norm", rms_norm, {{2, {70, 40}}, {1, {40}}}},
    {"rms_norm, wide weight", rms_norm, {{2, {70, 40}}, {1, {40}, true}}},
    {"group_norm", group_norm, {{4, {3, 6, 5, 4}}, {1, {6}}, {1, {6}}}},
    {"group_norm, wide weights", group_norm, {{4, {3, 6, 5, 4}}, {1, {6}, true}, {1, {6}, true}}},
    {"batch_norm", batch_norm, {{4, {4, 6, 5, 4}}, {1, {6}}, {1, {6}}}},
    {"batch_norm of columns", batch_norm, {{2, {300, 16}}, {1, {16}}, {1, {16}}}},
    {"batch_norm of planes", batch_norm, {{4, {3, 2, 6, 8}}, {1, {2}}, {1, {2}}}},
    {"batch_norm, wide weights", batch_norm, {{4, {4, 6, 5, 4}}, {1, {6}, true}, {1, {6}, true}}},
    {"batch_norm without weights", bare_batch_norm, {{2, {30, 7}}}},
    {"batch_norm in evaluation", eval_norm,
     {{4, {4, 6, 5, 4}}, {1, {6}, true}, {1, {6}}, {1, {6}, true}, {1, {6}, true}}},
    {"attention", attention, {{4, {2, 2, 9, 8}}, {4, {2, 2, 9, 8}}, {4, {2, 2, 9, 6}}}},
    {"attention with a mask", masked_attention,
     {{3, {4, 7, 8}}, {3, {4, 9, 8}}, {2, {9, 5}}, {2, {7, 9}}}},
    {"lstm", lstm, {{3, {2, 3, 6}}, {2, {20, 6}}, {2, {20, 5}}, {1, {20}}}},
    {"gru", gru, {{3, {2, 3, 6}}, {2, {15, 6}}, {2, {15, 5}}, {1, {15}}}},
    {"var", var, {{2, {9, 60}}}},
    {"logsumexp", logsumexp, {{2, {9, 60}}}},
    {"max", largest, {{2, {9, 60}}}},
    {"min", smallest, {{3, {3, 4, 8}}}},
    {"sum", sum, {{2, {9, 60}}}},
    {"mean", mean, {{2, {9, 60}}}},
    {"mse_loss", mse, {{2, {9, 60}}, {2, {9, 60}}}},
    {"cross_entropy", cross_entropy, {{2, {6, 33}}}},
    {"nll_loss", nll, {{2, {6, 33}}}},
    {"embedding", embedding, {{2, {7, 12}}}},
    {"index_select", selected, {{3, {4, 5, 3}}}},
    {"mul", product, {{2, {9, 60}}, {2, {9, 60}}}},
    {"div", quotient, {{2, {9, 60}}, {2, {9, 60}}}},
    {"gelu", gelu, {{2, {9, 60}}}},
    {"cat", joined, {{2, {4, 6}}, {2, {4, 5}}}},
};
/* clang-format on */

/* ---- against f32 ------------------------------------------------------------------------- */

/* The same numbers twice. */
typedef struct twins {
    cebus_tensor *narrow[MAX_INPUTS], *wide[MAX_INPUTS];
    int n;
} twins;

static cebus_status twin(cebus_test *t, const operand *how, cebus_dtype dtype, cebus_test_walk walk,
                         int i, twins *out)
{
    cebus_test_array noise =
        cebus_test_array_noise(t, walk, dtype, 7 + (uint64_t)i, how->ndim, how->shape);
    cebus_status status = CEBUS_DEVICE_ERROR;
    if (noise.tensor != NULL)
        status = cebus_cast(t->rt, noise.tensor, CEBUS_F32, &out->wide[i]);
    if (status == CEBUS_OK)
        out->narrow[i] = cebus_tensor_retain(noise.tensor);
    if (status == CEBUS_OK && how->wide) {
        cebus_tensor_release(out->narrow[i]);
        status = cebus_clone(t->rt, out->wide[i], &out->narrow[i]);
    }
    cebus_test_array_drop(&noise);
    return status;
}

static twins make(cebus_test *t, const operation *op, cebus_dtype dtype, cebus_test_walk walk)
{
    twins out = {.n = 0};
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < MAX_INPUTS && op->in[i].ndim > 0 && status == CEBUS_OK; i++) {
        status = twin(t, &op->in[i], dtype, walk, i, &out);
        out.n++;
    }
    if (status != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: %s", op->name, cebus_last_error()->message);
    return out;
}

static void drop(twins *all)
{
    for (int i = 0; i < all->n; i++) {
        cebus_tensor_release(all->narrow[i]);
        cebus_tensor_release(all->wide[i]);
    }
}

/* Some roundings of the type, measured at the largest number. */
static void expect_near(cebus_test *t, const char *op, const char *what, cebus_dtype dtype,
                        cebus_tensor *got, cebus_tensor *want)
{
    char name[96];
    snprintf(name, sizeof name, "%s of %s, %s", op, cebus_dtype_name(dtype), what);
    double tolerance = dtype == CEBUS_BF16 ? 1e-2 : 1.5e-3, most = 0;
    double *a = cebus_test_doubles(t, got), *b = cebus_test_doubles(t, want);
    int64_t n = cebus_tensor_numel(want);
    EXPECT(t, n == cebus_tensor_numel(got));
    for (int64_t i = 0; b != NULL && i < n; i++)
        most = fabs(b[i]) > most ? fabs(b[i]) : most;
    if (a != NULL && b != NULL)
        cebus_test_near(t, name, a, b, n, tolerance, tolerance * most);
    free(a);
    free(b);
}

static void values_of(cebus_test *t, const operation *op, cebus_dtype dtype, cebus_test_walk walk)
{
    cebus_tensor *narrow = NULL, *wide = NULL;
    twins x = make(t, op, dtype, walk);
    if (t->failures == 0) {
        OK(t, op->run(t->rt, x.narrow, &narrow));
        OK(t, op->run(t->rt, x.wide, &wide));
        EXPECT(t, cebus_tensor_dtype(narrow) == dtype);
        expect_near(t, op->name, "the result", dtype, narrow, wide);
    }
    cebus_tensor_release(narrow);
    cebus_tensor_release(wide);
    drop(&x);
}

static cebus_status differentiate(cebus_runtime *rt, const operation *op, cebus_tensor *const *in,
                                  int n, cebus_tensor *seed)
{
    cebus_tensor *out = NULL;
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < n && status == CEBUS_OK; i++)
        status = cebus_tensor_set_requires_grad(in[i], true);
    if (status == CEBUS_OK)
        status = op->run(rt, in, &out);
    if (status == CEBUS_OK)
        status = cebus_backward(rt, out, seed, false);
    cebus_tensor_release(out);
    return status;
}

/* d(sum(out noise)), the noise in the narrow type for both; of the shape of `like`. */
static cebus_status make_seed(cebus_test *t, cebus_dtype dtype, cebus_tensor *like,
                              cebus_tensor **narrow, cebus_tensor **wide)
{
    const cebus_view *view = cebus_tensor_view(like);
    cebus_test_array noise =
        cebus_test_array_noise(t, CEBUS_WALK_REVERSED, dtype, 99, view->ndim, view->shape);
    cebus_status status = cebus_cast(t->rt, noise.tensor, CEBUS_F32, wide);
    *narrow = cebus_tensor_retain(noise.tensor);
    cebus_test_array_drop(&noise);
    return status;
}

static void gradients_of(cebus_test *t, const operation *op, cebus_dtype dtype)
{
    cebus_tensor *out = NULL, *narrow_seed = NULL, *wide_seed = NULL;
    twins x = make(t, op, dtype, CEBUS_WALK_PLAIN);
    if (t->failures > 0)
        return;
    OK(t, op->run(t->rt, x.wide, &out));
    OK(t, make_seed(t, dtype, out, &narrow_seed, &wide_seed));
    OK(t, differentiate(t->rt, op, x.narrow, x.n, narrow_seed));
    OK(t, differentiate(t->rt, op, x.wide, x.n, wide_seed));
    for (int i = 0; i < x.n; i++) {
        cebus_tensor *got = NULL, *want = NULL;
        char what[32];
        snprintf(what, sizeof what, "gradient %d", i);
        OK(t, cebus_tensor_grad(x.narrow[i], &got));
        OK(t, cebus_tensor_grad(x.wide[i], &want));
        EXPECT(t, (got != NULL) == (want != NULL));
        EXPECT(t, got == NULL || cebus_tensor_dtype(got) == cebus_tensor_dtype(x.narrow[i]));
        if (got != NULL && want != NULL)
            expect_near(t, op->name, what, dtype, got, want);
        cebus_tensor_release(got);
        cebus_tensor_release(want);
    }
    cebus_tensor_release(out);
    cebus_tensor_release(narrow_seed);
    cebus_tensor_release(wide_seed);
    drop(&x);
}

static void values(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(operations); i++) {
        for (cebus_test_walk walk = 0; walk < CEBUS_WALKS; walk++) {
            values_of(t, &operations[i], CEBUS_F16, walk);
            values_of(t, &operations[i], CEBUS_BF16, walk);
        }
    }
}

static void gradients(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(operations); i++) {
        gradients_of(t, &operations[i], CEBUS_F16);
        gradients_of(t, &operations[i], CEBUS_BF16);
    }
}

/* ---- sums are kept in f32 ---------------------------------------------------------------- */

/* 4096 ones: in f16 a running sum would stop at 2048, in bf16 at 256. */
static void long_sums(cebus_test *t)
{
    static const cebus_dtype types[] = {CEBUS_F16, CEBUS_BF16};
    for (size_t i = 0; i < LENGTH(types); i++) {
        cebus_tensor *a = NULL, *b = NULL, *out = NULL;
        OK(t, cebus_ones(t->rt, types[i], 2, (int64_t[]){3, 4096}, &a));
        OK(t, cebus_ones(t->rt, types[i], 2, (int64_t[]){4096, 5}, &b));
        OK(t, cebus_matmul(t->rt, a, b, &out));
        double *got = cebus_test_doubles(t, out);
        for (int k = 0; got != NULL && k < 15; k++)
            EXPECT(t, got[k] == 4096);
        free(got);
        cebus_tensor_release(a);
        cebus_tensor_release(b);
        cebus_tensor_release(out);
    }
}

/* So are counts: 600 that share a gradient get a share each. */
static void shares(cebus_test *t)
{
    static const cebus_dtype types[] = {CEBUS_F16, CEBUS_BF16};
    for (size_t i = 0; i < LENGTH(types); i++) {
        cebus_tensor *x = NULL, *out = NULL, *seed = NULL, *grad = NULL;
        OK(t, cebus_ones(t->rt, types[i], 2, (int64_t[]){2, 600}, &x));
        OK(t, cebus_full(t->rt, 600, types[i], 1, (int64_t[]){2}, &seed));
        OK(t, cebus_tensor_set_requires_grad(x, true));
        OK(t, cebus_max(t->rt, x, 1, last, false, &out));
        OK(t, cebus_backward(t->rt, out, seed, false));
        OK(t, cebus_tensor_grad(x, &grad));
        double *got = cebus_test_doubles(t, grad);
        for (int k = 0; got != NULL && k < 1200; k++)
            EXPECT(t, got[k] == 1);
        free(got);
        cebus_tensor_release(x);
        cebus_tensor_release(out);
        cebus_tensor_release(seed);
        cebus_tensor_release(grad);
    }
}

/* The running statistics of a narrow image are f32, and nothing else. */
static void running_statistics(cebus_test *t)
{
    const int64_t shape[] = {8, 3, 4, 4}, three = 3;
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_BF16, 1, 1, 3, 4, shape), *out = NULL;
    cebus_tensor *narrow = NULL;
    cebus_batch_norm_options how = {.training = true, .momentum = 1};
    OK(t, cebus_zeros(t->rt, CEBUS_F32, 1, &three, &how.running_mean));
    OK(t, cebus_ones(t->rt, CEBUS_F32, 1, &three, &how.running_var));
    OK(t, cebus_zeros(t->rt, CEBUS_BF16, 1, &three, &narrow));
    OK(t, cebus_batch_norm(t->rt, x, NULL, NULL, &how, &out));
    double *mean = cebus_test_doubles(t, how.running_mean), *all = cebus_test_doubles(t, x);
    for (int c = 0; mean != NULL && all != NULL && c < 3; c++) {
        double want = 0;
        for (int i = 0; i < 8 * 16; i++)
            want += all[i / 16 * 48 + c * 16 + i % 16] / 128;
        cebus_test_near(t, "running mean", &mean[c], &want, 1, 1e-6, 0);
    }
    free(mean);
    free(all);
    cebus_tensor_release(out);
    cebus_tensor_release(how.running_mean);
    how.running_mean = narrow;
    FAILS(t, CEBUS_DTYPE_MISMATCH, "running statistic bf16, which must be f32",
          cebus_batch_norm(t->rt, x, NULL, NULL, &how, &out));
    cebus_tensor_release(narrow);
    cebus_tensor_release(how.running_var);
    cebus_tensor_release(x);
}

/* ---- errors ------------------------------------------------------------------------------ */

static void mixed_types(cebus_test *t)
{
    const int64_t shape[] = {4, 4}, four = 4;
    cebus_tensor *half = cebus_test_tensor(t, CEBUS_F16, 1, 1, 0, 2, shape), *out = NULL;
    cebus_tensor *brain = cebus_test_tensor(t, CEBUS_BF16, 1, 1, 0, 2, shape);
    cebus_tensor *single = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, shape);
    cebus_tensor *vector = cebus_test_tensor(t, CEBUS_F16, 1, 1, 0, 1, &four);
    cebus_tensor *wide = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 1, &four);
    FAILS(t, CEBUS_DTYPE_MISMATCH, "got f16 [4, 4] and bf16 [4, 4]: cebus_cast() one of them",
          cebus_matmul(t->rt, half, brain, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "got bf16 [4, 4] and f32 [4, 4]",
          cebus_linear(t->rt, brain, single, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "x is bf16 and the weight f16",
          cebus_layer_norm(t->rt, brain, vector, NULL, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "x is bf16 and the bias f64",
          cebus_layer_norm(t->rt, brain, NULL, wide, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "x is f32 and the weight f16",
          cebus_layer_norm(t->rt, single, vector, NULL, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "x is f16 and the target f32",
          cebus_mse_loss(t->rt, half, single, CEBUS_LOSS_MEAN, &out));
    EXPECT(t, out == NULL);
    cebus_tensor *all[] = {half, brain, single, vector, wide};
    for (size_t i = 0; i < LENGTH(all); i++)
        cebus_tensor_release(all[i]);
}

const cebus_case cebus_cases_half[] = {
    {"half: every op as in f32", values},
    {"half: gradients as in f32", gradients},
    {"half: sums are f32", long_sums, CEBUS_READS_VALUES},
    {"half: counts are f32", shares, CEBUS_READS_VALUES},
    {"half: running statistics are f32", running_statistics},
    {"half: types that do not go together", mixed_types},
    {NULL, NULL},
};
