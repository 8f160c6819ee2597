/*
 * Losses against loops over single targets.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- over classes ------------------------------------------------------------------------- */

typedef struct class_loss {
    bool nll;
    cebus_class_loss_options options;
    cebus_tensor *target;
} class_loss;

static const char *name_of(const class_loss *loss)
{
    return loss->nll ? "nll_loss" : "cross_entropy";
}

static cebus_status run(cebus_runtime *rt, cebus_tensor *x, const class_loss *loss,
                        cebus_tensor **out)
{
    return (loss->nll ? cebus_nll_loss : cebus_cross_entropy)(rt, x, loss->target, &loss->options,
                                                              out);
}

/* The loss of one line of classes, `step` apart. */
static double line_loss(const double *x, int64_t classes, int64_t step, int64_t target,
                        const class_loss *loss)
{
    double sum = 0, total = 0, smoothing = loss->options.label_smoothing;
    if (loss->nll)
        return -x[target * step];
    for (int64_t c = 0; c < classes; c++) {
        sum += exp(x[c * step]);
        total += x[c * step];
    }
    return log(sum) - (1 - smoothing) * x[target * step] - smoothing * total / (double)classes;
}

/* The expected result, from the targets' values. */
static cebus_test_array reference(const cebus_test_array *x, const double *targets,
                                  const class_loss *loss)
{
    int dim = x->ndim == 1 ? 0 : 1;
    int64_t classes = x->shape[dim], step = 1, counted = 0;
    cebus_test_array want = {.numel = x->numel / classes};
    double total = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d != dim)
            want.shape[want.ndim++] = x->shape[d];
        step *= d > dim ? x->shape[d] : 1;
    }
    want.values = calloc((size_t)want.numel + 1, sizeof *want.values);
    for (int64_t i = 0; i < want.numel; i++) {
        int64_t target = (int64_t)targets[i];
        const double *line = x->values + i / step * classes * step + i % step;
        if (target == (loss->options.has_ignore_index ? loss->options.ignore_index : -100))
            continue;
        want.values[i] = line_loss(line, classes, step, target, loss);
        total += want.values[i];
        counted++;
    }
    if (loss->options.reduction != CEBUS_LOSS_NONE) {
        want.ndim = 0;
        want.numel = 1;
        want.values[0] =
            loss->options.reduction == CEBUS_LOSS_MEAN ? total / (double)counted : total;
    }
    return want;
}

/* Classes drawn at random; about a quarter of them `ignored` when that is wished. */
static cebus_tensor *make_targets(cebus_test *t, cebus_dtype dtype, const cebus_test_array *x,
                                  const class_loss *loss, double *values)
{
    int dim = x->ndim == 1 ? 0 : 1, ndim = 0;
    int64_t shape[CEBUS_MAX_DIMS], classes = x->shape[dim];
    for (int d = 0; d < x->ndim; d++) {
        if (d != dim)
            shape[ndim++] = x->shape[d];
    }
    double ignored = loss->options.has_ignore_index ? (double)loss->options.ignore_index : -100;
    for (int64_t i = 0; i < x->numel / classes; i++) {
        double u = (cebus_test_noise(77, (uint64_t)i) + 1) / 2;
        values[i] = x->ndim > 1 && i % 4 == 1 ? ignored : floor(u * (double)classes);
    }
    return cebus_test_from_doubles(t, dtype, values, ndim, shape);
}

static void check(cebus_test *t, cebus_dtype dtype, const cebus_test_array *x, class_loss loss)
{
    int64_t classes = x->shape[x->ndim == 1 ? 0 : 1];
    double *targets = malloc(((size_t)(x->numel / classes) + 1) * sizeof *targets);
    loss.target = make_targets(t, x->numel % 2 ? CEBUS_I32 : CEBUS_I64, x, &loss, targets);
    cebus_test_array want = reference(x, targets, &loss);
    cebus_tensor *out = NULL;
    OK(t, run(t->rt, x->tensor, &loss, &out));
    cebus_test_array_expect(t, name_of(&loss), out, &want, dtype,
                            dtype == CEBUS_F32 ? 4e-6 : 1e-12);
    free(targets);
    cebus_tensor_release(loss.target);
    cebus_test_array_drop(&want);
}

static const struct {
    int ndim;
    int64_t shape[5];
} cases[] = {
    {1, {7}},
    {2, {5, 9}},
    {2, {1, 1}},
    {2, {300, 65}},
    {3, {2, 5, 7}},
    {4, {2, 6, 3, 5}},
    {4, {3, 1, 2, 2}},
    {4, {2, 40, 1, 1}},
    {5, {2, 3, 2, 2, 2}},
    {4, {2, 3, 23, 29}},
};

