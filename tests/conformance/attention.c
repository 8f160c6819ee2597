/*
 * Attention against the definition, computed in double over all scores at once.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"
#include "tests/support/strided.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const cebus_dtype types[] = {CEBUS_F32, CEBUS_F64};

/* ---- reference --------------------------------------------------------------------------- */

/* One batch of B matrices: q [B, L, E], k [B, S, E], v [B, S, D], scores [B, L, S] added (may hold
 * -infinity). */
typedef struct problem {
    int64_t batch, length, columns, features, values;
    bool causal;
    double scale; /* 0: the default */
} problem;

static void soften(double *row, int64_t n)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++)
        largest = fmax(largest, row[j]);
    for (int64_t j = 0; j < n; j++) {
        row[j] = largest == -INFINITY ? 0 : exp(row[j] - largest);
        sum += row[j];
    }
    for (int64_t j = 0; j < n && sum > 0; j++)
        row[j] /= sum;
}

static void weigh(const problem *p, const double *q, const double *k, const double *added,
                  int64_t row, double *weights)
{
    double scale = p->scale;
    if (scale == 0)
        scale = p->features > 0 ? 1 / sqrt((double)p->features) : 1;
    for (int64_t j = 0; j < p->columns; j++) {
        double score = 0;
        for (int64_t e = 0; e < p->features; e++)
            score += q[e] * k[j * p->features + e];
        weights[j] = score * scale + (added ? added[j] : 0);
        if (p->causal && j > row)
            weights[j] = -INFINITY;
    }
    soften(weights, p->columns);
}

/* The caller frees. */
static double *attend(const problem *p, const double *q, const double *k, const double *v,
                      const double *added)
{
    double *out = calloc((size_t)(p->batch * p->length * p->values) + 1, sizeof *out);
    double *weights = malloc(((size_t)p->columns + 1) * sizeof *weights);
    for (int64_t r = 0; out && weights && r < p->batch * p->length; r++) {
        int64_t b = r / p->length;
        weigh(p, q + r * p->features, k + b * p->columns * p->features,
              added ? added + r * p->columns : NULL, r % p->length, weights);
        for (int64_t j = 0; j < p->columns; j++)
            for (int64_t d = 0; d < p->values; d++)
                out[r * p->values + d] += weights[j] * v[(b * p->columns + j) * p->values + d];
    }
    free(weights);
    return out;
}

/* ---- values ------------------------------------------------------------------------------ */

typedef struct inputs {
    cebus_tensor *q, *k, *v, *mask;
} inputs;

static void drop(inputs *in)
{
    cebus_tensor_release(in->q);
    cebus_tensor_release(in->k);
    cebus_tensor_release(in->v);
    cebus_tensor_release(in->mask);
}

static void expect_values(cebus_test *t, const char *what, const problem *p, cebus_dtype dtype,
                          const inputs *in, cebus_tensor *got)
{
    int64_t n = p->batch * p->length * p->values;
    double *q = cebus_test_doubles(t, in->q), *k = cebus_test_doubles(t, in->k);
    double *v = cebus_test_doubles(t, in->v), *added = NULL;
    if (in->mask)
        added = cebus_test_doubles(t, in->mask);
    for (int64_t i = 0; added && i < p->batch * p->length * p->columns; i++)
        if (cebus_tensor_dtype(in->mask) == CEBUS_BOOL)
            added[i] = added[i] != 0 ? 0 : -INFINITY;
    double *want = attend(p, q, k, v, added), *values = cebus_test_doubles(t, got);
    EXPECT(t, cebus_tensor_numel(got) == n);
    if (want && values && cebus_tensor_numel(got) == n)
        cebus_test_near(t, what, values, want, n, dtype == CEBUS_F64 ? 1e-12 : 1e-5,
                        dtype == CEBUS_F64 ? 1e-13 : 1e-6);
    free(q);
    free(k);
    free(v);
    free(added);
    free(want);
    free(values);
}

