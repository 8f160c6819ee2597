/*
 * Layer, RMS and group norm against loops over single groups.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

typedef enum norm_kind {
    LAYER,
    RMS,
    GROUP,
    KINDS
} norm_kind;

static const char *const names[] = {"layer_norm", "rms_norm", "group_norm"};

typedef struct norm {
    norm_kind kind;
    int n_dims;     /* layer and RMS */
    int64_t groups; /* group */
    double eps;
} norm;

static cebus_status run(cebus_runtime *rt, cebus_tensor *const *in, const norm *n,
                        cebus_tensor **out)
{
    cebus_layer_norm_options trailing = {n->n_dims, n->eps};
    cebus_group_norm_options grouped = {n->groups, n->eps};
    if (n->kind == LAYER)
        return cebus_layer_norm(rt, in[0], in[1], in[2], &trailing, out);
    if (n->kind == RMS)
        return cebus_rms_norm(rt, in[0], in[1], &trailing, out);
    return cebus_group_norm(rt, in[0], in[1], in[2], &grouped, out);
}

/* ---- reference ------------------------------------------------------------------------------ */

/* Both kinds of group are consecutive in row-major order. */
static int64_t group_size(const cebus_test_array *x, const norm *n)
{
    int64_t size = 1;
    for (int d = 0; d < x->ndim; d++) {
        if (n->kind == GROUP ? d > 0 : d >= x->ndim - n->n_dims)
            size *= x->shape[d];
    }
    return n->kind == GROUP ? size / n->groups : size;
}

/* Which element of weight and bias scales element i. */
static int64_t affine_index(const cebus_test_array *x, const norm *n, int64_t i)
{
    int64_t inner = 1;
    if (n->kind != GROUP)
        return i % group_size(x, n);
    for (int d = 2; d < x->ndim; d++)
        inner *= x->shape[d];
    return i / inner % x->shape[1];
}

/* Replaces x's values by the expected result. */
static void normalize(cebus_test_array *x, const norm *n, const cebus_test_array *weight,
                      const cebus_test_array *bias)
{
    int64_t size = group_size(x, n);
    double eps = n->eps == 0 ? 1e-5 : n->eps;
    for (int64_t first = 0; first < x->numel; first += size) {
        double *v = x->values + first, mean = 0, variance = 0;
        for (int64_t i = 0; i < size && n->kind != RMS; i++)
            mean += v[i] / (double)size;
        for (int64_t i = 0; i < size; i++)
            variance += (v[i] - mean) * (v[i] - mean) / (double)size;
        for (int64_t i = 0; i < size; i++) {
            int64_t c = affine_index(x, n, first + i);
            v[i] = (v[i] - mean) / sqrt(variance + eps);
            v[i] *= weight->values != NULL ? weight->values[c] : 1;
            v[i] += bias->values != NULL ? bias->values[c] : 0;
        }
    }
}

/* ---- values --------------------------------------------------------------------------------- */

/* The inputs of one call; `affine`: bit 0 with weight, bit 1 with bias. */
typedef struct operands {
    cebus_test_array x, weight, bias;
} operands;

static operands make_operands(cebus_test *t, cebus_test_walk walk, cebus_dtype dtype, const norm *n,
                              int ndim, const int64_t *shape, int affine)
{
    operands o = {.x = cebus_test_array_noise(t, walk, dtype, 3, ndim, shape)};
    const int64_t *dims = n->kind == GROUP ? shape + 1 : shape + ndim - n->n_dims;
    int n_dims = n->kind == GROUP ? 1 : n->n_dims;
    cebus_test_walk spread = walk == CEBUS_WALK_EXPANDED ? CEBUS_WALK_PLAIN : walk;
    if (affine & 1)
        o.weight = cebus_test_array_noise(t, spread, dtype, 5, n_dims, dims);
    if (affine & 2 && n->kind != RMS)
        o.bias = cebus_test_array_noise(t, spread, dtype, 6, n_dims, dims);
    return o;
}

static void drop(operands *o)
{
    cebus_test_array_drop(&o->x);
    cebus_test_array_drop(&o->weight);
    cebus_test_array_drop(&o->bias);
}

static void check(cebus_test *t, operands *o, const norm *n)
{
    cebus_dtype dtype = cebus_tensor_dtype(o->x.tensor);
    cebus_tensor *in[] = {o->x.tensor, o->weight.tensor, o->bias.tensor};
    cebus_tensor *out = NULL;
    OK(t, run(t->rt, in, n, &out));
    normalize(&o->x, n, &o->weight, &o->bias);
    cebus_test_array_expect(t, names[n->kind], out, &o->x, dtype,
                            dtype == CEBUS_F32 ? 1e-5 : 1e-12);
}

