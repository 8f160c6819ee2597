/*
 * Optimizer steps against PyTorch's formulas written out in f64, over several steps; optimizer
 * objects; clipping.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/strided.h"

enum {
    ROWS = 6,
    COLUMNS = 7,
    N = ROWS * COLUMNS,
    STEPS = 5
};

static const int64_t shape[] = {ROWS, COLUMNS};

/* Parameter and state of the reference, element by element. */
typedef struct reference {
    double param[N], first[N], second[N];
} reference;

static double grad_at(int step, int i)
{
    return cebus_test_noise(100 + (uint64_t)step, (uint64_t)i);
}

static void reference_sgd(reference *r, int step, const cebus_sgd_options *how, double lr)
{
    for (int i = 0; i < N; i++) {
        double d = grad_at(step, i) + how->weight_decay * r->param[i];
        if (how->momentum != 0) {
            r->first[i] = step == 1 ? d : how->momentum * r->first[i] + (1 - how->dampening) * d;
            d = how->nesterov ? d + how->momentum * r->first[i] : r->first[i];
        }
        r->param[i] -= lr * d;
    }
}

static void reference_adam(reference *r, int step, const cebus_adam_options *how)
{
    double lr = how->lr != 0 ? how->lr : 1e-3, eps = how->eps != 0 ? how->eps : 1e-8;
    double beta1 = how->beta1 != 0 ? how->beta1 : 0.9, beta2 = how->beta2 != 0 ? how->beta2 : 0.999;
    for (int i = 0; i < N; i++) {
        double g = grad_at(step, i);
        if (how->decoupled)
            r->param[i] *= 1 - lr * how->weight_decay;
        else
            g += how->weight_decay * r->param[i];
        r->first[i] = beta1 * r->first[i] + (1 - beta1) * g;
        r->second[i] = beta2 * r->second[i] + (1 - beta2) * g * g;
        double root = sqrt(r->second[i]) / sqrt(1 - pow(beta2, step));
        r->param[i] -= lr / (1 - pow(beta1, step)) * r->first[i] / (root + eps);
    }
}

static void expect_near(cebus_test *t, const char *what, cebus_tensor *got, const double *want)
{
    double tolerance = cebus_tensor_dtype(got) == CEBUS_F32 ? 2e-6 : 1e-14;
    double *values = cebus_test_doubles(t, got);
    if (values)
        cebus_test_near(t, what, values, want, N, tolerance, tolerance);
    free(values);
}

/* The gradient of step `step` in one layout after the other. */
static cebus_tensor *make_grad(cebus_test *t, cebus_dtype dtype, int step)
{
    return cebus_test_strided_noise(t, (cebus_test_layout)(step % CEBUS_TEST_LAYOUTS), dtype,
                                    100 + (uint64_t)step, 2, shape);
}

static cebus_tensor *make_zeros(cebus_test *t, cebus_dtype dtype)
{
    static const double zeros[N];
    return cebus_test_from_doubles(t, dtype, zeros, 2, shape);
}

/* A parameter of noise, also copied to the reference as its type holds it. */
static cebus_tensor *make_param(cebus_test *t, cebus_dtype dtype, reference *out)
{
    cebus_tensor *param = cebus_test_strided_noise(t, CEBUS_TEST_PLAIN, dtype, 1, 2, shape);
    double *values = param ? cebus_test_doubles(t, param) : NULL;
    *out = (reference){0};
    if (values)
        memcpy(out->param, values, sizeof out->param);
    free(values);
    return param;
}

/* --- the step ops ------------------------------------------------------------------------- */

static void check_sgd(cebus_test *t, cebus_dtype dtype, const cebus_sgd_options *how)
{
    reference want;
    cebus_sgd_tensors tensors = {.param = make_param(t, dtype, &want)};
    if (how->momentum != 0)
        tensors.momentum = make_zeros(t, dtype);
    for (int step = 1; step <= STEPS; step++) {
        tensors.grad = make_grad(t, dtype, step);
        OK(t, cebus_sgd_step(t->rt, &tensors, step, how));
        reference_sgd(&want, step, how, how->lr);
        expect_near(t, "param", tensors.param, want.param);
        if (tensors.momentum)
            expect_near(t, "momentum", tensors.momentum, want.first);
        cebus_tensor_release(tensors.grad);
    }
    cebus_tensor_release(tensors.param);
    cebus_tensor_release(tensors.momentum);
}