static inputs make_inputs(cebus_test *t, const problem *p, cebus_dtype dtype,
                          cebus_test_layout layout)
{
    return (inputs){
        .q = cebus_test_strided_noise(t, layout, dtype, 1, 3,
                                      (int64_t[]){p->batch, p->length, p->features}),
        .k = cebus_test_strided_noise(t, layout, dtype, 2, 3,
                                      (int64_t[]){p->batch, p->columns, p->features}),
        .v = cebus_test_strided_noise(t, layout, dtype, 3, 3,
                                      (int64_t[]){p->batch, p->columns, p->values}),
    };
}

static const problem problems[] = {
    {1, 1, 1, 1, 1, false, 0},      {2, 3, 5, 4, 6, false, 0},    {2, 5, 3, 4, 2, true, 0},
    {3, 17, 17, 8, 8, true, 0.3},   {1, 130, 70, 5, 3, false, 0}, {1, 200, 200, 16, 8, true, 0},
    {2, 33, 450, 3, 20, false, -1}, {2, 4, 0, 3, 5, false, 0},    {0, 4, 4, 3, 5, true, 0},
    {2, 0, 4, 3, 5, false, 0},      {2, 4, 4, 0, 5, false, 0},    {1, 3, 5000, 2, 2, false, 0},
};

static void values(cebus_test *t)
{
    for (size_t d = 0; d < LENGTH(types); d++) {
        for (size_t i = 0; i < LENGTH(problems); i++) {
            for (int l = 0; l < CEBUS_TEST_LAYOUTS; l++) {
                const problem *p = &problems[i];
                cebus_attention_options options = {.is_causal = p->causal, .scale = p->scale};
                inputs in = make_inputs(t, p, types[d], (cebus_test_layout)l);
                cebus_tensor *out;
                char what[64];
                snprintf(what, sizeof what, "problem %zu layout %d %s", i, l,
                         cebus_dtype_name(types[d]));
                OK(t, cebus_scaled_dot_product_attention(t->rt, in.q, in.k, in.v, &options, &out));
                expect_values(t, what, p, types[d], &in, out);
                cebus_tensor_release(out);
                drop(&in);
            }
        }
    }
}

/* ---- masks ------------------------------------------------------------------------------- */

/* Scores [3, 9, 7] masked by every shape that broadcasts to them. */
static void check_mask(cebus_test *t, cebus_dtype dtype, cebus_dtype mask_dtype, int ndim,
                       const int64_t *shape, bool causal)
{
    const problem p = {3, 9, 7, 4, 5, causal, 0};
    inputs in = make_inputs(t, &p, dtype, CEBUS_TEST_PLAIN);
    cebus_attention_options options = {.is_causal = causal};
    cebus_tensor *narrow = cebus_test_tensor(t, mask_dtype, 9, 1, 0, ndim, shape), *out;
    options.mask = narrow;
    OK(t, cebus_expand(t->rt, narrow, 3, (int64_t[]){3, 9, 7}, &in.mask));
    OK(t, cebus_scaled_dot_product_attention(t->rt, in.q, in.k, in.v, &options, &out));
    expect_values(t, "masked", &p, dtype, &in, out);
    cebus_tensor_release(out);
    cebus_tensor_release(narrow);
    drop(&in);
}

static void masks(cebus_test *t)
{
    static const struct {
        int ndim;
        int64_t shape[3];
    } shapes[] = {{3, {3, 9, 7}}, {3, {1, 9, 7}}, {2, {9, 7}}, {3, {3, 1, 7}},
                  {2, {9, 1}},    {1, {7}},       {1, {1}},    {3, {3, 1, 1}}};
    for (size_t d = 0; d < LENGTH(types); d++)
        for (size_t i = 0; i < LENGTH(shapes); i++)
            for (int flags = 0; flags < 4; flags++)
                check_mask(t, types[d], flags & 1 ? CEBUS_BOOL : types[d], shapes[i].ndim,
                           shapes[i].shape, flags & 2);
}

