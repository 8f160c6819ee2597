/*
 * Loss scaling: gradients that are not finite, the scale, steps that are taken or left out on the
 * device, and the scaler that joins them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/arrays.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const cebus_dtype floats[] = {CEBUS_F32, CEBUS_F64, CEBUS_F16, CEBUS_BF16};
static const int64_t shape[] = {5, 13};

static cebus_tensor *scalar(cebus_test *t, double value, cebus_dtype dtype)
{
    return cebus_test_from_doubles(t, dtype, &value, 0, NULL);
}

static double read_one(cebus_test *t, cebus_tensor *x)
{
    double *value = x != NULL ? cebus_test_doubles(t, x) : NULL, result = value ? *value : NAN;
    free(value);
    return result;
}

/* ---- non_finite -------------------------------------------------------------------------- */

static void expect_found(cebus_test *t, cebus_tensor *const *tensors, size_t n,
                         cebus_tensor *before, double want)
{
    cebus_tensor *found = NULL;
    OK(t, cebus_non_finite(t->rt, tensors, n, before, &found));
    EXPECT(t, cebus_tensor_dtype(found) == CEBUS_F32 && cebus_tensor_ndim(found) == 0);
    EXPECT(t, read_one(t, found) == want);
    cebus_tensor_release(found);
}

/* One element of many, in every memory order. */
static void found_anywhere(cebus_test *t)
{
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < LENGTH(floats); i++) {
        for (cebus_test_walk walk = 0; walk < CEBUS_WALK_EXPANDED; walk++) {
            cebus_test_array x = cebus_test_array_noise(t, walk, floats[i], 3, 2, shape);
            expect_found(t, &x.tensor, 1, NULL, 0);
            for (int k = 0; k < 6; k++) {
                cebus_tensor *one = NULL;
                int64_t row = k % 5, column = k * 7 % 13;
                cebus_tensor *line = NULL;
                OK(t, cebus_slice(t->rt, x.tensor, 0, row, row + 1, 1, &line));
                OK(t, cebus_slice(t->rt, line, 1, column, column + 1, 1, &one));
                OK(t, cebus_fill_(t->rt, one, bad[k % 3]));
                expect_found(t, &x.tensor, 1, NULL, 1);
                OK(t, cebus_fill_(t->rt, one, 0));
                expect_found(t, &x.tensor, 1, NULL, 0);
                cebus_tensor_release(one);
                cebus_tensor_release(line);
            }
            cebus_test_array_drop(&x);
        }
    }
}

static void found_among_many(cebus_test *t)
{
    enum {
        MANY = 150
    };
    cebus_tensor *all[MANY], *yes = scalar(t, 1, CEBUS_F32), *no = scalar(t, 0, CEBUS_F32);
    const int64_t three = 3;
    for (int i = 0; i < MANY; i++)
        OK(t, cebus_full(t->rt, i, floats[i % 4], 1, &three, &all[i]));
    expect_found(t, all, MANY, NULL, 0);
    expect_found(t, all, MANY, no, 0);
    expect_found(t, all, MANY, yes, 1);
    OK(t, cebus_fill_(t->rt, all[MANY - 1], NAN));
    expect_found(t, all, MANY, no, 1);
    expect_found(t, all, MANY - 1, no, 0);
    for (int i = 0; i < MANY; i++)
        cebus_tensor_release(all[i]);
    cebus_tensor_release(yes);
    cebus_tensor_release(no);
}

static void largest_numbers_are_finite(cebus_test *t)
{
    static const double largest[] = {0x1.fffffep127, 0x1.fffffffffffffp1023, 65504, 0x1.fep127};
    for (size_t i = 0; i < LENGTH(floats); i++) {
        cebus_tensor *x = scalar(t, largest[i], floats[i]);
        expect_found(t, &x, 1, NULL, 0);
        cebus_tensor_release(x);
    }
}

/* ---- unscale_grad ------------------------------------------------------------------------ */

static void divided(cebus_test *t)
{
    cebus_tensor *scale = scalar(t, 1024, CEBUS_F32);
    for (size_t i = 0; i < LENGTH(floats); i++) {
        for (cebus_test_walk walk = 0; walk < CEBUS_WALK_EXPANDED; walk++) {
            cebus_test_array x = cebus_test_array_noise(t, walk, floats[i], 3, 2, shape);
            OK(t, cebus_unscale_grad(t->rt, x.tensor, scale));
            for (int64_t k = 0; k < x.numel; k++)
                x.values[k] /= 1024;
            double *got = cebus_test_doubles(t, x.tensor);
            /* In f16 small numbers lose bits. */
            cebus_test_near(t, "unscaled", got, x.values, x.numel, 0,
                            floats[i] == CEBUS_F16 ? 0x1p-25 : 0);
            free(got);
            cebus_test_array_drop(&x);
        }
    }
    cebus_tensor_release(scale);
}