static void class_values(cebus_test *t)
{
    static const class_loss losses[] = {
        {false, {.reduction = CEBUS_LOSS_MEAN}, NULL},
        {false, {.reduction = CEBUS_LOSS_SUM, .has_ignore_index = true}, NULL},
        {false, {.reduction = CEBUS_LOSS_NONE, .label_smoothing = 0.3}, NULL},
        {false, {.reduction = CEBUS_LOSS_MEAN, .label_smoothing = 1}, NULL},
        {true, {.reduction = CEBUS_LOSS_MEAN}, NULL},
        {true, {.reduction = CEBUS_LOSS_NONE, .has_ignore_index = true}, NULL},
    };
    for (size_t c = 0; c < LENGTH(cases); c++) {
        for (cebus_test_walk walk = 0; walk < CEBUS_WALKS; walk++) {
            for (cebus_dtype dtype = CEBUS_F32; dtype <= CEBUS_F64; dtype++) {
                cebus_test_array x =
                    cebus_test_array_noise(t, walk, dtype, c + 1, cases[c].ndim, cases[c].shape);
                for (size_t i = 0; i < LENGTH(losses); i++)
                    check(t, dtype, &x, losses[i]);
                cebus_test_array_drop(&x);
            }
        }
    }
}

static double item(cebus_test *t, cebus_tensor *x)
{
    double value = -12345;
    if (x == NULL || cebus_tensor_item(x, &value) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "item: %s", cebus_last_error()->message);
    cebus_tensor_release(x);
    return value;
}

static void class_extremes(cebus_test *t)
{
    static const double logits[] = {1000, -1000, 0, 5, 6, 7};
    for (cebus_dtype dtype = CEBUS_F32; dtype <= CEBUS_F64; dtype++) {
        cebus_test_array x = cebus_test_array_from(t, dtype, logits, 2, (int64_t[]){2, 3});
        cebus_test_array far =
            cebus_test_array_from(t, CEBUS_I64, (double[]){1, -100}, 1, (int64_t[]){2});
        cebus_test_array ignored =
            cebus_test_array_from(t, CEBUS_I64, (double[]){-100, -100}, 1, (int64_t[]){2});
        cebus_tensor *out = NULL;
        OK(t, cebus_cross_entropy(t->rt, x.tensor, far.tensor, NULL, &out));
        EXPECT(t, item(t, out) == 2000);
        OK(t, cebus_cross_entropy(t->rt, x.tensor, ignored.tensor, NULL, &out));
        EXPECT(t, isnan(item(t, out)));
        OK(t, cebus_nll_loss(t->rt, x.tensor, ignored.tensor, NULL, &out));
        EXPECT(t, isnan(item(t, out)));
        cebus_test_array_drop(&x);
        cebus_test_array_drop(&far);
        cebus_test_array_drop(&ignored);
    }
    cebus_test_array none =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (int64_t[]){0, 3});
    cebus_test_array targets = cebus_test_array_from(t, CEBUS_I64, NULL, 1, (int64_t[]){0});
    cebus_tensor *out = NULL;
    OK(t, cebus_cross_entropy(t->rt, none.tensor, targets.tensor,
                              &(cebus_class_loss_options){.reduction = CEBUS_LOSS_SUM}, &out));
    EXPECT(t, item(t, out) == 0);
    cebus_test_array_drop(&none);
    cebus_test_array_drop(&targets);
}

/* ---- gradients ------------------------------------------------------------------------------ */

static cebus_status class_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                   cebus_tensor **out)
{
    return run(rt, in[0], context, out);
}

static cebus_status channels_last_function(cebus_runtime *rt, cebus_tensor *const *in,
                                           void *context, cebus_tensor **out)
{
    cebus_tensor *x = NULL;
    cebus_status status = cebus_permute(rt, in[0], (const int[]){0, 3, 1, 2}, &x);
    if (status == CEBUS_OK)
        status = run(rt, x, context, out);
    cebus_tensor_release(x);
    return status;
}