static void sgd_values(cebus_test *t)
{
    for (int bits = 0; bits < 16; bits++) {
        cebus_sgd_options how = CEBUS_SGD_OPTIONS_INIT;
        how.lr = 0.05;
        how.weight_decay = bits & 1 ? 0.1 : 0;
        how.momentum = bits & 2 ? 0.9 : 0;
        how.dampening = bits & 4 ? 0.25 : 0;
        how.nesterov = (bits & 8) && how.momentum != 0 && how.dampening == 0;
        check_sgd(t, CEBUS_F32, &how);
        check_sgd(t, CEBUS_F64, &how);
    }
}

static void check_adam(cebus_test *t, cebus_dtype dtype, const cebus_adam_options *how)
{
    reference want;
    cebus_adam_tensors tensors = {make_param(t, dtype, &want), NULL, make_zeros(t, dtype),
                                  make_zeros(t, dtype)};
    for (int step = 1; step <= STEPS; step++) {
        tensors.grad = make_grad(t, dtype, step);
        OK(t, cebus_adam_step(t->rt, &tensors, step, how));
        reference_adam(&want, step, how);
        expect_near(t, "param", tensors.param, want.param);
        expect_near(t, "exp_avg", tensors.exp_avg, want.first);
        expect_near(t, "exp_avg_sq", tensors.exp_avg_sq, want.second);
        cebus_tensor_release(tensors.grad);
    }
    cebus_tensor_release(tensors.param);
    cebus_tensor_release(tensors.exp_avg);
    cebus_tensor_release(tensors.exp_avg_sq);
}

static void adam_values(cebus_test *t)
{
    static const cebus_adam_options cases[] = {
        CEBUS_ADAM_OPTIONS_INIT,
        {sizeof(cebus_adam_options), .lr = 0.02, .weight_decay = 0.1},
        {sizeof(cebus_adam_options), .lr = 0.02, .weight_decay = 0.1, .decoupled = true},
        {sizeof(cebus_adam_options), .lr = 0.1, .beta1 = 0.5, .beta2 = 0.75, .eps = 0.01},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_adam(t, CEBUS_F32, &cases[i]);
        check_adam(t, CEBUS_F64, &cases[i]);
    }
}

static void sgd_errors(cebus_test *t)
{
    cebus_tensor *a = make_zeros(t, CEBUS_F32), *b = make_zeros(t, CEBUS_F64), *turned = NULL;
    cebus_tensor *whole = make_zeros(t, CEBUS_I64);
    cebus_runtime *rt = t->rt;
    OK(t, cebus_transpose(rt, a, 0, 1, &turned));
    cebus_sgd_options how = CEBUS_SGD_OPTIONS_INIT;
    const cebus_sgd_tensors good = {a, a, NULL}, types = {a, b, NULL}, shapes = {a, turned, NULL};
    const cebus_sgd_tensors no_grad = {a, NULL, NULL}, extra = {a, a, a};
    const cebus_sgd_tensors ints = {whole, whole, NULL};
    FAILS(t, CEBUS_DTYPE_MISMATCH, "f64", cebus_sgd_step(rt, &types, 1, &how));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "i64", cebus_sgd_step(rt, &ints, 1, &how));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "[7, 6]", cebus_sgd_step(rt, &shapes, 1, &how));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_sgd_step(rt, &no_grad, 1, &how));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_sgd_step(rt, NULL, 1, &how));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "step", cebus_sgd_step(rt, &good, 0, &how));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "takes no", cebus_sgd_step(rt, &extra, 1, &how));
    how.nesterov = true;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "nesterov", cebus_sgd_step(rt, &good, 1, &how));
    how.nesterov = false;
    how.momentum = 0.5;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "needs", cebus_sgd_step(rt, &good, 1, &how));
    how.momentum = NAN;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "momentum", cebus_sgd_step(rt, &good, 1, &how));
    how.momentum = 0;
    how.lr = -1;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "lr", cebus_sgd_step(rt, &good, 1, &how));
    how.struct_size = 1;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "struct_size", cebus_sgd_step(rt, &good, 1, &how));
    cebus_tensor_release(a);
    cebus_tensor_release(b);
    cebus_tensor_release(turned);
    cebus_tensor_release(whole);
}