static const struct {
    norm norm;
    int ndim;
    int64_t shape[4];
} cases[] = {
    {{LAYER, 1, 0, 0}, 2, {5, 33}},        {{LAYER, 1, 0, 1e-2}, 3, {4, 7, 12}},
    {{LAYER, 2, 0, 0}, 3, {4, 7, 12}},     {{LAYER, 1, 0, 0}, 1, {9}},
    {{LAYER, 1, 0, 0}, 2, {300, 384}},     {{LAYER, 1, 0, 0}, 2, {3, 5000}},
    {{LAYER, 1, 0, 0}, 2, {0, 3}},         {{LAYER, 3, 0, 0}, 4, {3, 2, 5, 4}},
    {{RMS, 1, 0, 0}, 2, {5, 33}},          {{RMS, 2, 0, 1e-3}, 3, {4, 7, 12}},
    {{RMS, 1, 0, 0}, 2, {200, 130}},       {{GROUP, 0, 2, 0}, 4, {3, 8, 5, 6}},
    {{GROUP, 0, 1, 0}, 3, {2, 6, 7}},      {{GROUP, 0, 6, 1e-3}, 3, {2, 6, 7}},
    {{GROUP, 0, 3, 0}, 2, {4, 6}},         {{GROUP, 0, 4, 0}, 4, {2, 600, 3, 2}},
    {{GROUP, 0, 2, 0}, 4, {1, 4, 40, 60}}, {{GROUP, 0, 2, 0}, 4, {0, 4, 2, 2}},
};

static void values(cebus_test *t)
{
    for (size_t c = 0; c < LENGTH(cases); c++) {
        for (int i = 0; i < CEBUS_WALKS * 2 * 4; i++) {
            operands o = make_operands(t, (cebus_test_walk)(i / 8), i % 2 ? CEBUS_F64 : CEBUS_F32,
                                       &cases[c].norm, cases[c].ndim, cases[c].shape, i / 2 % 4);
            check(t, &o, &cases[c].norm);
            drop(&o);
        }
    }
}

static void keeps_channels_last(cebus_test *t)
{
    norm n = {GROUP, 0, 2, 0};
    operands o =
        make_operands(t, CEBUS_WALK_CHANNELS_LAST, CEBUS_F32, &n, 4, (int64_t[]){2, 4, 3, 5}, 0);
    cebus_tensor *in[] = {o.x.tensor, NULL, NULL}, *out = NULL;
    OK(t, run(t->rt, in, &n, &out));
    EXPECT(t, cebus_tensor_view(out)->strides[1] == 1 && cebus_tensor_view(out)->strides[3] == 4);
    cebus_tensor_release(out);
    drop(&o);
}

/* Far from zero, where the difference of large sums would have lost every digit. */
static void large_mean(cebus_test *t)
{
    static const norm norms[] = {{LAYER, 2, 0, 0}, {GROUP, 0, 1, 0}};
    double values_of[2 * 4 * 25];
    for (int i = 0; i < 200; i++)
        values_of[i] = 3000 + cebus_test_noise(1, (uint64_t)i);
    for (size_t i = 0; i < LENGTH(norms); i++) {
        operands o = {.x =
                          cebus_test_array_from(t, CEBUS_F32, values_of, 3, (int64_t[]){2, 4, 25})};
        cebus_tensor *in[] = {o.x.tensor, NULL, NULL}, *out = NULL;
        OK(t, run(t->rt, in, &norms[i], &out));
        normalize(&o.x, &norms[i], &o.weight, &o.bias);
        cebus_test_array_expect(t, "far from zero", out, &o.x, CEBUS_F32, 1e-3);
        drop(&o);
    }
}

/* ---- gradients --------------------------------------------------------------------------------
 */

typedef struct differentiated {
    norm norm;
    bool turned; /* x is read as its transpose */
} differentiated;

static cebus_status function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                             cebus_tensor **out)
{
    const differentiated *d = context;
    cebus_tensor *x = NULL;
    int last = d->turned ? cebus_tensor_ndim(in[0]) - 1 : 1;
    cebus_status status = cebus_transpose(rt, in[0], 1, last, &x);
    if (status == CEBUS_OK)
        status = run(rt, (cebus_tensor *[]){x, in[1], in[2]}, &d->norm, out);
    cebus_tensor_release(x);
    return status;
}