/* Images [2, C, 2, 3], once as they are and once as a view of [2, 2, 3, C]. */
static void class_gradients(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 3, 4, (int64_t[]){2, 4, 2, 3});
    cebus_test_array y =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 4, 4, (int64_t[]){2, 2, 3, 4});
    double targets[12];
    class_loss plain = {0};
    cebus_tensor *target = make_targets(t, CEBUS_I64, &x, &plain, targets);
    OK(t, cebus_tensor_set_requires_grad(x.tensor, true));
    OK(t, cebus_tensor_set_requires_grad(y.tensor, true));
    for (int i = 0; i < 9; i++) {
        class_loss loss = {i >= 6, {.reduction = (cebus_loss_reduction)(i % 3)}, target};
        loss.options.label_smoothing = i / 3 == 1 ? 0.2 : 0;
        cebus_test_gradient(t, name_of(&loss), class_function, &loss, &x.tensor, 1);
        cebus_test_gradient(t, name_of(&loss), channels_last_function, &loss, &y.tensor, 1);
    }
    cebus_tensor_release(target);
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&y);
}

static void line_gradients(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 3, 2, (int64_t[]){6, 5});
    cebus_test_array one =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 3, 1, (int64_t[]){5});
    double targets[6];
    class_loss plain = {0};
    cebus_tensor *target = make_targets(t, CEBUS_I32, &x, &plain, targets);
    cebus_tensor *single = make_targets(t, CEBUS_I64, &one, &plain, targets);
    OK(t, cebus_tensor_set_requires_grad(x.tensor, true));
    OK(t, cebus_tensor_set_requires_grad(one.tensor, true));
    for (int i = 0; i < 6; i++) {
        class_loss loss = {i >= 3, {.reduction = (cebus_loss_reduction)(i % 3)}, target};
        cebus_test_gradient(t, name_of(&loss), class_function, &loss, &x.tensor, 1);
        loss.target = single;
        cebus_test_gradient(t, name_of(&loss), class_function, &loss, &one.tensor, 1);
    }
    cebus_tensor_release(target);
    cebus_tensor_release(single);
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&one);
}

/* The gradient of the mean of 90 lines of 65 classes, on a runtime of its own. NULL on failure. */
static cebus_tensor *threaded_gradient(cebus_test *t, int threads, cebus_dtype dtype)
{
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = threads;
    cebus_test other = *t;
    cebus_tensor *out = NULL, *grad = NULL;
    double targets[900];
    class_loss loss = {0};
    if (cebus_runtime_create(&options, &other.rt) != CEBUS_OK)
        return NULL;
    cebus_test_array x =
        cebus_test_array_noise(&other, CEBUS_WALK_PLAIN, dtype, 5, 2, (int64_t[]){900, 65});
    loss.target = make_targets(&other, CEBUS_I64, &x, &loss, targets);
    cebus_status status = cebus_tensor_set_requires_grad(x.tensor, true);
    if (status == CEBUS_OK)
        status = run(other.rt, x.tensor, &loss, &out);
    if (status == CEBUS_OK)
        status = cebus_backward(other.rt, out, NULL, false);
    if (status == CEBUS_OK)
        status = cebus_tensor_grad(x.tensor, &grad);
    cebus_tensor_release(out);
    cebus_tensor_release(loss.target);
    cebus_test_array_drop(&x);
    cebus_runtime_destroy(other.rt);
    return grad;
}

static void same_bits_for_any_threads(cebus_test *t)
{
    cebus_tensor *first = threaded_gradient(t, 1, CEBUS_F32);
    for (int threads = 1; threads <= cebus_test_most_threads(t); threads++) {
        cebus_tensor *again = threaded_gradient(t, threads, CEBUS_F32);
        cebus_test_same_bits(t, "cross_entropy", first, again);
        cebus_tensor_release(again);
    }
    cebus_tensor *wide = threaded_gradient(t, 1, CEBUS_F64);
    double *got = first != NULL ? cebus_test_doubles(t, first) : NULL;
    double *want = wide != NULL ? cebus_test_doubles(t, wide) : NULL;
    EXPECT(t, got != NULL && want != NULL);
    if (got != NULL && want != NULL)
        cebus_test_near(t, "f32 gradient", got, want, 900 * 65, 1e-5, 1e-8);
    free(got);
    free(want);
    cebus_tensor_release(first);
    cebus_tensor_release(wide);
}

/* ---- mean squared error ---------------------------------------------------------------------- */

static cebus_test_array mse_reference(const cebus_test_array *x, const cebus_test_array *y,
                                      cebus_loss_reduction reduction)
{
    cebus_test_array want = *x;
    double total = 0;
    want.tensor = NULL;
    want.values = calloc((size_t)x->numel + 1, sizeof *want.values);
    for (int64_t i = 0; i < x->numel; i++) {
        double difference = x->values[i] - y->values[i];
        want.values[i] = difference * difference;
        total += want.values[i];
    }
    if (reduction != CEBUS_LOSS_NONE) {
        want.values[0] = reduction == CEBUS_LOSS_MEAN ? total / (double)x->numel : total;
        want.ndim = 0;
        want.numel = 1;
    }
    return want;
}

