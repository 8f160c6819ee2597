/*
 * Reductions against loops over all elements, in every memory order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eager/ops/reduce.h"
#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- the ops, one calling convention ------------------------------------------------------ */

typedef enum operation {
    SUM,
    MEAN,
    MAX,
    MIN,
    ARGMAX,
    ARGMIN,
    VAR,
    LOGSUMEXP,
    KINDS
} operation;

static const char *const names[] = {"sum",    "mean",   "max", "min",
                                    "argmax", "argmin", "var", "logsumexp"};

typedef struct reduction {
    operation kind;
    int n_dims; /* -1: all, dims NULL */
    int dims[4];
    bool keepdim;
} reduction;

static cebus_status reduce(cebus_runtime *rt, cebus_tensor *x, const reduction *r,
                           cebus_tensor **out)
{
    typedef cebus_status (*entry)(cebus_runtime *, cebus_tensor *, int, const int *, bool,
                                  cebus_tensor **);
    static const entry entries[KINDS] = {cebus_sum,    cebus_mean,   cebus_max, cebus_min,
                                         cebus_argmax, cebus_argmin, NULL,      cebus_logsumexp};
    const int *dims = r->n_dims < 0 ? NULL : r->dims;
    int n_dims = r->n_dims < 0 ? 0 : r->n_dims;
    cebus_var_options options = {dims, n_dims, 1, r->keepdim};
    if (r->kind == VAR)
        return cebus_var(rt, x, &options, out);
    return entries[r->kind](rt, x, n_dims, dims, r->keepdim, out);
}

/* ---- reference ----------------------------------------------------------------------------- */

static bool is_reduced(const reduction *r, int ndim, int d)
{
    for (int i = 0; i < r->n_dims; i++) {
        if ((r->dims[i] + ndim) % ndim == d)
            return true;
    }
    return r->n_dims < 0;
}

/* Position in the output of element `i`, and its position among those that fall there. */
static void locate(const cebus_test_array *x, const reduction *r, int64_t i, int64_t *out_group,
                   int64_t *out_index)
{
    int64_t group_step = 1, index_step = 1;
    *out_group = *out_index = 0;
    for (int d = x->ndim - 1; d >= 0; d--) {
        int64_t coordinate = i % x->shape[d];
        i /= x->shape[d];
        if (is_reduced(r, x->ndim, d)) {
            *out_index += coordinate * index_step;
            index_step *= x->shape[d];
        } else {
            *out_group += coordinate * group_step;
            group_step *= x->shape[d];
        }
    }
}

static double reference_of(operation kind, const double *v, int64_t n)
{
    double sum = 0, squares = 0, exponentials = 0;
    int64_t largest = 0, smallest = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += v[i];
        exponentials += exp(v[i]);
        largest = v[i] > v[largest] ? i : largest;
        smallest = v[i] < v[smallest] ? i : smallest;
    }
    for (int64_t i = 0; i < n; i++)
        squares += (v[i] - sum / (double)n) * (v[i] - sum / (double)n);
    switch (kind) {
    case SUM:
        return sum;
    case MEAN:
        return sum / (double)n;
    case MAX:
        return v[largest];
    case MIN:
        return v[smallest];
    case ARGMAX:
        return (double)largest;
    case ARGMIN:
        return (double)smallest;
    case VAR:
        return squares / (double)(n - 1);
    default:
        return log(exponentials);
    }
}

static cebus_test_array reference(const cebus_test_array *x, const reduction *r)
{
    cebus_test_array want = {.numel = 1};
    int64_t n = 1;
    for (int d = 0; d < x->ndim; d++) {
        bool reduced = is_reduced(r, x->ndim, d);
        n *= reduced ? x->shape[d] : 1;
        want.numel *= reduced ? 1 : x->shape[d];
        if (!reduced || r->keepdim)
            want.shape[want.ndim++] = reduced ? 1 : x->shape[d];
    }
    double *sorted = malloc(((size_t)x->numel + 1) * sizeof *sorted);
    want.values = malloc(((size_t)want.numel + 1) * sizeof *want.values);
    for (int64_t i = 0; i < x->numel; i++) {
        int64_t group, index;
        locate(x, r, i, &group, &index);
        sorted[group * n + index] = x->values[i];
    }
    for (int64_t i = 0; i < want.numel; i++)
        want.values[i] = reference_of(r->kind, sorted + i * n, n);
    free(sorted);
    return want;
}