/* ---- update_scale ------------------------------------------------------------------------ */

static void scale_follows(cebus_test *t)
{
    static const double found[] = {0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0};
    cebus_grad_scaler_options how = CEBUS_GRAD_SCALER_OPTIONS_INIT;
    how.growth_factor = 3;
    how.backoff_factor = 0.25;
    how.growth_interval = 3;
    cebus_tensor *scale = scalar(t, 64, CEBUS_F32), *tracker = scalar(t, 0, CEBUS_I32);
    double want = 64;
    int count = 0;
    for (size_t i = 0; i < LENGTH(found); i++) {
        cebus_tensor *now = scalar(t, found[i], CEBUS_F32);
        OK(t, cebus_update_scale(t->rt, scale, tracker, now, &how));
        count = found[i] != 0 ? 0 : count + 1;
        want *= found[i] != 0 ? 0.25 : count == 3 ? 3 : 1;
        count %= 3;
        EXPECT(t, read_one(t, scale) == want);
        EXPECT(t, read_one(t, tracker) == count);
        cebus_tensor_release(now);
    }
    cebus_tensor_release(scale);
    cebus_tensor_release(tracker);
}

/* A scale that would not be finite stays. */
static void scale_stays_finite(cebus_test *t)
{
    cebus_grad_scaler_options how = CEBUS_GRAD_SCALER_OPTIONS_INIT;
    how.growth_interval = 1;
    cebus_tensor *scale = scalar(t, 0x1p126, CEBUS_F32), *tracker = scalar(t, 0, CEBUS_I32);
    cebus_tensor *found = scalar(t, 0, CEBUS_F32);
    for (int i = 0; i < 3; i++)
        OK(t, cebus_update_scale(t->rt, scale, tracker, found, &how));
    EXPECT(t, read_one(t, scale) == 0x1p127 && read_one(t, tracker) == 0);
    cebus_tensor_release(scale);
    cebus_tensor_release(tracker);
    cebus_tensor_release(found);
}

/* ---- steps ------------------------------------------------------------------------------- */

typedef struct state {
    cebus_tensor *param, *first, *second;
} state;

static state make_state(cebus_test *t, cebus_dtype dtype)
{
    return (state){
        .param = cebus_test_tensor(t, dtype, 1, 1, 0, 2, shape),
        .first = cebus_test_tensor(t, dtype, 2, 0, 0, 2, shape),
        .second = cebus_test_tensor(t, dtype, 3, 0, 0, 2, shape),
    };
}

static void drop_state(state *s)
{
    cebus_tensor_release(s->param);
    cebus_tensor_release(s->first);
    cebus_tensor_release(s->second);
}

static void expect_same(cebus_test *t, const state *a, const state *b)
{
    cebus_test_same_bits(t, "parameter", a->param, b->param);
    cebus_test_same_bits(t, "first state", a->first, b->first);
    cebus_test_same_bits(t, "second state", a->second, b->second);
}

/* One step of kind 0: SGD, 1: with momentum, 2: Adam. */
static cebus_status step(cebus_test *t, int kind, const state *s, cebus_tensor *grad,
                         cebus_step_scaling scaling, int64_t number)
{
    cebus_sgd_options sgd = CEBUS_SGD_OPTIONS_INIT;
    cebus_adam_options adam = CEBUS_ADAM_OPTIONS_INIT;
    sgd.momentum = kind == 1 ? 0.9 : 0;
    sgd.dampening = kind == 1 ? 0.25 : 0;
    sgd.lr = adam.lr = 0.125;
    adam.weight_decay = sgd.weight_decay = 0.01;
    const cebus_sgd_tensors simple = {s->param, grad, kind == 1 ? s->first : NULL, scaling};
    const cebus_adam_tensors tensors = {s->param, grad, s->first, s->second, scaling};
    return kind == 2 ? cebus_adam_step(t->rt, &tensors, number, &adam)
                     : cebus_sgd_step(t->rt, &simple, number, &sgd);
}