/* A row that sees nothing is zero, and so are its gradients. */
static void blind_rows(cebus_test *t)
{
    const double allowed[] = {0, 0, 0, 1, 0, 1};
    const problem p = {1, 2, 3, 4, 5, false, 0};
    inputs in = make_inputs(t, &p, CEBUS_F32, CEBUS_TEST_PLAIN);
    cebus_tensor *out, *sum, *grad;
    in.mask = cebus_test_from_doubles(t, CEBUS_BOOL, allowed, 2, (int64_t[]){2, 3});
    cebus_attention_options options = {.mask = in.mask};
    OK(t, cebus_tensor_set_requires_grad(in.q, true));
    OK(t, cebus_scaled_dot_product_attention(t->rt, in.q, in.k, in.v, &options, &out));
    expect_values(t, "blind row", &p, CEBUS_F32, &in, out);
    OK(t, cebus_sum(t->rt, out, 0, NULL, false, &sum));
    OK(t, cebus_backward(t->rt, sum, NULL, false));
    OK(t, cebus_tensor_grad(in.q, &grad));
    double *values = cebus_test_doubles(t, grad);
    for (int e = 0; values && e < 4; e++)
        EXPECT(t, values[e] == 0);
    for (int e = 4; values && e < 8; e++)
        EXPECT(t, isfinite(values[e]));
    free(values);
    cebus_tensor_release(out);
    cebus_tensor_release(sum);
    cebus_tensor_release(grad);
    drop(&in);
}

/* All scores so far below zero that e^-score is beyond the type: only their differences count, up
 * to the rounding of the scores themselves. */
static void low_scores(cebus_test *t)
{
    const problem low[] = {{2, 4, 5, 3, 2, false, 0}, {1, 3, 70, 3, 2, true, 0}};
    for (size_t i = 0; i < LENGTH(low) * LENGTH(types); i++) {
        const problem *p = &low[i / LENGTH(types)];
        const cebus_dtype dtype = types[i % LENGTH(types)];
        const bool wide = dtype == CEBUS_F64;
        inputs in = make_inputs(t, p, dtype, CEBUS_TEST_PLAIN);
        cebus_tensor *out, *lowered;
        OK(t, cebus_full(t->rt, wide ? -1024 : -128, dtype, 2, (int64_t[]){p->length, p->columns},
                         &in.mask));
        cebus_attention_options options = {.is_causal = p->causal};
        OK(t, cebus_scaled_dot_product_attention(t->rt, in.q, in.k, in.v, &options, &out));
        options.mask = in.mask;
        OK(t, cebus_scaled_dot_product_attention(t->rt, in.q, in.k, in.v, &options, &lowered));
        double *want = cebus_test_doubles(t, out), *got = cebus_test_doubles(t, lowered);
        if (want && got)
            cebus_test_near(t, "low scores", got, want, cebus_tensor_numel(out), 0,
                            wide ? 1e-12 : 1e-4);
        free(want);
        free(got);
        cebus_tensor_release(out);
        cebus_tensor_release(lowered);
        drop(&in);
    }
}

/* ---- batches and layouts ----------------------------------------------------------------- */