static cebus_dtype result_type(operation kind, cebus_dtype dtype)
{
    if (kind == ARGMAX || kind == ARGMIN || (kind == SUM && !cebus_dtype_is_float(dtype)))
        return CEBUS_I64;
    return dtype;
}

/* Sums of f32 are off by a few units of what they are made of, not of what they come to. */
static void check(cebus_test *t, const cebus_test_array *x, const reduction *r)
{
    cebus_dtype dtype = cebus_tensor_dtype(x->tensor);
    cebus_test_array want = reference(x, r);
    cebus_tensor *out = NULL;
    OK(t, reduce(t->rt, x->tensor, r, &out));
    EXPECT(t, cebus_tensor_is_contiguous(out));
    cebus_test_array_expect(t, names[r->kind], out, &want, result_type(r->kind, dtype),
                            dtype == CEBUS_F32 ? 2e-5 : 1e-12);
    cebus_test_array_drop(&want);
}

/* ---- values --------------------------------------------------------------------------------- */

static const struct {
    int ndim;
    int64_t shape[4];
    int n_dims;
    int dims[4];
} cases[] = {
    {0, {0}, -1, {0}},
    {0, {0}, 0, {0}},
    {1, {1}, -1, {0}},
    {1, {7}, 1, {0}},
    {1, {97}, -1, {0}},
    {2, {5, 9}, -1, {0}},
    {2, {5, 9}, 1, {0}},
    {2, {5, 9}, 1, {-1}},
    {2, {5, 9}, 0, {0}},
    {2, {40, 70}, 1, {1}},
    {2, {70, 40}, 1, {0}},
    {2, {1, 6}, 1, {0}},
    {2, {6, 1}, 1, {0}},
    {3, {4, 5, 6}, 1, {1}},
    {3, {4, 5, 6}, 2, {0, 2}},
    {3, {4, 5, 6}, 2, {2, 1}},
    {3, {4, 1, 6}, 2, {-3, -2}},
    {4, {3, 4, 5, 6}, 3, {0, 2, 3}},
    {4, {3, 4, 5, 6}, 2, {2, 3}},
    {4, {3, 4, 5, 6}, 2, {0, 2}},
    {4, {2, 33, 3, 5}, 1, {1}},
    {4, {2, 3, 33, 35}, 2, {1, 3}},
};

static void check_all_kinds(cebus_test *t, const cebus_test_array *x, size_t c)
{
    for (operation kind = 0; kind < KINDS; kind++) {
        reduction r = {.kind = kind, .n_dims = cases[c].n_dims, .keepdim = (c + kind) % 2 == 0};
        memcpy(r.dims, cases[c].dims, sizeof r.dims);
        bool single = kind == VAR && (x->numel == 1 || r.n_dims == 0); /* NaN: seen elsewhere */
        if (!single)
            check(t, x, &r);
    }
}

static void values(cebus_test *t)
{
    for (size_t c = 0; c < LENGTH(cases); c++) {
        for (cebus_test_walk walk = 0; walk < CEBUS_WALKS; walk++) {
            for (cebus_dtype dtype = CEBUS_F32; dtype <= CEBUS_F64; dtype++) {
                cebus_test_array x =
                    cebus_test_array_noise(t, walk, dtype, c + 1, cases[c].ndim, cases[c].shape);
                check_all_kinds(t, &x, c);
                cebus_test_array_drop(&x);
            }
        }
    }
}