/* Options of a newer version: a zero tail is fine, a set one is refused. */
static void newer_options(cebus_test *t)
{
    struct {
        cebus_adam_options known;
        double unknown;
    } newer = {.known = {.struct_size = sizeof newer}};
    cebus_optimizer *optimizer = NULL;
    OK(t, cebus_optimizer_create_adam(t->rt, &newer.known, &optimizer));
    EXPECT(t, cebus_optimizer_lr(optimizer) == 1e-3);
    cebus_optimizer_destroy(optimizer);
    newer.unknown = 1;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "does not know",
          cebus_optimizer_create_adam(t->rt, &newer.known, &optimizer));
    EXPECT(t, optimizer == NULL);
    newer.unknown = 0;
    newer.known.beta1 = 1;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "beta1",
          cebus_optimizer_create_adam(t->rt, &newer.known, &optimizer));
    cebus_optimizer_destroy(NULL);
}

/* --- optimizer objects -------------------------------------------------------------------- */

/* A parameter as optimizers want it. */
static cebus_tensor *make_learner(cebus_test *t, cebus_dtype dtype, reference *out)
{
    cebus_tensor *param = make_param(t, dtype, out);
    if (param && (cebus_tensor_set_persistent(param) != CEBUS_OK ||
                  cebus_tensor_set_requires_grad(param, true) != CEBUS_OK))
        cebus_test_fail(t, __FILE__, __LINE__, "%s", cebus_last_error()->message);
    return param;
}

static void give_grad(cebus_test *t, cebus_tensor *param, int step)
{
    cebus_tensor *grad = make_grad(t, cebus_tensor_dtype(param), step);
    OK(t, cebus_tensor_set_grad(param, grad));
    cebus_tensor_release(grad);
}

/* Two parameters; the second gets its first gradient in step 3, so it counts its own steps. */
static void optimizer_steps(cebus_test *t)
{
    reference want[2];
    cebus_tensor *params[2], *state = NULL;
    cebus_optimizer *optimizer = NULL;
    const cebus_adam_options how = {sizeof how, .lr = 0.02, .weight_decay = 0.1, .decoupled = true};
    int64_t steps = 0;
    OK(t, cebus_optimizer_create_adam(t->rt, &how, &optimizer));
    for (int i = 0; i < 2; i++) {
        params[i] = make_learner(t, i ? CEBUS_F64 : CEBUS_F32, &want[i]);
        OK(t, cebus_optimizer_add(optimizer, params[i]));
    }
    EXPECT(t, cebus_optimizer_count(optimizer) == 2);
    for (int step = 1; step <= STEPS; step++) {
        give_grad(t, params[0], step);
        reference_adam(&want[0], step, &how);
        if (step >= 3) {
            give_grad(t, params[1], step - 2);
            reference_adam(&want[1], step - 2, &how);
        }
        OK(t, cebus_optimizer_step(optimizer));
        OK(t, cebus_optimizer_zero_grad(optimizer));
    }
    for (int i = 0; i < 2; i++) {
        expect_near(t, "param", params[i], want[i].param);
        OK(t, cebus_optimizer_state(optimizer, (size_t)i, CEBUS_ADAM_EXP_AVG_SQ, &state));
        EXPECT(t, cebus_tensor_is_persistent(state));
        expect_near(t, "exp_avg_sq", state, want[i].second);
        cebus_tensor_release(state);
        OK(t, cebus_optimizer_step_count(optimizer, (size_t)i, &steps));
        EXPECT(t, steps == (i ? STEPS - 2 : STEPS));
        cebus_tensor_release(params[i]);
    }
    cebus_optimizer_destroy(optimizer);
}

/* Without gradients nothing moves; a learning rate of 0 means 0. */
static void optimizer_rate(cebus_test *t)
{
    reference want;
    cebus_optimizer *optimizer = NULL;
    cebus_tensor *param = make_learner(t, CEBUS_F64, &want);
    const cebus_sgd_options how = CEBUS_SGD_OPTIONS_INIT;
    OK(t, cebus_optimizer_create_sgd(t->rt, NULL, &optimizer));
    OK(t, cebus_optimizer_add(optimizer, param));
    OK(t, cebus_optimizer_step(optimizer));
    expect_near(t, "no gradient", param, want.param);
    give_grad(t, param, 1);
    OK(t, cebus_optimizer_set_lr(optimizer, 0));
    OK(t, cebus_optimizer_step(optimizer));
    expect_near(t, "rate 0", param, want.param);
    OK(t, cebus_optimizer_set_lr(optimizer, 0.5));
    EXPECT(t, cebus_optimizer_lr(optimizer) == 0.5);
    OK(t, cebus_optimizer_step(optimizer));
    reference_sgd(&want, 1, &how, 0.5);
    expect_near(t, "rate 0.5", param, want.param);
    FAILS(t, CEBUS_INVALID_ARGUMENT, "-1", cebus_optimizer_set_lr(optimizer, -1));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "inf", cebus_optimizer_set_lr(optimizer, INFINITY));
    cebus_tensor_release(param);
    cebus_optimizer_destroy(optimizer);
}