/* Heads split off [B, L, 3 H D] by views: the result lies like q, so it joins without a copy. */
static void heads(cebus_test *t)
{
    const int64_t wide[] = {2, 11, 3 * 3 * 4};
    cebus_tensor *all = cebus_test_tensor(t, CEBUS_F32, 4, 1, 0, 3, wide), *parts[3];
    for (int i = 0; i < 3; i++) {
        cebus_tensor *slice, *split;
        OK(t, cebus_slice(t->rt, all, -1, 12 * i, 12 * i + 12, 1, &slice));
        OK(t, cebus_reshape(t->rt, slice, 4, (int64_t[]){2, 11, 3, 4}, &split));
        OK(t, cebus_transpose(t->rt, split, 1, 2, &parts[i]));
        cebus_tensor_release(slice);
        cebus_tensor_release(split);
    }
    const problem p = {6, 11, 11, 4, 4, true, 0};
    const inputs in = {parts[0], parts[1], parts[2], NULL};
    cebus_attention_options options = {.is_causal = true};
    cebus_tensor *out, *back;
    OK(t, cebus_scaled_dot_product_attention(t->rt, in.q, in.k, in.v, &options, &out));
    expect_values(t, "heads", &p, CEBUS_F32, &in, out);
    OK(t, cebus_transpose(t->rt, out, 1, 2, &back));
    EXPECT(t, cebus_tensor_is_contiguous(back));
    cebus_tensor_release(out);
    cebus_tensor_release(back);
    cebus_tensor_release(all);
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(parts[i]);
}

static cebus_status run_attention(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                  cebus_tensor **out)
{
    cebus_attention_options options = *(const cebus_attention_options *)context;
    options.mask = in[3];
    cebus_manual_seed(rt, 5); /* the same dropout each time */
    return cebus_scaled_dot_product_attention(rt, in[0], in[1], in[2], &options, out);
}

typedef struct gradient_case {
    int ndim[4];
    int64_t q[4], k[4], v[4], mask[4];
    cebus_attention_options options;
} gradient_case;

static const gradient_case gradient_cases[] = {
    {{3, 3, 3, 0}, {2, 4, 3}, {2, 5, 3}, {2, 5, 2}, {0}, {.scale = 0.7}},
    {{2, 2, 2, 0}, {6, 3}, {6, 3}, {6, 4}, {0}, {.is_causal = true}},
    {{2, 2, 2, 2}, {4, 3}, {5, 3}, {5, 2}, {4, 5}, {.is_causal = true}},
    {{4, 4, 4, 3}, {2, 2, 4, 3}, {2, 1, 5, 3}, {1, 2, 5, 2}, {2, 1, 5}, {.dropout_p = 0}},
    {{4, 4, 4, 4}, {3, 2, 4, 3}, {3, 1, 5, 3}, {1, 2, 5, 2}, {3, 1, 4, 5}, {.dropout_p = 0.3}},
    {{4, 3, 4, 3}, {5, 1, 4, 3}, {2, 6, 3}, {5, 1, 6, 2}, {2, 4, 6}, {.is_causal = true}},
    {{4, 4, 4, 4}, {2, 2, 3, 3}, {2, 1, 5, 3}, {1, 2, 5, 2}, {2, 1, 3, 5}, {.dropout_p = 0.3}},
    {{4, 4, 4, 0}, {2, 2, 4, 3}, {2, 1, 5, 3}, {1, 2, 5, 2}, {0}, {.is_causal = true}},
    {{2, 3, 3, 1}, {4, 3}, {2, 5, 3}, {2, 5, 2}, {5}, {.dropout_p = 0.4}},
    {{2, 2, 2, 0}, {100, 2}, {100, 2}, {100, 3}, {0}, {.is_causal = true, .dropout_p = 0.2}},
    {{2, 2, 2, 0}, {3, 2}, {4, 2}, {4, 3}, {0}, {.dropout_p = 1}},
};

static void gradients(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(gradient_cases); i++) {
        const gradient_case *c = &gradient_cases[i];
        const int64_t *shapes[] = {c->q, c->k, c->v, c->mask};
        cebus_attention_options options = c->options;
        cebus_tensor *in[4] = {NULL};
        char what[32];
        for (int k = 0; k < 4; k++) {
            if (c->ndim[k] == 0)
                continue;
            in[k] = cebus_test_tensor(t, CEBUS_F64, 40 + (uint64_t)k, 1, 0, c->ndim[k], shapes[k]);
            OK(t, cebus_tensor_set_requires_grad(in[k], true));
        }
        snprintf(what, sizeof what, "attention %zu", i);
        cebus_test_gradient(t, what, run_attention, &options, in, 4);
        for (int k = 0; k < 4; k++)
            cebus_tensor_release(in[k]);
    }
}

