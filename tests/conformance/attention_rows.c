/*
 * Rows of scores of all lengths: what is hidden from them says in two ways what they see, and both
 * must give the same result and gradients. (attention.c holds short ones against the definition.)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/harness.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum {
    Q,
    K,
    V,
    MASK,
    INPUTS
};
#define FEATURES 4
#define VALUES 5

typedef struct world {
    int64_t batch, length, columns;
    cebus_dtype dtype;
    bool adds;         /* the mask is of the type of q; else bool */
    bool is_unaligned; /* it begins behind the first element of its rows */
    double dropout_p;
} world;

/* One way to say it. */
typedef cebus_status (*way)(cebus_test *t, const world *w, cebus_tensor *const *in,
                            cebus_tensor **out);

/* ---- result and gradients ---------------------------------------------------------------- */

/* sum(out * noise), so that every element's gradient is another. */
static cebus_status weigh(cebus_test *t, cebus_tensor *out, cebus_tensor **sum)
{
    int64_t shape[CEBUS_MAX_DIMS];
    cebus_tensor *product = NULL;
    for (int i = 0; i < cebus_tensor_ndim(out); i++)
        shape[i] = cebus_tensor_size(out, i);
    cebus_tensor *noise =
        cebus_test_tensor(t, cebus_tensor_dtype(out), 77, 1, 0, cebus_tensor_ndim(out), shape);
    cebus_status status = cebus_mul(t->rt, out, noise, &product);
    if (status == CEBUS_OK)
        status = cebus_sum(t->rt, product, 0, NULL, false, sum);
    cebus_tensor_release(noise);
    cebus_tensor_release(product);
    return status;
}

/* The result, then the gradients of those inputs that have them; the caller releases. */
static cebus_status evaluate(cebus_test *t, const world *w, way run, cebus_tensor *const *in,
                             cebus_tensor **results)
{
    cebus_tensor *sum = NULL;
    cebus_manual_seed(t->rt, 5); /* the same dropout each time */
    for (int i = 0; i < INPUTS; i++)
        if (in[i] && cebus_tensor_requires_grad(in[i]) &&
            cebus_tensor_set_grad(in[i], NULL) != CEBUS_OK)
            return CEBUS_INVALID_ARGUMENT;
    cebus_status status = run(t, w, in, &results[0]);
    if (status == CEBUS_OK)
        status = weigh(t, results[0], &sum);
    if (status == CEBUS_OK)
        status = cebus_backward(t->rt, sum, NULL, false);
    for (int i = 0; i < INPUTS && status == CEBUS_OK; i++)
        if (in[i] && cebus_tensor_requires_grad(in[i]))
            status = cebus_tensor_grad(in[i], &results[1 + i]);
    cebus_tensor_release(sum);
    return status;
}

static double tolerance(cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F64:
        return 1e-12;
    case CEBUS_F32:
        return 2e-5;
    case CEBUS_F16:
        return 4e-3;
    default:
        return 3e-2;
    }
}

/* Measured at the largest number, and at the inputs, which are of the size of one. */
static void expect_equal(cebus_test *t, const char *what, cebus_dtype dtype, cebus_tensor *got,
                         cebus_tensor *want)
{
    double *a = cebus_test_doubles(t, got), *b = cebus_test_doubles(t, want), most = 1;
    const int64_t n = cebus_tensor_numel(want);
    for (int64_t i = 0; b && i < n; i++)
        most = fabs(b[i]) > most ? fabs(b[i]) : most;
    if (a && b)
        cebus_test_near(t, what, a, b, n, tolerance(dtype), tolerance(dtype) * most);
    free(a);
    free(b);
}

static void compare(cebus_test *t, const char *what, const world *w, way one, way other,
                    cebus_tensor *const *in)
{
    static const char *const names[] = {"out", "dq", "dk", "dv", "dmask"};
    cebus_tensor *got[1 + INPUTS] = {NULL}, *want[1 + INPUTS] = {NULL};
    OK(t, evaluate(t, w, one, in, got));
    OK(t, evaluate(t, w, other, in, want));
    for (int i = 0; i < 1 + INPUTS; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s, %s of %s [%lld, %lld]", what, names[i],
                 cebus_dtype_name(w->dtype), (long long)w->length, (long long)w->columns);
        if (got[i])
            expect_equal(t, name, w->dtype, got[i], want[i]);
        cebus_tensor_release(got[i]);
        cebus_tensor_release(want[i]);
    }
}