static void check_gradient(cebus_test *t, const differentiated *d, const int64_t *shape, int needs)
{
    int affine = needs / 2 | (needs & 1 ? 3 : 0);
    operands o = make_operands(t, CEBUS_WALK_PLAIN, CEBUS_F64, &d->norm, 3, shape, affine);
    cebus_test_array *arrays[] = {&o.x, &o.weight, &o.bias};
    cebus_tensor *in[3];
    if (d->turned) { /* so that it turns into the given shape */
        int64_t before[] = {shape[0], shape[2], shape[1]};
        cebus_test_array_drop(&o.x);
        o.x = cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 3, 3, before);
    }
    for (int i = 0; i < 3; i++) {
        in[i] = arrays[i]->tensor;
        if (in[i] != NULL && needs >> i & 1)
            OK(t, cebus_tensor_set_requires_grad(in[i], true));
    }
    cebus_test_gradient(t, names[d->norm.kind], function, (void *)d, in, 3);
    drop(&o);
}

/* Every set of wanted gradients, with plain and with strided input. */
static void gradients(cebus_test *t)
{
    static const norm norms[] = {
        {LAYER, 1, 0, 0}, {LAYER, 2, 0, 0}, {RMS, 1, 0, 0},
        {RMS, 2, 0, 0},   {GROUP, 0, 2, 0}, {GROUP, 0, 4, 0},
    };
    for (size_t i = 0; i < LENGTH(norms); i++) {
        for (int needs = 1; needs < (norms[i].kind == RMS ? 4 : 8); needs++) {
            differentiated d = {norms[i], needs % 2 == 0};
            check_gradient(t, &d, (int64_t[]){3, 4, 5}, needs);
            d.turned = !d.turned;
            check_gradient(t, &d, (int64_t[]){3, 4, 5}, needs);
        }
        differentiated bare = {norms[i], false};
        operands o =
            make_operands(t, CEBUS_WALK_PLAIN, CEBUS_F64, &norms[i], 3, (int64_t[]){3, 4, 5}, 0);
        OK(t, cebus_tensor_set_requires_grad(o.x.tensor, true));
        cebus_test_gradient(t, "without weight", function, &bare,
                            (cebus_tensor *[]){o.x.tensor, NULL, NULL}, 3);
        drop(&o);
    }
}

/* Enough rows that the sums for weight and bias are made of several slices and runs. */
static void gradients_over_many_rows(cebus_test *t)
{
    for (int kind = LAYER; kind <= RMS; kind++)
        check_gradient(t, &(differentiated){{(norm_kind)kind, 1, 0, 0}, false},
                       (int64_t[]){41, 5, 6}, kind == LAYER ? 7 : 3);
    check_gradient(t, &(differentiated){{GROUP, 0, 2, 0}, false}, (int64_t[]){30, 4, 90}, 7);
}

/* The gradients of x, weight and bias on a runtime of its own. NULL on failure. */
static void run_threaded(cebus_test *t, int threads, cebus_dtype dtype, size_t c,
                         cebus_tensor **out_grads)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = threads;
    cebus_test other = *t;
    const norm *n = &cases[c].norm;
    memset(out_grads, 0, 3 * sizeof *out_grads);
    OK(t, cebus_runtime_create(&options, &other.rt));
    operands o = make_operands(&other, CEBUS_WALK_PLAIN, dtype, n, cases[c].ndim, cases[c].shape,
                               n->kind == RMS ? 1 : 3);
    cebus_test_array g =
        cebus_test_array_noise(&other, CEBUS_WALK_PLAIN, dtype, 9, cases[c].ndim, cases[c].shape);
    cebus_tensor *in[] = {o.x.tensor, o.weight.tensor, o.bias.tensor}, *out = NULL;
    for (int i = 0; i < 3; i++) {
        if (in[i] != NULL)
            OK(t, cebus_tensor_set_requires_grad(in[i], true));
    }
    OK(t, run(other.rt, in, n, &out));
    OK(t, cebus_backward(other.rt, out, g.tensor, false));
    for (int i = 0; i < 3; i++) {
        if (in[i] != NULL)
            OK(t, cebus_tensor_grad(in[i], &out_grads[i]));
    }
    cebus_tensor_release(out);
    cebus_test_array_drop(&g);
    drop(&o);
    cebus_runtime_destroy(other.rt);
}

static void expect_close(cebus_test *t, cebus_tensor *narrow, cebus_tensor *wide)
{
    double *got = cebus_test_doubles(t, narrow), *want = cebus_test_doubles(t, wide);
    cebus_test_near(t, "f32 gradient", got, want, cebus_tensor_numel(narrow), 2e-5, 2e-5);
    free(got);
    free(want);
}