static void integers(cebus_test *t)
{
    static const cebus_dtype types[] = {CEBUS_I64, CEBUS_I32, CEBUS_U8, CEBUS_BOOL};
    static const operation kinds[] = {SUM, MAX, MIN, ARGMAX, ARGMIN};
    for (size_t i = 0; i < LENGTH(types) * LENGTH(kinds); i++) {
        for (cebus_test_walk walk = 0; walk < CEBUS_WALKS; walk++) {
            cebus_test_array x = cebus_test_array_noise(t, walk, types[i % LENGTH(types)], i, 3,
                                                        (int64_t[]){3, 70, 40});
            for (int d = 0; d < 3; d++)
                check(t, &x, &(reduction){kinds[i / LENGTH(types)], 1, {d}, false});
            check(t, &x, &(reduction){kinds[i / LENGTH(types)], -1, {0}, true});
            cebus_test_array_drop(&x);
        }
    }
}

/* Long enough that a sum in f16 or bf16 itself would be lost. */
static void narrow_floats(cebus_test *t)
{
    static const cebus_dtype types[] = {CEBUS_F16, CEBUS_BF16};
    for (int i = 0; i < 2 * CEBUS_WALKS; i++) {
        double rounding = i % 2 ? 4e-3 : 5e-4;
        cebus_test_array x = cebus_test_array_noise(t, (cebus_test_walk)(i / 2), types[i % 2], 3, 2,
                                                    (int64_t[]){70, 900});
        for (int d = 0; d < 6; d++) {
            reduction r = {d / 3 ? MEAN : SUM, d % 3 == 2 ? -1 : 1, {d % 3}, false};
            cebus_test_array want = reference(&x, &r);
            cebus_tensor *out = NULL;
            OK(t, reduce(t->rt, x.tensor, &r, &out));
            cebus_test_array_expect(t, names[r.kind], out, &want, types[i % 2], rounding);
            cebus_test_array_drop(&want);
        }
        cebus_test_array_drop(&x);
    }
}

/* Enough elements for slices, several tiles of columns, and buffers that fill up. */
static void large(cebus_test *t)
{
    static const struct {
        int ndim;
        int64_t shape[4];
        int n_dims;
        int dims[4];
    } shapes[] = {
        {1, {300001}, -1, {0}},        {2, {4001, 70}, 1, {0}},
        {2, {70, 4001}, 1, {1}},       {2, {70, 4001}, 1, {0}},
        {2, {3, 100003}, 1, {1}},      {4, {8, 65, 14, 15}, 3, {0, 2, 3}},
        {3, {600, 3, 100}, 2, {0, 2}}, {3, {64, 32, 96}, 2, {0, 1}},
    };
    for (size_t i = 0; i < LENGTH(shapes); i++) {
        for (cebus_test_walk walk = 0; walk < CEBUS_WALKS; walk++) {
            cebus_test_array x =
                cebus_test_array_noise(t, walk, CEBUS_F32, i + 1, shapes[i].ndim, shapes[i].shape);
            /* A third of the ops for each order: together every op sees every shape. */
            for (operation kind = (operation)(walk % 3); kind < KINDS; kind += 3) {
                reduction r = {.kind = kind, .n_dims = shapes[i].n_dims};
                memcpy(r.dims, shapes[i].dims, sizeof r.dims);
                check(t, &x, &r);
            }
            cebus_test_array_drop(&x);
        }
    }
}

static double single(cebus_test *t, const cebus_test_array *x, operation kind)
{
    cebus_tensor *out = NULL;
    double value = -12345;
    if (reduce(t->rt, x->tensor, &(reduction){.kind = kind, .n_dims = -1}, &out) != CEBUS_OK ||
        cebus_tensor_item(out, &value) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "%s: %s", names[kind], cebus_last_error()->message);
    cebus_tensor_release(out);
    return value;
}