static cebus_status make_inputs(cebus_test *t, const world *w, cebus_tensor **in)
{
    const int64_t q[] = {w->batch, w->length, FEATURES}, k[] = {w->batch, w->columns, FEATURES};
    const int64_t v[] = {w->batch, w->columns, VALUES};
    in[Q] = cebus_test_tensor(t, w->dtype, 1, 1, 0, 3, q);
    in[K] = cebus_test_tensor(t, w->dtype, 2, 1, 0, 3, k);
    in[V] = cebus_test_tensor(t, w->dtype, 3, 1, 0, 3, v);
    cebus_status status = cebus_tensor_set_requires_grad(in[Q], true);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_requires_grad(in[K], true);
    if (status == CEBUS_OK)
        status = cebus_tensor_set_requires_grad(in[V], true);
    return status;
}

static void drop_inputs(cebus_tensor **in)
{
    for (int i = 0; i < INPUTS; i++)
        cebus_tensor_release(in[i]);
}

/* ---- few columns among many -------------------------------------------------------------- */

/* Every seventh column is seen, and the last; by the row in the middle none. */
static bool is_seen(const world *w, int64_t row, int64_t column)
{
    return row != w->length / 2 && (column % 7 == 2 || column == w->columns - 1);
}

static cebus_tensor *scattered_mask(cebus_test *t, const world *w)
{
    const int64_t skipped = w->is_unaligned, stride = w->columns + skipped;
    double *values = calloc((size_t)(w->length * stride), sizeof *values);
    for (int64_t i = 0; values && i < w->length * stride; i++) {
        const bool seen = is_seen(w, i / stride, i % stride - skipped);
        values[i] = seen ? 1 : 0;
        if (w->adds)
            values[i] = seen ? cebus_test_noise(9, (uint64_t)i) : -INFINITY;
    }
    cebus_tensor *mask = cebus_test_from_doubles(t, w->adds ? w->dtype : CEBUS_BOOL, values, 2,
                                                 (int64_t[]){w->length, stride});
    free(values);
    return mask;
}

static cebus_status mask_view(cebus_test *t, const world *w, cebus_tensor *mask, cebus_tensor **out)
{
    const int64_t skipped = w->is_unaligned;
    return cebus_slice(t->rt, mask, 1, skipped, w->columns + skipped, 1, out);
}

static cebus_status among_many(cebus_test *t, const world *w, cebus_tensor *const *in,
                               cebus_tensor **out)
{
    cebus_attention_options options = {.mask = NULL};
    cebus_status status = mask_view(t, w, in[MASK], &options.mask);
    if (status == CEBUS_OK)
        status = cebus_scaled_dot_product_attention(t->rt, in[Q], in[K], in[V], &options, out);
    cebus_tensor_release(options.mask);
    return status;
}

/* Those columns alone. */
static cebus_tensor *seen_columns(cebus_test *t, const world *w)
{
    double *values = calloc((size_t)w->columns, sizeof *values);
    int64_t n = 0;
    for (int64_t j = 0; values && j < w->columns; j++)
        if (is_seen(w, w->length / 2 + 1, j))
            values[n++] = (double)j;
    cebus_tensor *index = cebus_test_from_doubles(t, CEBUS_I64, values, 1, &n);
    free(values);
    return index;
}