/* Steps of gradients that are 4096 times too large end in the bits of plain steps; those in between
 * whose gradients are not finite leave no trace. */
static void check_steps(cebus_test *t, int kind, cebus_dtype dtype)
{
    state plain = make_state(t, dtype), scaled = make_state(t, dtype);
    cebus_tensor *zero = scalar(t, 0, CEBUS_F32), *one = scalar(t, 1, CEBUS_F32);
    cebus_step_scaling scaling = {scalar(t, 0, CEBUS_I64), scalar(t, 4096, CEBUS_F32), one};
    for (int i = 1; i <= 4; i++) {
        cebus_tensor *grad = cebus_test_tensor(t, dtype, 10 + (uint64_t)i, 1, 0, 2, shape);
        cebus_tensor *large = cebus_test_tensor(t, dtype, 10 + (uint64_t)i, 4096, 0, 2, shape);
        scaling.found_inf = one;
        OK(t, step(t, kind, &scaled, large, scaling, 0));
        expect_same(t, &plain, &scaled);
        EXPECT(t, read_one(t, scaling.steps) == i - 1);
        scaling.found_inf = i % 2 ? zero : NULL;
        OK(t, step(t, kind, &plain, grad, (cebus_step_scaling){NULL, NULL, NULL}, i));
        OK(t, step(t, kind, &scaled, large, scaling, 0));
        expect_same(t, &plain, &scaled);
        EXPECT(t, read_one(t, scaling.steps) == i);
        cebus_tensor_release(grad);
        cebus_tensor_release(large);
    }
    cebus_tensor_release(scaling.steps);
    cebus_tensor_release(scaling.scale);
    cebus_tensor_release(zero);
    cebus_tensor_release(one);
    drop_state(&plain);
    drop_state(&scaled);
}

static void steps(cebus_test *t)
{
    for (int kind = 0; kind < 3; kind++) {
        check_steps(t, kind, CEBUS_F32);
        check_steps(t, kind, CEBUS_F64);
    }
}

/* ---- the scaler -------------------------------------------------------------------------- */

typedef struct trainer {
    cebus_tensor *param;
    cebus_optimizer *optimizer;
    cebus_grad_scaler *scaler;
} trainer;

static trainer make_trainer(cebus_test *t, bool scaled)
{
    trainer made = {.param = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, shape)};
    cebus_adam_options adam = CEBUS_ADAM_OPTIONS_INIT;
    cebus_grad_scaler_options how = CEBUS_GRAD_SCALER_OPTIONS_INIT;
    adam.lr = 0.01;
    how.init_scale = 256;
    how.growth_interval = 3;
    if (cebus_tensor_set_persistent(made.param) != CEBUS_OK ||
        cebus_tensor_set_requires_grad(made.param, true) != CEBUS_OK ||
        cebus_optimizer_create_adam(t->rt, &adam, &made.optimizer) != CEBUS_OK ||
        cebus_optimizer_add(made.optimizer, made.param) != CEBUS_OK ||
        (scaled && cebus_grad_scaler_create(t->rt, &how, &made.scaler) != CEBUS_OK))
        cebus_test_fail(t, __FILE__, __LINE__, "%s", cebus_last_error()->message);
    return made;
}

static void drop_trainer(trainer *all)
{
    cebus_grad_scaler_destroy(all->scaler);
    cebus_optimizer_destroy(all->optimizer);
    cebus_tensor_release(all->param);
}

/* Gradients of mean((param x)^2), x in `dtype`: `factor` makes them overflow or not. */
static cebus_status differentiate(cebus_test *t, const trainer *all, cebus_dtype dtype,
                                  double factor)
{
    cebus_tensor *narrow = NULL, *x = NULL, *loss = NULL, *scaled = NULL;
    cebus_status status = cebus_cast(t->rt, all->param, dtype, &narrow);
    if (status == CEBUS_OK)
        status = cebus_mul_scalar(t->rt, narrow, factor, &x);
    cebus_tensor_release(narrow);
    if (status == CEBUS_OK)
        status = cebus_square(t->rt, x, &narrow);
    if (status == CEBUS_OK)
        status = cebus_mean(t->rt, narrow, -1, NULL, false, &loss);
    if (status == CEBUS_OK && all->scaler != NULL)
        status = cebus_grad_scaler_scale(all->scaler, loss, &scaled);
    if (status == CEBUS_OK)
        status = cebus_backward(t->rt, scaled != NULL ? scaled : loss, NULL, false);
    cebus_tensor_release(narrow);
    cebus_tensor_release(x);
    cebus_tensor_release(loss);
    cebus_tensor_release(scaled);
    return status;
}