static void mse_values(cebus_test *t)
{
    static const struct {
        int ndim;
        int64_t shape[4];
    } shapes[] = {{0, {0}}, {1, {9}}, {2, {0, 3}}, {4, {2, 3, 4, 5}}, {3, {60, 70, 41}}};
    for (size_t c = 0; c < LENGTH(shapes); c++) {
        for (int i = 0; i < CEBUS_WALKS * 2 * 3; i++) {
            cebus_dtype dtype = i % 2 ? CEBUS_F64 : CEBUS_F32;
            cebus_loss_reduction reduction = (cebus_loss_reduction)(i % 3);
            cebus_test_walk walk = (cebus_test_walk)(i / 6);
            cebus_test_array x =
                cebus_test_array_noise(t, walk, dtype, 2, shapes[c].ndim, shapes[c].shape);
            cebus_test_array y =
                cebus_test_array_noise(t, (cebus_test_walk)((walk + i % 2) % CEBUS_WALKS), dtype, 3,
                                       shapes[c].ndim, shapes[c].shape);
            cebus_test_array want = mse_reference(&x, &y, reduction);
            cebus_tensor *out = NULL;
            OK(t, cebus_mse_loss(t->rt, x.tensor, y.tensor, reduction, &out));
            cebus_test_array_expect(t, "mse_loss", out, &want, dtype,
                                    dtype == CEBUS_F32 ? 2e-6 : 1e-12);
            cebus_test_array_drop(&x);
            cebus_test_array_drop(&y);
            cebus_test_array_drop(&want);
        }
    }
}

typedef struct mse {
    cebus_loss_reduction reduction;
    bool turned; /* the target is transposed */
} mse;

static cebus_status mse_function(cebus_runtime *rt, cebus_tensor *const *in, void *context,
                                 cebus_tensor **out)
{
    const mse *m = context;
    cebus_tensor *target = NULL;
    cebus_status status = cebus_transpose(rt, in[1], 0, m->turned ? 1 : 0, &target);
    if (status == CEBUS_OK)
        status = cebus_mse_loss(rt, in[0], target, m->reduction, out);
    cebus_tensor_release(target);
    return status;
}

static void mse_gradients(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 3, 2, (int64_t[]){4, 4});
    cebus_test_array y =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 4, 2, (int64_t[]){4, 4});
    for (int i = 0; i < 18; i++) {
        mse m = {(cebus_loss_reduction)(i % 3), i / 3 % 2};
        OK(t, cebus_tensor_set_requires_grad(x.tensor, i / 6 != 1));
        OK(t, cebus_tensor_set_requires_grad(y.tensor, i / 6 != 0));
        cebus_test_gradient(t, "mse_loss", mse_function, &m, (cebus_tensor *[]){x.tensor, y.tensor},
                            2);
    }
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&y);
}

/* ---- errors ------------------------------------------------------------------------------------
 */

static void bad_targets(cebus_test *t, cebus_tensor *x, bool nll)
{
    cebus_tensor *out = x;
    class_loss loss = {.nll = nll};
    cebus_test_array high =
        cebus_test_array_from(t, CEBUS_I64, (double[]){0, 3}, 1, (int64_t[]){2});
    cebus_test_array low =
        cebus_test_array_from(t, CEBUS_I32, (double[]){-1, 0}, 1, (int64_t[]){2});
    cebus_test_array real =
        cebus_test_array_from(t, CEBUS_F32, (double[]){0, 1}, 1, (int64_t[]){2});
    cebus_test_array many =
        cebus_test_array_from(t, CEBUS_I64, (double[]){0, 1, 2}, 1, (int64_t[]){3});
    loss.target = high.tensor;
    FAILS_BY_DATA(t, "target 3 at position 1", &out, run(t->rt, x, &loss, &out));
    EXPECT(t, out == NULL && strcmp(cebus_last_error()->op, name_of(&loss)) == 0);
    loss.target = low.tensor;
    FAILS_BY_DATA(t, "classes lie in [0, 3)", &out, run(t->rt, x, &loss, &out));
    loss.target = real.tensor;
    FAILS(t, CEBUS_DTYPE_MISMATCH, "got f32", run(t->rt, x, &loss, &out));
    loss.target = many.tensor;
    FAILS(t, CEBUS_SHAPE_MISMATCH, "must have shape [2], got [3]", run(t->rt, x, &loss, &out));
    loss.target = NULL;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "target is NULL", run(t->rt, x, &loss, &out));
    EXPECT(t, out == NULL);
    cebus_test_array_drop(&high);
    cebus_test_array_drop(&low);
    cebus_test_array_drop(&real);
    cebus_test_array_drop(&many);
}