/* Copies the elements of one tensor into another, outside the graph. */
static void load(cebus_test *t, cebus_tensor *to, cebus_tensor *from)
{
    float data[N];
    bool was_enabled = cebus_grad_enable(false);
    if (cebus_tensor_to_host(from, data, sizeof data) != CEBUS_OK ||
        cebus_tensor_set_from_host(to, data, sizeof data) != CEBUS_OK)
        cebus_test_fail(t, __FILE__, __LINE__, "%s", cebus_last_error()->message);
    cebus_grad_enable(was_enabled);
}

static void train(cebus_test *t, cebus_optimizer *optimizer, cebus_tensor *param, int from, int to)
{
    for (int step = from; step <= to; step++) {
        give_grad(t, param, step);
        OK(t, cebus_optimizer_step(optimizer));
    }
}

/* Momentum is saved and loaded into another optimizer, which goes on with the same bits. */
static void optimizer_save_and_load(cebus_test *t)
{
    reference ignored;
    cebus_tensor *params[2], *state[2];
    cebus_optimizer *optimizers[2];
    const cebus_sgd_options how = {sizeof how, .lr = 0.1, .momentum = 0.9, .dampening = 0.5};
    for (int i = 0; i < 2; i++) {
        params[i] = make_learner(t, CEBUS_F32, &ignored);
        OK(t, cebus_optimizer_create_sgd(t->rt, &how, &optimizers[i]));
        OK(t, cebus_optimizer_add(optimizers[i], params[i]));
        OK(t, cebus_optimizer_state(optimizers[i], 0, CEBUS_SGD_MOMENTUM, &state[i]));
    }
    train(t, optimizers[0], params[0], 1, 3);
    load(t, params[1], params[0]);
    load(t, state[1], state[0]);
    OK(t, cebus_optimizer_set_step_count(optimizers[1], 0, 3));
    for (int i = 0; i < 2; i++)
        train(t, optimizers[i], params[i], 4, 6);
    double *a = cebus_test_doubles(t, params[0]), *b = cebus_test_doubles(t, params[1]);
    if (a && b)
        cebus_test_near(t, "resumed", b, a, N, 0, 0);
    free(a);
    free(b);
    for (int i = 0; i < 2; i++) {
        cebus_tensor_release(state[i]);
        cebus_tensor_release(params[i]);
        cebus_optimizer_destroy(optimizers[i]);
    }
}

static void optimizer_errors(cebus_test *t)
{
    reference ignored;
    cebus_tensor *plain = make_param(t, CEBUS_F32, &ignored), *state = NULL;
    cebus_tensor *whole = make_zeros(t, CEBUS_I64);
    cebus_optimizer *optimizer = NULL, *none = NULL;
    int64_t steps;
    OK(t, cebus_optimizer_create_sgd(t->rt, NULL, &optimizer));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "set_persistent", cebus_optimizer_add(optimizer, plain));
    OK(t, cebus_tensor_set_persistent(plain));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "requires_grad", cebus_optimizer_add(optimizer, plain));
    OK(t, cebus_tensor_set_requires_grad(plain, true));
    OK(t, cebus_optimizer_add(optimizer, plain));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "before", cebus_optimizer_add(optimizer, plain));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "i64", cebus_optimizer_add(optimizer, whole));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_optimizer_add(optimizer, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_optimizer_add(NULL, plain));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "kind",
          cebus_optimizer_state(optimizer, 0, CEBUS_SGD_MOMENTUM, &state));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "parameter 1",
          cebus_optimizer_state(optimizer, 1, CEBUS_SGD_MOMENTUM, &state));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "parameter 1",
          cebus_optimizer_step_count(optimizer, 1, &steps));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "< 0", cebus_optimizer_set_step_count(optimizer, 0, -1));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_optimizer_step(NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_optimizer_zero_grad(NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "rt", cebus_optimizer_create_sgd(NULL, NULL, &none));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out", cebus_optimizer_create_adam(t->rt, NULL, NULL));
    EXPECT(t, none == NULL);
    cebus_tensor_release(plain);
    cebus_tensor_release(whole);
    cebus_optimizer_destroy(optimizer);
}