static cebus_status alone(cebus_test *t, const world *w, cebus_tensor *const *in,
                          cebus_tensor **out)
{
    cebus_tensor *index = seen_columns(t, w), *k = NULL, *v = NULL, *view = NULL;
    cebus_attention_options options = {.mask = NULL};
    cebus_status status = mask_view(t, w, in[MASK], &view);
    if (status == CEBUS_OK)
        status = cebus_index_select(t->rt, view, 1, index, &options.mask);
    if (status == CEBUS_OK)
        status = cebus_index_select(t->rt, in[K], 1, index, &k);
    if (status == CEBUS_OK)
        status = cebus_index_select(t->rt, in[V], 1, index, &v);
    if (status == CEBUS_OK)
        status = cebus_scaled_dot_product_attention(t->rt, in[Q], k, v, &options, out);
    cebus_tensor_release(index);
    cebus_tensor_release(view);
    cebus_tensor_release(options.mask);
    cebus_tensor_release(k);
    cebus_tensor_release(v);
    return status;
}

/* About the ends of packs, and of what a warp or a block holds. */
static const int64_t lengths[] = {3,   8,   9,    65,   255,  256,  257,  511,  512,
                                  513, 600, 1023, 1024, 1025, 2047, 2048, 2049, 4100};

static void check_scattered(cebus_test *t, world w)
{
    cebus_tensor *in[INPUTS] = {NULL};
    OK(t, make_inputs(t, &w, in));
    in[MASK] = scattered_mask(t, &w);
    if (w.adds)
        OK(t, cebus_tensor_set_requires_grad(in[MASK], true));
    compare(t, "few columns among many", &w, among_many, alone, in);
    drop_inputs(in);
}

static void scattered(cebus_test *t)
{
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        for (int flags = 0; flags < 4; flags++) {
            const bool adds = flags & 1, is_unaligned = flags & 2;
            check_scattered(t, (world){2, 3, lengths[i], CEBUS_F32, adds, is_unaligned, 0});
        }
        check_scattered(t, (world){2, 3, lengths[i], CEBUS_F64, true, false, 0});
        check_scattered(t, (world){1, 3, lengths[i], CEBUS_F16, true, i % 2, 0});
        check_scattered(t, (world){1, 3, lengths[i], CEBUS_BF16, false, i % 2, 0});
    }
}

/* ---- causal, by a flag and by a mask ------------------------------------------------------ */

static cebus_tensor *triangle(cebus_test *t, const world *w)
{
    double *values = calloc((size_t)(w->length * w->columns), sizeof *values);
    for (int64_t i = 0; values && i < w->length * w->columns; i++)
        values[i] = i % w->columns <= i / w->columns;
    cebus_tensor *mask =
        cebus_test_from_doubles(t, CEBUS_BOOL, values, 2, (int64_t[]){w->length, w->columns});
    free(values);
    return mask;
}

static cebus_status by_flag(cebus_test *t, const world *w, cebus_tensor *const *in,
                            cebus_tensor **out)
{
    const cebus_attention_options options = {.is_causal = true, .dropout_p = w->dropout_p};
    return cebus_scaled_dot_product_attention(t->rt, in[Q], in[K], in[V], &options, out);
}

static cebus_status by_mask(cebus_test *t, const world *w, cebus_tensor *const *in,
                            cebus_tensor **out)
{
    const cebus_attention_options options = {.mask = in[MASK], .dropout_p = w->dropout_p};
    return cebus_scaled_dot_product_attention(t->rt, in[Q], in[K], in[V], &options, out);
}

static void causal(cebus_test *t)
{
    static const int64_t sizes[][3] = {{3, 1, 5},   {2, 20, 20},   {2, 37, 70},   {2, 70, 37},
                                       {1, 5, 600}, {1, 300, 290}, {1, 270, 530}, {1, 90, 16}};
    static const cebus_dtype types[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16};
    for (size_t i = 0; i < LENGTH(sizes) * LENGTH(types); i++) {
        const int64_t *size = sizes[i / LENGTH(types)];
        world w = {size[0], size[1], size[2], types[i % LENGTH(types)], false, false, 0};
        cebus_tensor *in[INPUTS] = {NULL};
        w.dropout_p = i % 3 ? 0.25 : 0;
        OK(t, make_inputs(t, &w, in));
        in[MASK] = triangle(t, &w);
        compare(t, "causal", &w, by_flag, by_mask, in);
        drop_inputs(in);
    }
}

const cebus_case cebus_cases_attention_rows[] = {
    {"attention/scattered", scattered},
    {"attention/causal", causal},
    {NULL, NULL},
};