static double scale_of(cebus_test *t, const trainer *all)
{
    cebus_tensor *scale = NULL;
    double value =
        cebus_grad_scaler_tensor(all->scaler, &scale) == CEBUS_OK ? read_one(t, scale) : 0;
    cebus_tensor_release(scale);
    return value;
}

static int64_t count_of(const trainer *all)
{
    int64_t count = -1;
    return cebus_optimizer_step_count(all->optimizer, 0, &count) == CEBUS_OK ? count : -1;
}

/* In f32 a power of two changes no bit: as without a scaler, but for the steps left out. */
static void scaler_trains(cebus_test *t)
{
    static const double factors[] = {1, 1, 1e30, 2, 1, 1, 1e30, 1e30, 1};
    static const double scales[] = {256, 256, 128, 128, 128, 256, 128, 64, 64};
    trainer plain = make_trainer(t, false), scaled = make_trainer(t, true);
    int64_t taken = 0;
    for (size_t i = 0; i < LENGTH(factors); i++) {
        OK(t, differentiate(t, &scaled, CEBUS_F32, factors[i]));
        OK(t, cebus_grad_scaler_step(scaled.scaler, scaled.optimizer));
        OK(t, cebus_grad_scaler_update(scaled.scaler));
        OK(t, cebus_optimizer_zero_grad(scaled.optimizer));
        if (factors[i] < 1e30) {
            OK(t, differentiate(t, &plain, CEBUS_F32, factors[i]));
            OK(t, cebus_optimizer_step(plain.optimizer));
            OK(t, cebus_optimizer_zero_grad(plain.optimizer));
            taken++;
        }
        cebus_test_same_bits(t, "parameter", plain.param, scaled.param);
        EXPECT(t, scale_of(t, &scaled) == scales[i]);
        EXPECT(t, count_of(&scaled) == taken && count_of(&plain) == taken);
    }
    /* A step without the scaler goes on counting. */
    OK(t, differentiate(t, &plain, CEBUS_F32, 1));
    OK(t, cebus_optimizer_step(plain.optimizer));
    cebus_grad_scaler_destroy(scaled.scaler);
    scaled.scaler = NULL;
    OK(t, differentiate(t, &scaled, CEBUS_F32, 1));
    OK(t, cebus_optimizer_step(scaled.optimizer));
    cebus_test_same_bits(t, "parameter", plain.param, scaled.param);
    EXPECT(t, count_of(&scaled) == taken + 1);
    OK(t, cebus_optimizer_set_step_count(scaled.optimizer, 0, 5));
    EXPECT(t, count_of(&scaled) == 5);
    drop_trainer(&plain);
    drop_trainer(&scaled);
}

/* Small gradients survive f16 with a scale, and are lost without. */
static void scaler_keeps_small_gradients(cebus_test *t)
{
    for (int scaled = 0; scaled < 2; scaled++) {
        trainer all = make_trainer(t, scaled);
        cebus_tensor *grad = NULL;
        if (scaled) {
            cebus_tensor *scale = NULL;
            OK(t, cebus_grad_scaler_tensor(all.scaler, &scale));
            OK(t, cebus_fill_(t->rt, scale, 65536));
            cebus_tensor_release(scale);
        }
        OK(t, differentiate(t, &all, CEBUS_F16, 0.0005));
        OK(t, cebus_tensor_grad(all.param, &grad));
        double *values = cebus_test_doubles(t, grad), *param = cebus_test_doubles(t, all.param);
        double lost = 0;
        for (int i = 0; values != NULL && param != NULL && i < 65; i++)
            lost += values[i] == 0 && param[i] != 0;
        EXPECT(t, scaled ? lost < 5 : lost == 65);
        free(values);
        free(param);
        cebus_tensor_release(grad);
        drop_trainer(&all);
    }
}