static void class_errors(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (int64_t[]){2, 3});
    cebus_test_array flat =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (int64_t[]){2, 0});
    cebus_test_array whole =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_I32, 1, 2, (int64_t[]){2, 3});
    cebus_test_array target =
        cebus_test_array_from(t, CEBUS_I64, (double[]){0, 1}, 1, (int64_t[]){2});
    cebus_tensor *out = x.tensor;
    for (int nll = 0; nll < 2; nll++) {
        class_loss loss = {nll, {.reduction = CEBUS_LOSS_MEAN}, target.tensor};
        bad_targets(t, x.tensor, nll);
        FAILS(t, CEBUS_DTYPE_MISMATCH, "i32", run(t->rt, whole.tensor, &loss, &out));
        FAILS(t, CEBUS_SHAPE_MISMATCH, "[2, 0] has no classes",
              run(t->rt, flat.tensor, &loss, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "x is NULL", run(t->rt, NULL, &loss, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "rt is NULL", run(NULL, x.tensor, &loss, &out));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL", run(t->rt, x.tensor, &loss, NULL));
        loss.options.label_smoothing = 1.5;
        FAILS(t, CEBUS_INVALID_ARGUMENT, "label_smoothing is 1.5",
              run(t->rt, x.tensor, &loss, &out));
        loss.options.label_smoothing = NAN;
        FAILS(t, CEBUS_INVALID_ARGUMENT, "label_smoothing", run(t->rt, x.tensor, &loss, &out));
        loss.options = (cebus_class_loss_options){.reduction = (cebus_loss_reduction)7};
        FAILS(t, CEBUS_INVALID_ARGUMENT, "reduction is 7", run(t->rt, x.tensor, &loss, &out));
        EXPECT(t, out == NULL);
    }
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&flat);
    cebus_test_array_drop(&whole);
    cebus_test_array_drop(&target);
}

static void mse_errors(cebus_test *t)
{
    cebus_test_array x =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 2, (int64_t[]){2, 3});
    cebus_test_array y =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F32, 1, 1, (int64_t[]){3});
    cebus_test_array wide =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_F64, 1, 2, (int64_t[]){2, 3});
    cebus_test_array whole =
        cebus_test_array_noise(t, CEBUS_WALK_PLAIN, CEBUS_U8, 1, 2, (int64_t[]){2, 3});
    cebus_tensor *out = x.tensor;
    FAILS(t, CEBUS_SHAPE_MISMATCH, "x has shape [2, 3] and the target [3]",
          cebus_mse_loss(t->rt, x.tensor, y.tensor, CEBUS_LOSS_MEAN, &out));
    EXPECT(t, out == NULL && strcmp(cebus_last_error()->op, "mse_loss") == 0);
    FAILS(t, CEBUS_DTYPE_MISMATCH, "x is f32 and the target f64",
          cebus_mse_loss(t->rt, x.tensor, wide.tensor, CEBUS_LOSS_MEAN, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "u8",
          cebus_mse_loss(t->rt, whole.tensor, whole.tensor, CEBUS_LOSS_MEAN, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "reduction is -1",
          cebus_mse_loss(t->rt, x.tensor, x.tensor, (cebus_loss_reduction)-1, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "x is NULL",
          cebus_mse_loss(t->rt, NULL, x.tensor, CEBUS_LOSS_MEAN, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "target is NULL",
          cebus_mse_loss(t->rt, x.tensor, NULL, CEBUS_LOSS_MEAN, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL",
          cebus_mse_loss(t->rt, x.tensor, x.tensor, CEBUS_LOSS_MEAN, NULL));
    cebus_test_array_drop(&x);
    cebus_test_array_drop(&y);
    cebus_test_array_drop(&wide);
    cebus_test_array_drop(&whole);
}

const cebus_case cebus_cases_loss[] = {
    {"loss: over classes, in every memory order", class_values},
    {"loss: far logits, nothing that counts, no targets", class_extremes, CEBUS_READS_VALUES},
    {"loss: gradients over images", class_gradients},
    {"loss: gradients over lines", line_gradients},
    {"loss: the same bits for any number of threads", same_bits_for_any_threads},
    {"loss: mean squared error", mse_values},
    {"loss: gradients of the mean squared error", mse_gradients},
    {"loss: errors over classes", class_errors, CEBUS_READS_VALUES},
    {"loss: errors of the mean squared error", mse_errors},
    {NULL, NULL},
};