/* Two gradients that can be rebuilt, but do not fit in the budget together. */
static void step_out_of_memory(cebus_test *t)
{
    enum {
        LENGTH = 1 << 16
    };
    static const int64_t length[] = {LENGTH};
    static const double zeros[LENGTH];
    const uint64_t bytes = LENGTH * sizeof(float);
    cebus_tensor *params[2], *grad = NULL;
    cebus_optimizer *optimizer = NULL;
    OK(t, cebus_optimizer_create_sgd(t->rt, NULL, &optimizer));
    for (int i = 0; i < 2; i++) {
        params[i] = cebus_test_from_doubles(t, CEBUS_F32, zeros, 1, length);
        OK(t, cebus_tensor_set_persistent(params[i]));
        OK(t, cebus_tensor_set_requires_grad(params[i], true));
        OK(t, cebus_optimizer_add(optimizer, params[i]));
    }
    OK(t, cebus_runtime_set_budget(t->rt, 3 * bytes + bytes / 2));
    for (int i = 0; i < 2; i++) {
        OK(t, cebus_full(t->rt, 1, CEBUS_F32, 1, length, &grad));
        OK(t, cebus_tensor_set_grad(params[i], grad));
        cebus_tensor_release(grad);
    }
    FAILS(t, CEBUS_OUT_OF_MEMORY, "", cebus_optimizer_step(optimizer));
    FAILS(t, CEBUS_OUT_OF_MEMORY, "", cebus_clip_grad_norm(t->rt, params, 2, 1, NULL));
    double first;
    for (int i = 0; i < 2; i++) {
        cebus_tensor *view = NULL;
        OK(t, cebus_select(t->rt, params[i], 0, 5, &view));
        OK(t, cebus_tensor_item(view, &first));
        EXPECT(t, first == 0);
        cebus_tensor_release(view);
    }
    OK(t, cebus_runtime_set_budget(t->rt, 6 * bytes));
    OK(t, cebus_optimizer_step(optimizer));
    for (int i = 0; i < 2; i++) {
        double *values = cebus_test_doubles(t, params[i]);
        EXPECT(t, values && values[0] == (double)-1e-3F && values[LENGTH - 1] == values[0]);
        free(values);
        cebus_tensor_release(params[i]);
    }
    cebus_optimizer_destroy(optimizer);
}

/* A large parameter on one thread and on several: the same bits. */
static void threads_do_not_matter(cebus_test *t)
{
    static const int64_t large[] = {300, 211};
    double *results[2] = {NULL, NULL}, norms[2] = {0};
    for (int i = 0; i < 2; i++) {
        cebus_runtime_options options = {sizeof options, .threads = i ? 3 : 1};
        cebus_test other = {.name = t->name};
        OK(t, cebus_runtime_create(&options, &other.rt));
        cebus_tensor *x[4];
        for (int k = 0; k < 4; k++)
            x[k] = cebus_test_tensor(&other, CEBUS_F32, (uint64_t)k, 0.5, 0.5, 2, large);
        OK(t, cebus_tensor_set_requires_grad(x[0], true));
        OK(t, cebus_tensor_set_grad(x[0], x[1]));
        OK(t, cebus_clip_grad_norm(other.rt, x, 1, 10, &norms[i]));
        const cebus_adam_tensors tensors = {x[0], x[1], x[2], x[3]};
        OK(t, cebus_adam_step(other.rt, &tensors, 3, NULL));
        results[i] = cebus_test_doubles(&other, x[0]);
        for (int k = 0; k < 4; k++)
            cebus_tensor_release(x[k]);
        cebus_runtime_destroy(other.rt);
    }
    if (results[0] && results[1])
        cebus_test_near(t, "adam", results[1], results[0], 300 * 211, 0, 0);
    EXPECT(t, norms[0] == norms[1]);
    free(results[0]);
    free(results[1]);
}

/* --- clipping ----------------------------------------------------------------------------- */

enum {
    MANY = 70
};

/* `n` parameters of different types with strided gradients; the last has none. */
static void make_many(cebus_test *t, cebus_tensor **params, int n)
{
    static const cebus_dtype types[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16};
    for (int i = 0; i < n; i++) {
        cebus_dtype dtype = types[i % 4];
        params[i] = make_zeros(t, dtype);
        OK(t, cebus_tensor_set_requires_grad(params[i], true));
        if (i + 1 < n)
            give_grad(t, params[i], i);
    }
}