/* Unscaled first, for clipping: the same step. */
static void scaler_unscales(cebus_test *t)
{
    trainer plain = make_trainer(t, false), scaled = make_trainer(t, true);
    for (int i = 0; i < 3; i++) {
        double norm = 0, want = 0;
        OK(t, differentiate(t, &plain, CEBUS_F32, 3));
        OK(t, cebus_clip_grad_norm(t->rt, &plain.param, 1, 0.01, &want));
        OK(t, cebus_optimizer_step(plain.optimizer));
        OK(t, differentiate(t, &scaled, CEBUS_F32, 3));
        OK(t, cebus_grad_scaler_unscale(scaled.scaler, scaled.optimizer));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "unscaled already",
              cebus_grad_scaler_unscale(scaled.scaler, scaled.optimizer));
        OK(t, cebus_clip_grad_norm(t->rt, &scaled.param, 1, 0.01, &norm));
        EXPECT(t, norm == want);
        OK(t, cebus_grad_scaler_step(scaled.scaler, scaled.optimizer));
        OK(t, cebus_grad_scaler_update(scaled.scaler));
        cebus_test_same_bits(t, "parameter", plain.param, scaled.param);
        OK(t, cebus_optimizer_zero_grad(plain.optimizer));
        OK(t, cebus_optimizer_zero_grad(scaled.optimizer));
    }
    drop_trainer(&plain);
    drop_trainer(&scaled);
}

/* One scaler, two optimizers: what one finds halves the scale, but only its own step is left out.
 */
static void scaler_of_two(cebus_test *t)
{
    trainer one = make_trainer(t, true), two = make_trainer(t, false);
    cebus_tensor *before = NULL;
    two.scaler = one.scaler;
    OK(t, cebus_clone(t->rt, two.param, &before));
    OK(t, differentiate(t, &one, CEBUS_F32, 1));
    OK(t, differentiate(t, &two, CEBUS_F32, 1e30));
    OK(t, cebus_grad_scaler_step(one.scaler, one.optimizer));
    OK(t, cebus_grad_scaler_step(one.scaler, two.optimizer));
    OK(t, cebus_grad_scaler_update(one.scaler));
    EXPECT(t, count_of(&one) == 1 && count_of(&two) == 0);
    EXPECT(t, scale_of(t, &one) == 128);
    cebus_test_same_bits(t, "parameter", before, two.param);
    two.scaler = NULL;
    cebus_tensor_release(before);
    drop_trainer(&one);
    drop_trainer(&two);
}

/* ---- errors ------------------------------------------------------------------------------ */

static void op_errors(cebus_test *t)
{
    cebus_tensor *x = cebus_test_tensor(t, CEBUS_F32, 1, 1, 0, 2, shape), *out = x, *none = NULL;
    cebus_tensor *whole = scalar(t, 1, CEBUS_I64), *one = scalar(t, 1, CEBUS_F32);
    cebus_tensor *narrow = scalar(t, 0, CEBUS_I32);
    FAILS(t, CEBUS_INVALID_ARGUMENT, "tensors is NULL",
          cebus_non_finite(t->rt, NULL, 1, NULL, &out));
    EXPECT(t, out == NULL);
    FAILS(t, CEBUS_INVALID_ARGUMENT, "there are none", cebus_non_finite(t->rt, &x, 0, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "tensor 0 is NULL",
          cebus_non_finite(t->rt, &none, 1, NULL, &out));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "out is NULL", cebus_non_finite(t->rt, &x, 1, NULL, NULL));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "got i64", cebus_non_finite(t->rt, &whole, 1, NULL, &out));
    FAILS(t, CEBUS_SHAPE_MISMATCH, "before must be f32 of no dimensions, got f32 [5, 13]",
          cebus_non_finite(t->rt, &x, 1, x, &out));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "scale must be f32", cebus_unscale_grad(t->rt, x, whole));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "must be given", cebus_unscale_grad(t->rt, x, NULL));
    FAILS(t, CEBUS_DTYPE_MISMATCH, "tracker must be i32",
          cebus_update_scale(t->rt, one, whole, one, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "must be given",
          cebus_update_scale(t->rt, one, narrow, NULL, NULL));
    cebus_grad_scaler_options how = CEBUS_GRAD_SCALER_OPTIONS_INIT;
    how.backoff_factor = 2;
    FAILS(t, CEBUS_INVALID_ARGUMENT, "backoff_factor is 2",
          cebus_update_scale(t->rt, one, narrow, one, &how));
    cebus_tensor_release(x);
    cebus_tensor_release(whole);
    cebus_tensor_release(one);
    cebus_tensor_release(narrow);
}