static cebus_status run_heads(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                              cebus_tensor **out)
{
    cebus_tensor *heads[4] = {NULL};
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < 3 && status == CEBUS_OK; i++)
        status = cebus_transpose(rt, in[i], 1, 2, &heads[i]);
    if (status == CEBUS_OK)
        status = run_attention(rt, heads, context, out);
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(heads[i]);
    return status;
}

/* Of few heads of [B, L, H, E]: neither operands nor results lie as one. */
static void heads_gradient(cebus_test *t)
{
    for (int64_t length = 3; length < 9; length++) {
        cebus_attention_options options = {.is_causal = length % 2 == 0};
        cebus_tensor *in[3] = {
            cebus_test_tensor(t, CEBUS_F64, 70, 1, 0, 4, (int64_t[]){2, length, 2, 3}),
            cebus_test_tensor(t, CEBUS_F64, 71, 1, 0, 4, (int64_t[]){2, 5, 2, 3}),
            cebus_test_tensor(t, CEBUS_F64, 72, 1, 0, 4, (int64_t[]){2, 5, 2, 2}),
        };
        for (int k = 0; k < 3; k++)
            OK(t, cebus_tensor_set_requires_grad(in[k], true));
        cebus_test_gradient(t, "heads", run_heads, &options, in, 3);
        for (int k = 0; k < 3; k++)
            cebus_tensor_release(in[k]);
    }
}

/* A bool mask has no gradient but goes through the backward pass. */
static void bool_mask_gradient(cebus_test *t)
{
    const double allowed[] = {1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1};
    cebus_attention_options options = {0};
    cebus_tensor *in[4] = {
        cebus_test_tensor(t, CEBUS_F64, 50, 1, 0, 2, (int64_t[]){3, 2}),
        cebus_test_tensor(t, CEBUS_F64, 51, 1, 0, 2, (int64_t[]){4, 2}),
        cebus_test_tensor(t, CEBUS_F64, 52, 1, 0, 2, (int64_t[]){4, 5}),
        cebus_test_from_doubles(t, CEBUS_BOOL, allowed, 2, (int64_t[]){3, 4}),
    };
    for (int k = 0; k < 3; k++)
        OK(t, cebus_tensor_set_requires_grad(in[k], true));
    cebus_test_gradient(t, "bool mask", run_attention, &options, in, 4);
    for (int k = 0; k < 4; k++)
        cebus_tensor_release(in[k]);
}

/* ---- dropout ----------------------------------------------------------------------------- */

/* With v the identity the result is the weights: each is dropped or grows by 1 / (1 - p). */
static void dropout(cebus_test *t)
{
    enum {
        N = 64
    };
    const double p = 0.25;
    double *identity = calloc(N * N, sizeof *identity);
    for (int i = 0; i < N; i++)
        identity[i * N + i] = 1;
    cebus_tensor *q = cebus_test_tensor(t, CEBUS_F64, 60, 1, 0, 2, (int64_t[]){N, 3});
    cebus_tensor *v = cebus_test_from_doubles(t, CEBUS_F64, identity, 2, (int64_t[]){N, N});
    cebus_tensor *whole, *dropped;
    cebus_attention_options options = {.dropout_p = p};
    OK(t, cebus_scaled_dot_product_attention(t->rt, q, q, v, NULL, &whole));
    OK(t, cebus_scaled_dot_product_attention(t->rt, q, q, v, &options, &dropped));
    double *w = cebus_test_doubles(t, whole), *d = cebus_test_doubles(t, dropped);
    int zeros = 0;
    for (int i = 0; w && d && i < N * N; i++) {
        EXPECT(t, d[i] == 0 || fabs(d[i] * (1 - p) - w[i]) < 1e-12);
        zeros += d[i] == 0;
    }
    EXPECT(t, zeros > 0.2 * N * N && zeros < 0.3 * N * N);
    free(identity);
    free(w);
    free(d);
    cebus_tensor_release(q);
    cebus_tensor_release(v);
    cebus_tensor_release(whole);
    cebus_tensor_release(dropped);
}