/* One f32 sum by a single running total would be off in the fourth digit here. */
static void accuracy(cebus_test *t)
{
    enum {
        N = 2000000
    };
    double *tenths = malloc(N * sizeof *tenths);
    for (int i = 0; i < N; i++)
        tenths[i] = (double)0.1F;
    cebus_test_array x = cebus_test_array_from(t, CEBUS_F32, tenths, 1, (int64_t[]){N});
    EXPECT(t, fabs(single(t, &x, SUM) / (N * (double)0.1F) - 1) < 2e-6);
    EXPECT(t, fabs(single(t, &x, VAR)) < 1e-14);
    free(tenths);
    cebus_test_array_drop(&x);
}

static void special_values(cebus_test *t)
{
    static const double with_nan[] = {1, NAN, 5, NAN}, up[] = {1, INFINITY, -INFINITY, 2};
    static const double lowest[] = {-INFINITY, -INFINITY}, high[] = {1000, 1000};
    for (cebus_dtype dtype = CEBUS_F32; dtype <= CEBUS_F64; dtype++) {
        cebus_test_array nans = cebus_test_array_from(t, dtype, with_nan, 1, (int64_t[]){4});
        EXPECT(t, isnan(single(t, &nans, MAX)) && isnan(single(t, &nans, MIN)));
        EXPECT(t, single(t, &nans, ARGMAX) == 1 && single(t, &nans, ARGMIN) == 1);
        EXPECT(t, isnan(single(t, &nans, SUM)) && isnan(single(t, &nans, LOGSUMEXP)));
        cebus_test_array_drop(&nans);
        cebus_test_array infinite = cebus_test_array_from(t, dtype, up, 1, (int64_t[]){4});
        EXPECT(t, single(t, &infinite, LOGSUMEXP) == INFINITY);
        EXPECT(t, single(t, &infinite, ARGMAX) == 1 && single(t, &infinite, ARGMIN) == 2);
        cebus_test_array_drop(&infinite);
        cebus_test_array low = cebus_test_array_from(t, dtype, lowest, 1, (int64_t[]){2});
        EXPECT(t, single(t, &low, LOGSUMEXP) == -INFINITY && single(t, &low, MAX) == -INFINITY);
        EXPECT(t, single(t, &low, ARGMAX) == 0);
        cebus_test_array_drop(&low);
        cebus_test_array far = cebus_test_array_from(t, dtype, high, 1, (int64_t[]){2});
        EXPECT(t, fabs(single(t, &far, LOGSUMEXP) - 1000 - log(2)) < 1e-4);
        cebus_test_array_drop(&far);
    }
}

static void empty(cebus_test *t)
{
    cebus_test_array none =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (int64_t[]){0, 3});
    EXPECT(t, single(t, &none, SUM) == 0);
    EXPECT(t, isnan(single(t, &none, MEAN)) && isnan(single(t, &none, VAR)));
    EXPECT(t, single(t, &none, LOGSUMEXP) == -INFINITY);
    check(t, &none, &(reduction){SUM, 1, {1}, false}); /* to no elements */
    check(t, &none, &(reduction){MAX, 1, {1}, true});
    cebus_tensor *out = NULL;
    OK(t, cebus_sum(t->rt, none.tensor, 1, (int[]){0}, false, &out));
    const cebus_test_array zeros = {
        .values = (double[]){0, 0, 0}, .ndim = 1, .shape = {3}, .numel = 3};
    cebus_test_array_expect(t, "sum of none", out, &zeros, CEBUS_F32, 0);
    cebus_test_array_drop(&none);
}