static double *grads_of(cebus_test *t, cebus_tensor **params, int n)
{
    double *all = calloc((size_t)n * N, sizeof *all);
    for (int i = 0; all && i < n; i++) {
        cebus_tensor *grad = NULL;
        double *values = NULL;
        if (cebus_tensor_grad(params[i], &grad) == CEBUS_OK && grad)
            values = cebus_test_doubles(t, grad);
        if (values)
            memcpy(all + i * N, values, N * sizeof *values);
        free(values);
        cebus_tensor_release(grad);
    }
    return all;
}

static void clip_values(cebus_test *t)
{
    cebus_tensor *params[MANY];
    make_many(t, params, MANY);
    double norm = 0, squares = 0;
    double *before = grads_of(t, params, MANY);
    for (int i = 0; i < MANY * N; i++)
        squares += before[i] * before[i];
    OK(t, cebus_clip_grad_norm(t->rt, params, MANY, INFINITY, &norm));
    cebus_test_near(t, "norm", &norm, &(double){sqrt(squares)}, 1, 1e-13, 0);
    OK(t, cebus_clip_grad_norm(t->rt, params, MANY, norm * 1.01, NULL));
    double *same = grads_of(t, params, MANY);
    cebus_test_near(t, "below the limit", same, before, MANY * N, 0, 0);
    OK(t, cebus_clip_grad_norm(t->rt, params, MANY, 0.5, &norm));
    double *after = grads_of(t, params, MANY);
    for (int i = 0; i < MANY * N; i++)
        before[i] *= 0.5 / (norm + 1e-6);
    cebus_test_near(t, "scaled", after, before, MANY * N, 4e-3, 1e-5);
    for (int i = 0; i < MANY; i += 4)
        cebus_test_near(t, "scaled f32", after + i * N, before + i * N, i + 1 < MANY ? N : 0, 1e-6,
                        0);
    OK(t, cebus_clip_grad_norm(t->rt, params, MANY, 100, &norm));
    cebus_test_near(t, "norm after", &norm, &(double){0.5}, 1, 1e-3, 0);
    free(before);
    free(same);
    free(after);
    for (int i = 0; i < MANY; i++)
        cebus_tensor_release(params[i]);
}

/* A norm that is not a number reaches every gradient; no gradients at all have the norm 0. */
static void clip_unusual(cebus_test *t)
{
    cebus_tensor *params[3];
    make_many(t, params, 3);
    double norm = 1;
    double values[N] = {NAN};
    cebus_tensor *grad = cebus_test_from_doubles(t, CEBUS_F32, values, 2, shape);
    OK(t, cebus_tensor_set_grad(params[0], grad));
    OK(t, cebus_clip_grad_norm(t->rt, params, 3, 1, &norm));
    EXPECT(t, isnan(norm));
    double *after = grads_of(t, params, 2);
    for (int i = 0; after && i < 2 * N; i++)
        EXPECT(t, isnan(after[i]));
    OK(t, cebus_clip_grad_norm(t->rt, params + 2, 1, 1, &norm));
    EXPECT(t, norm == 0);
    OK(t, cebus_clip_grad_norm(t->rt, NULL, 0, 1, &norm));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "max_norm", cebus_clip_grad_norm(t->rt, params, 3, -1, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "max_norm", cebus_clip_grad_norm(t->rt, params, 3, NAN, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "NULL", cebus_clip_grad_norm(t->rt, NULL, 3, 1, NULL));
    cebus_tensor *hole = NULL;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "parameter 0", cebus_clip_grad_norm(t->rt, &hole, 1, 1, NULL));
    free(after);
    cebus_tensor_release(grad);
    for (int i = 0; i < 3; i++)
        cebus_tensor_release(params[i]);
}

const cebus_case cebus_cases_optim[] = {
    {"optim/sgd_values", sgd_values},
    {"optim/adam_values", adam_values},
    {"optim/sgd_errors", sgd_errors},
    {"optim/newer_options", newer_options},
    {"optim/optimizer_steps", optimizer_steps},
    {"optim/optimizer_rate", optimizer_rate},
    {"optim/optimizer_save_and_load", optimizer_save_and_load},
    {"optim/optimizer_errors", optimizer_errors},
    {"optim/step_out_of_memory", step_out_of_memory, CEBUS_READS_VALUES},
    {"optim/threads_do_not_matter", threads_do_not_matter},
    {"optim/clip_values", clip_values},
    {"optim/clip_unusual", clip_unusual, CEBUS_READS_VALUES},
    {NULL, NULL},
};