/* ---- determinism and errors -------------------------------------------------------------- */

static cebus_status gradient_of_k(cebus_test *t, const inputs *in, cebus_tensor **out)
{
    cebus_attention_options options = {.is_causal = true, .dropout_p = 0.1};
    cebus_tensor *result = NULL, *sum = NULL;
    cebus_manual_seed(t->rt, 3);
    cebus_status status = cebus_tensor_set_grad(in->k, NULL);
    if (status == CEBUS_OK)
        status = cebus_scaled_dot_product_attention(t->rt, in->q, in->k, in->v, &options, &result);
    if (status == CEBUS_OK)
        status = cebus_sum(t->rt, result, 0, NULL, false, &sum);
    if (status == CEBUS_OK)
        status = cebus_backward(t->rt, sum, NULL, false);
    if (status == CEBUS_OK)
        status = cebus_tensor_grad(in->k, out);
    cebus_tensor_release(result);
    cebus_tensor_release(sum);
    return status;
}

static void determinism(cebus_test *t)
{
    const problem p = {3, 150, 150, 20, 20, true, 0};
    inputs in = make_inputs(t, &p, CEBUS_F32, CEBUS_TEST_PLAIN);
    cebus_tensor *grads[2];
    OK(t, cebus_tensor_set_requires_grad(in.k, true));
    for (int i = 0; i < 2; i++)
        OK(t, gradient_of_k(t, &in, &grads[i]));
    cebus_test_same_bits(t, "twice", grads[0], grads[1]);
    cebus_tensor_release(grads[0]);
    cebus_tensor_release(grads[1]);
    drop(&in);
}

static void check_threads(cebus_test *t)
{
    const problem large = {5, 120, 130, 16, 20, true, 0};
    inputs in = make_inputs(t, &large, CEBUS_F32, CEBUS_TEST_PLAIN);
    cebus_attention_options options = {.is_causal = true};
    cebus_tensor *out;
    OK(t, cebus_scaled_dot_product_attention(t->rt, in.q, in.k, in.v, &options, &out));
    expect_values(t, "threads", &large, CEBUS_F32, &in, out);
    cebus_tensor_release(out);
    drop(&in);
    determinism(t);
    gradients(t);
}

static void threads(cebus_test *t)
{
    for (int n = 2; n < 5; n++)
        cebus_test_with_threads(t, n, check_threads);
}

static cebus_tensor *f32(cebus_test *t, int ndim, const int64_t *shape)
{
    return cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, ndim, shape);
}