static void var_corrections(cebus_test *t)
{
    static const double four[] = {1, 2, 3, 6}; /* mean 3, squares 14 */
    cebus_test_array x = cebus_test_array_from(t, CEBUS_F64, four, 1, (int64_t[]){4});
    const double wanted[] = {3.5, 14.0 / 3, 7, 14, INFINITY, INFINITY};
    for (int correction = 0; correction < 6; correction++) {
        cebus_tensor *out = NULL;
        double value = -1;
        cebus_var_options options = {.correction = correction};
        OK(t, cebus_var(t->rt, x.tensor, &options, &out));
        OK(t, cebus_tensor_item(out, &value));
        EXPECT(t, value == wanted[correction]);
        cebus_tensor_release(out);
    }
    cebus_test_array one = cebus_test_array_from(t, CEBUS_F64, four, 0, NULL);
    EXPECT(t, isnan(single(t, &one, VAR)));
    cebus_test_array_drop(&one);
    cebus_test_array_drop(&x);
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* The input is transposed first, so that kernels see strides. */
static cebus_status transposed_reduction(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                         cebus_tensor **out)
{
    cebus_tensor *turned = NULL;
    cebus_status status = cebus_transpose(rt, in[0], 0, -1, &turned);
    if (status == CEBUS_OK)
        status = reduce(rt, turned, context, out);
    cebus_tensor_release(turned);
    return status;
}

static cebus_status plain_reduction(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                    cebus_tensor **out)
{
    return reduce(rt, in[0], context, out);
}

static void gradients(cebus_test *t)
{
    static const operation kinds[] = {SUM, MEAN, MAX, MIN, VAR, LOGSUMEXP};
    static const struct {
        int n_dims, dims[2];
    } over[] = {{-1, {0}}, {1, {0}}, {1, {2}}, {2, {0, 2}}, {1, {1}}, {2, {-1, -2}}};
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 3, 3, (int64_t[]){4, 3, 5});
    OK(t, cebus_tensor_set_requires_grad(x.tensor, true));
    for (size_t i = 0; i < LENGTH(kinds) * LENGTH(over); i++) {
        reduction r = {kinds[i / LENGTH(over)], over[i % LENGTH(over)].n_dims, {0}, i % 2 == 0};
        memcpy(r.dims, over[i % LENGTH(over)].dims, sizeof over[0].dims);
        cebus_test_gradient(t, names[r.kind], plain_reduction, &r, &x.tensor, 1);
        cebus_test_gradient(t, names[r.kind], transposed_reduction, &r, &x.tensor, 1);
    }
    cebus_test_array_drop(&x);
}

/* d(sum(reduction(x))) / dx; NULL on failure, which is recorded. */
static cebus_tensor *gradient_of(cebus_test *t, cebus_tensor *x, const reduction *r)
{
    cebus_tensor *out = NULL, *total = NULL, *grad = NULL;
    cebus_status status = cebus_tensor_set_requires_grad(x, true);
    if (status == CEBUS_OK)
        status = reduce(t->rt, x, r, &out);
    if (status == CEBUS_OK)
        status = cebus_sum(t->rt, out, 0, NULL, false, &total);
    if (status == CEBUS_OK)
        status = cebus_backward(t->rt, total, NULL, false);
    if (status == CEBUS_OK)
        status = cebus_tensor_grad(x, &grad);
    if (status != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "gradient: %s", cebus_last_error()->message);
    cebus_tensor_release(out);
    cebus_tensor_release(total);
    return grad;
}

/* f32 gradients run other loops than f64 ones. */
static void single_precision_gradients(cebus_test *t)
{
    static const operation kinds[] = {SUM, MEAN, MAX, VAR, LOGSUMEXP};
    const int64_t shape[] = {33, 70};
    for (size_t i = 0; i < 2 * LENGTH(kinds); i++) {
        reduction r = {kinds[i / 2], 1, {(int)(i % 2)}, false};
        cebus_test_array x = cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 7, 2, shape);
        cebus_test_array wide = cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 7, 2, shape);
        cebus_tensor *want = gradient_of(t, wide.tensor, &r);
        free(wide.values);
        wide.values = want != NULL ? cebus_test_doubles(t, want) : NULL;
        EXPECT(t, wide.values != NULL);
        if (wide.values != NULL)
            cebus_test_array_expect(t, names[r.kind], gradient_of(t, x.tensor, &r), &wide,
                                    CEBUS_F32, 1e-5);
        cebus_tensor_release(want);
        cebus_test_array_drop(&x);
        cebus_test_array_drop(&wide);
    }
}