static void same_bits_for_any_threads(cebus_test *t)
{
    static const size_t chosen[] = {4, 10, 11, 15};
    for (size_t c = 0; c < LENGTH(chosen); c++) {
        cebus_tensor *first[3], *again[3], *wide[3];
        run_threaded(t, 1, CEBUS_F32, chosen[c], first);
        run_threaded(t, 1, CEBUS_F64, chosen[c], wide);
        for (int threads = 1; threads <= cebus_test_most_threads(t); threads++) {
            run_threaded(t, threads, CEBUS_F32, chosen[c], again);
            for (int i = 0; i < 3; i++) {
                if (first[i] != NULL)
                    cebus_test_same_bits(t, "gradient", first[i], again[i]);
                cebus_tensor_release(again[i]);
            }
        }
        EXPECT(t, first[0] != NULL && first[1] != NULL);
        for (int i = 0; i < 3; i++) {
            if (first[i] != NULL)
                expect_close(t, first[i], wide[i]);
            cebus_tensor_release(first[i]);
            cebus_tensor_release(wide[i]);
        }
    }
}

/* ---- errors
 * -------------------------------------------------------------------------------------- */

static void shape_errors(cebus_test *t, cebus_tensor *x, norm_kind kind)
{
    cebus_test_array four =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 1, (int64_t[]){4});
    cebus_test_array wide = cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 1, 1,
                                                   (int64_t[]){kind == GROUP ? 6 : 5});
    cebus_tensor *out = x, *bad[] = {x, four.tensor, NULL}, *mixed[] = {x, wide.tensor, NULL};
    norm n = {kind, 1, 2, 0};
    FAILS(t, CEBUS_SHAPE_MISMATCH, "the weight must have shape", run(t->rt, bad, &n, &out));
    EXPECT(t, strstr(cebus_last_error()->message, "got [4]") != NULL && out == NULL);
    FAILS(t, CEBUS_DTYPE_MISMATCH, "x is f32 and the weight f64", run(t->rt, mixed, &n, &out));
    if (kind != RMS) {
        bad[2] = four.tensor;
        bad[1] = NULL;
        FAILS(t, CEBUS_SHAPE_MISMATCH, "the bias must have shape", run(t->rt, bad, &n, &out));
    }
    cebus_test_array_drop(&four);
    cebus_test_array_drop(&wide);
}

static void errors(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 3, (int64_t[]){2, 6, 5});
    cebus_test_array whole =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_I32, 1, 3, (int64_t[]){2, 6, 5});
    cebus_tensor *in[] = {x.tensor, NULL, NULL}, *none[] = {NULL, NULL, NULL};
    cebus_tensor *integers[] = {whole.tensor, NULL, NULL}, *out = x.tensor;
    for (norm_kind kind = 0; kind < KINDS; kind++) {
        norm n = {kind, 1, 2, 0}, negative = {kind, 1, 2, -1}, nan = {kind, 1, 2, NAN};
        norm wrong = {kind, 4, 4, 0}, below = {kind, -1, -1, 0};
        FAILS(t, CEBUS_INVALID_ARGUMENT, "eps is -1", run(t->rt, in, &negative, &out));
        EXPECT(t, out == NULL && strcmp(cebus_last_error()->op, names[kind]) == 0);
        FAILS(t, CEBUS_INVALID_ARGUMENT, "eps", run(t->rt, in, &nan, &out));
        FAILS(t, CEBUS_SHAPE_MISMATCH, "[2, 6, 5]", run(t->rt, in, &wrong, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "is -1", run(t->rt, in, &below, &out));
        FAILS(t, CEBUS_DTYPE_MISMATCH, "i32", run(t->rt, integers, &n, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "x is NULL", run(t->rt, none, &n, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "rt is NULL", run(NULL, in, &n, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL", run(t->rt, in, &n, NULL));
        EXPECT(t, out == NULL);
        shape_errors(t, x.tensor, kind);
    }
    FAILS(t, CEBUS_INVALID_ARGUMENT, "groups is 0",
          cebus_group_norm(t->rt, x.tensor, NULL, NULL, NULL, &out));
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&whole);
}

const cebus_case cebus_cases_norm[] = {
    {"norm: values in every memory order", values},
    {"norm: group norm keeps channels last", keeps_channels_last},
    {"norm: far from zero", large_mean},
    {"norm: gradients", gradients},
    {"norm: gradients over many rows", gradients_over_many_rows},
    {"norm: the same bits for any number of threads", same_bits_for_any_threads},
    {"norm: errors", errors},
    {NULL, NULL},
};