static void shape_errors(cebus_test *t)
{
    cebus_tensor *out = NULL, *q = f32(t, 3, (int64_t[]){2, 4, 3});
    cebus_tensor *k = f32(t, 3, (int64_t[]){2, 5, 3}), *v = f32(t, 3, (int64_t[]){2, 5, 6});
    cebus_tensor *thin = f32(t, 3, (int64_t[]){2, 5, 2}), *vector = f32(t, 1, (int64_t[]){3});
    cebus_tensor *batch = f32(t, 3, (int64_t[]){3, 5, 3}), *mask = f32(t, 2, (int64_t[]){4, 4});
    cebus_tensor *large = f32(t, 4, (int64_t[]){7, 2, 4, 5});
    cebus_attention_options options = {.mask = mask}, enlarging = {.mask = large};
    cebus_attention_options dropping = {.mask = mask, .dropout_p = 0.5};
    FAILS(t, CEBUS_SHAPE_MISMATCH, "q [2, 4, 3] and k [2, 5, 2] do not go together: 3 != 2",
          cebus_scaled_dot_product_attention(t->rt, q, thin, v, NULL, &out));
    EXPECT(t, strcmp(cebus_last_error()->op, "scaled_dot_product_attention") == 0);
    FAILS(t, CEBUS_SHAPE_MISMATCH, "lengths 5 != 4",
          cebus_scaled_dot_product_attention(t->rt, q, k, q, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "each needs two dimensions",
          cebus_scaled_dot_product_attention(t->rt, vector, k, v, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "do not broadcast",
          cebus_scaled_dot_product_attention(t->rt, q, batch, v, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "mask [4, 4] does not broadcast to the scores [2, 4, 5]",
          cebus_scaled_dot_product_attention(t->rt, q, k, v, &options, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "mask [4, 4] does not broadcast to the scores [2, 4, 5]",
          cebus_scaled_dot_product_attention(t->rt, q, k, v, &dropping, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "mask [7, 2, 4, 5] does not broadcast",
          cebus_scaled_dot_product_attention(t->rt, q, k, v, &enlarging, &out));
    EXPECT(t, out == NULL);
    cebus_tensor *all[] = {q, k, v, thin, vector, batch, mask, large};
    for (size_t i = 0; i < LENGTH(all); i++)
        cebus_tensor_release(all[i]);
}

static void other_errors(cebus_test *t)
{
    cebus_tensor *out = NULL, *q = f32(t, 2, (int64_t[]){4, 3});
    cebus_tensor *d = cebus_test_tensor(t, CEBUS_F64, 1, 1, 0, 2, (int64_t[]){4, 3});
    cebus_tensor *h = cebus_test_tensor(t, CEBUS_I32, 1, 1, 0, 2, (int64_t[]){4, 3});
    cebus_tensor *mask = cebus_test_tensor(t, CEBUS_I64, 1, 1, 0, 2, (int64_t[]){4, 4});
    cebus_attention_options bad[] = {
        {.dropout_p = 1.5}, {.dropout_p = NAN}, {.scale = INFINITY}, {.mask = mask}};
    FAILS(t, CEBUS_DTYPE_MISMATCH, "q is f32 and k is f64: cebus_cast() one of them",
          cebus_scaled_dot_product_attention(t->rt, q, d, q, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "q is f32 and v is f64",
          cebus_scaled_dot_product_attention(t->rt, q, q, d, NULL, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "takes f32, f64, f16 or bf16, got q i32",
          cebus_scaled_dot_product_attention(t->rt, h, h, h, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "dropout_p is 1.5",
          cebus_scaled_dot_product_attention(t->rt, q, q, q, &bad[0], &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "dropout_p is",
          cebus_scaled_dot_product_attention(t->rt, q, q, q, &bad[1], &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "scale is inf",
          cebus_scaled_dot_product_attention(t->rt, q, q, q, &bad[2], &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "the mask is i64",
          cebus_scaled_dot_product_attention(t->rt, q, q, q, &bad[3], &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "k is NULL",
          cebus_scaled_dot_product_attention(t->rt, q, NULL, q, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL",
          cebus_scaled_dot_product_attention(t->rt, q, q, q, NULL, NULL));
    EXPECT(t, out == NULL);
    cebus_tensor_release(q);
    cebus_tensor_release(d);
    cebus_tensor_release(h);
    cebus_tensor_release(mask);
}

const cebus_case cebus_cases_attention[] = {
    {"attention/values", values},
    {"attention/masks", masks},
    {"attention/blind_rows", blind_rows},
    {"attention/low_scores", low_scores},
    {"attention/heads", heads},
    {"attention/gradients", gradients},
    {"attention/heads_gradient", heads_gradient},
    {"attention/bool_mask_gradient", bool_mask_gradient},
    {"attention/dropout", dropout, CEBUS_READS_VALUES},
    {"attention/determinism", determinism},
    {"attention/threads", threads},
    {"attention/shape_errors", shape_errors},
    {"attention/other_errors", other_errors},
    {NULL, NULL},
};