static void narrow_gradient(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_BF16, 3, 2, (int64_t[]){4, 8});
    for (int i = 0; i < 32; i++)
        x.values[i] = 1.0 / 32;
    cebus_tensor *grad = gradient_of(t, x.tensor, &(reduction){.kind = MEAN, .n_dims = -1});
    cebus_test_array_expect(t, "mean", grad, &x, CEBUS_BF16, 0);
    cebus_test_array_drop(&x);
}

static void ties_share(cebus_test *t)
{
    static const double values_of[] = {1, 3, 3, 2, 3, 0, 0, -1};
    static const double shares[2][8] = {{0, .5, .5, 0, 1, 0, 0, 0}, {1, 0, 0, 0, 0, 0, 0, 1}};
    for (int i = 0; i < 2; i++) {
        cebus_test_array x = cebus_test_array_from(t, CEBUS_F32, values_of, 2, (int64_t[]){2, 4});
        memcpy(x.values, shares[i], sizeof shares[i]);
        cebus_tensor *grad = gradient_of(t, x.tensor, &(reduction){i ? MIN : MAX, 1, {1}, false});
        cebus_test_array_expect(t, "ties", grad, &x, CEBUS_F32, 0);
        cebus_test_array_drop(&x);
    }
}

/* ---- sum_to, bits, errors ---------------------------------------------------------------------
 */

static void sum_to(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 2, 3, (int64_t[]){4, 3, 5});
    static const struct {
        reduction r;
        cebus_view like;
    } targets[] = {
        {{SUM, 2, {0, 1}, false}, {.dtype = CEBUS_F64, .ndim = 1, .shape = {5}}},
        {{SUM, 3, {0, 1, 2}, false}, {.dtype = CEBUS_F64, .ndim = 0}},
        {{SUM, 1, {1}, true}, {.dtype = CEBUS_F64, .ndim = 3, .shape = {4, 1, 5}}},
    };
    for (size_t i = 0; i < LENGTH(targets); i++) {
        cebus_tensor *out = NULL;
        cebus_test_array want = reference(&x, &targets[i].r);
        OK(t, cebus_sum_to(t->rt, x.tensor, &targets[i].like, &out));
        cebus_test_array_expect(t, "sum_to", out, &want, CEBUS_F64, 1e-12);
        cebus_test_array_drop(&want);
    }
    cebus_view mixed = {.dtype = CEBUS_F64, .ndim = 2, .shape = {3, 1}};
    cebus_test_array want = reference(&x, &(reduction){SUM, 2, {0, 2}, false});
    cebus_tensor *out = NULL, *same = NULL;
    want.ndim = 2;
    want.shape[1] = 1;
    OK(t, cebus_sum_to(t->rt, x.tensor, &mixed, &out));
    cebus_test_array_expect(t, "sum_to", out, &want, CEBUS_F64, 1e-12);
    OK(t, cebus_sum_to(t->rt, x.tensor, cebus_tensor_view(x.tensor), &same));
    EXPECT(t, same == x.tensor);
    cebus_tensor_release(same);
    cebus_test_array_drop(&want);
    cebus_test_array_drop(&x);
}

/* The result of reducing the same noise on a runtime of its own with so many threads. */
static cebus_tensor *reduce_threaded(cebus_test *t, int threads, const reduction *r)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = threads;
    cebus_test other = *t;
    cebus_tensor *out = NULL;
    if (cebus_runtime_create(&options, &other.rt) != CEBUS_OK)
        return NULL;
    cebus_test_array x =
        cebus_test_array_noise(&other, CEBUS_WALK_PLAIN, CEBUS_F32, 5, 3, (int64_t[]){40, 50, 301});
    if (x.tensor != NULL && reduce(other.rt, x.tensor, r, &out) != CEBUS_OK)
        out = NULL;
    cebus_test_array_drop(&x);
    cebus_runtime_destroy(other.rt);
    return out;
}