static void step_errors(cebus_test *t)
{
    state s = make_state(t, CEBUS_F32);
    cebus_tensor *grad = cebus_test_tensor(t, CEBUS_F32, 9, 1, 0, 2, shape);
    cebus_tensor *one = scalar(t, 1, CEBUS_F32), *count = scalar(t, 0, CEBUS_I64);
    for (int kind = 0; kind < 3; kind++) {
        FAILS(t, CEBUS_INVALID_ARGUMENT, "give scaling.steps",
              step(t, kind, &s, grad, (cebus_step_scaling){NULL, one, NULL}, 1));
        FAILS(t, CEBUS_INVALID_ARGUMENT, "step is 0: it counts from 1",
              step(t, kind, &s, grad, (cebus_step_scaling){NULL, NULL, NULL}, 0));
        FAILS(t, CEBUS_DTYPE_MISMATCH, "scaling.steps must be i64",
              step(t, kind, &s, grad, (cebus_step_scaling){one, NULL, NULL}, 0));
        FAILS(t, CEBUS_DTYPE_MISMATCH, "scaling.scale must be f32",
              step(t, kind, &s, grad, (cebus_step_scaling){count, count, NULL}, 0));
        FAILS(t, CEBUS_SHAPE_MISMATCH, "scaling.found_inf must be f32 of no dimensions",
              step(t, kind, &s, grad, (cebus_step_scaling){count, one, grad}, 0));
    }
    cebus_tensor_release(grad);
    cebus_tensor_release(one);
    cebus_tensor_release(count);
    drop_state(&s);
}

static void scaler_errors(cebus_test *t)
{
    cebus_grad_scaler *scaler = NULL;
    trainer all = make_trainer(t, true);
    const double wrong[][4] = {{-1, 2, 0.5, 1}, {1, 1, 0.5, 1}, {1, 2, 1, 1}, {1, 2, 0.5, -1}};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        cebus_grad_scaler_options how = CEBUS_GRAD_SCALER_OPTIONS_INIT;
        how.init_scale = wrong[i][0];
        how.growth_factor = wrong[i][1];
        how.backoff_factor = wrong[i][2];
        how.growth_interval = (int64_t)wrong[i][3];
        FAILS(t, CEBUS_INVALID_ARGUMENT, "", cebus_grad_scaler_create(t->rt, &how, &scaler));
        EXPECT(t, scaler == NULL);
    }
    FAILS(t, CEBUS_INVALID_ARGUMENT, "rt is NULL", cebus_grad_scaler_create(NULL, NULL, &scaler));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "no optimizer has stepped",
          cebus_grad_scaler_update(all.scaler));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "optimizer is NULL", cebus_grad_scaler_step(all.scaler, NULL));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "scaler is NULL", cebus_grad_scaler_step(NULL, all.optimizer));
    OK(t, differentiate(t, &all, CEBUS_F32, 1));
    OK(t, cebus_grad_scaler_step(all.scaler, all.optimizer));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "has stepped",
          cebus_grad_scaler_step(all.scaler, all.optimizer));
    FAILS(t, CEBUS_INVALID_ARGUMENT, "has stepped",
          cebus_grad_scaler_unscale(all.scaler, all.optimizer));
    OK(t, cebus_grad_scaler_update(all.scaler));
    drop_trainer(&all);
}

const cebus_case cebus_cases_amp[] = {
    {"amp: what is not finite is found anywhere", found_anywhere, CEBUS_READS_VALUES},
    {"amp: and among many", found_among_many, CEBUS_READS_VALUES},
    {"amp: the largest numbers are finite", largest_numbers_are_finite},
    {"amp: gradients divided by a scale", divided},
    {"amp: the scale follows what was found", scale_follows, CEBUS_READS_VALUES},
    {"amp: the scale stays finite", scale_stays_finite, CEBUS_READS_VALUES},
    {"amp: steps of scaled gradients", steps, CEBUS_READS_VALUES},
    {"amp: a scaler trains as if there were none", scaler_trains, CEBUS_READS_VALUES},
    {"amp: small gradients survive f16", scaler_keeps_small_gradients, CEBUS_READS_VALUES},
    {"amp: unscaled, clipped, stepped", scaler_unscales, CEBUS_READS_VALUES},
    {"amp: two optimizers", scaler_of_two, CEBUS_READS_VALUES},
    {"amp: errors of the ops", op_errors},
    {"amp: errors of the steps", step_errors},
    {"amp: errors of the scaler", scaler_errors},
    {NULL, NULL},
};