static void same_bits_for_any_threads(cebus_test *t)
{
    static const struct {
        int n_dims, dims[2];
    } over[] = {{-1, {0}}, {1, {2}}, {2, {0, 1}}, {2, {0, 2}}};
    for (size_t i = 0; i < KINDS * LENGTH(over); i++) {
        reduction r = {(operation)(i / LENGTH(over)), over[i % LENGTH(over)].n_dims, {0}, false};
        memcpy(r.dims, over[i % LENGTH(over)].dims, sizeof over[0].dims);
        cebus_tensor *first = reduce_threaded(t, 1, &r);
        for (int threads = 1; threads <= cebus_test_most_threads(t); threads++) {
            cebus_tensor *again = reduce_threaded(t, threads, &r);
            cebus_test_same_bits(t, names[r.kind], first, again);
            cebus_tensor_release(again);
        }
        cebus_tensor_release(first);
    }
}

static void errors(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (int64_t[]){2, 3});
    cebus_test_array whole =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_I32, 1, 2, (int64_t[]){2, 3});
    cebus_test_array none =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (int64_t[]){2, 0});
    cebus_runtime *rt = t->rt;
    cebus_tensor *out = x.tensor;
    for (operation kind = 0; kind < KINDS; kind++) {
        reduction beyond = {kind, 1, {2}, false}, twice = {kind, 2, {1, -1}, false};
        reduction all = {kind, -1, {0}, false};
        FAILS(t, CEBUS_INVALID_ARGUMENT, "use -2 to 1", reduce(rt, x.tensor, &beyond, &out));
        EXPECT(t, out == NULL && strcmp(cebus_last_error()->op, names[kind]) == 0);
        FAILS(t, CEBUS_INVALID_ARGUMENT, "[2, 3] is given twice",
              reduce(rt, x.tensor, &twice, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "x is NULL", reduce(rt, NULL, &all, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "rt is NULL", reduce(NULL, x.tensor, &all, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL", reduce(rt, x.tensor, &all, NULL));
        if (kind == MEAN || kind == VAR || kind == LOGSUMEXP)
            FAILS(t, CEBUS_DTYPE_MISMATCH, "i32", reduce(rt, whole.tensor, &all, &out));
        if (kind >= MAX && kind <= ARGMIN)
            FAILS(t, CEBUS_INVALID_ARGUMENT, "[2, 0] is empty",
                  reduce(rt, none.tensor, &all, &out));
        EXPECT(t, out == NULL);
    }
    FAILS(t, CEBUS_INVALID_ARGUMENT, "n_dims is -3",
          cebus_sum(rt, x.tensor, -3, (int[]){0}, false, &out));
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&whole);
    cebus_test_array_drop(&none);
}

const cebus_case cebus_cases_reduce[] = {
    {"reduce: values in every memory order", values},
    {"reduce: integers and bool", integers},
    {"reduce: f16 and bf16", narrow_floats},
    {"reduce: gradient in bf16", narrow_gradient},
    {"reduce: large arrays", large},
    {"reduce: accuracy of long sums", accuracy, CEBUS_READS_VALUES},
    {"reduce: NaN and infinity", special_values, CEBUS_READS_VALUES},
    {"reduce: no elements", empty, CEBUS_READS_VALUES},
    {"reduce: corrections of var", var_corrections, CEBUS_READS_VALUES},
    {"reduce: gradients", gradients},
    {"reduce: gradients in f32", single_precision_gradients},
    {"reduce: equal extrema share the gradient", ties_share},
    {"reduce: sum_to", sum_to},
    {"reduce: the same bits for any number of threads", same_bits_for_any_threads},
    {"reduce: errors", errors},
    {NULL, NULL},
};
