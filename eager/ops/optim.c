#include "eager/ops/optim.h"

#include <math.h>

#include <cebus/autograd.h>

#include "eager/options.h"
#include "eager/view.h"

/* The first `n` inputs of a step are alike: one shape, one type, f32 or f64. */
static cebus_status check_step(const cebus_infer *io, uint32_t n)
{
    const cebus_view *param = io->in[0];
    if (param->dtype != CEBUS_F32 && param->dtype != CEBUS_F64)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "parameters are f32 or f64, got %s: cebus_cast() a copy",
                          cebus_dtype_name(param->dtype));
    for (uint32_t i = 1; i < n; i++) {
        if (!cebus_view_same_shape(param, io->in[i]))
            return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                              "parameter is %s but its %s is %s", CEBUS_SHAPE(param),
                              i == 1 ? "gradient" : "state", CEBUS_SHAPE(io->in[i]));
        if (io->in[i]->dtype != param->dtype)
            return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                              "parameter is %s but its %s is %s: cebus_cast() one of them",
                              cebus_dtype_name(param->dtype), i == 1 ? "gradient" : "state",
                              cebus_dtype_name(io->in[i]->dtype));
    }
    return CEBUS_OK;
}

static cebus_status infer_step(cebus_infer *io)
{
    return check_step(io, io->n_in);
}

cebus_status cebus_check_scalar(const cebus_infer *io, uint32_t i, const char *name,
                                cebus_dtype dtype)
{
    const cebus_view *view = io->in[i];
    if (view == NULL || (view->ndim == 0 && view->dtype == dtype))
        return CEBUS_OK;
    return cebus_fail(view->ndim == 0 ? CEBUS_DTYPE_MISMATCH : CEBUS_SHAPE_MISMATCH, io->op->name,
                      "%s must be %s of no dimensions, got %s %s", name, cebus_dtype_name(dtype),
                      cebus_dtype_name(view->dtype), CEBUS_SHAPE(view));
}

static cebus_status infer_scaled_step(cebus_infer *io)
{
    const uint32_t n = io->n_in - CEBUS_STEP_SCALARS;
    cebus_status status = check_step(io, n);
    if (status == CEBUS_OK)
        status = cebus_check_scalar(io, n + CEBUS_STEP_COUNT, "scaling.steps", CEBUS_I64);
    if (status == CEBUS_OK)
        status = cebus_check_scalar(io, n + CEBUS_STEP_SCALE, "scaling.scale", CEBUS_F32);
    if (status == CEBUS_OK)
        status = cebus_check_scalar(io, n + CEBUS_STEP_FOUND, "scaling.found_inf", CEBUS_F32);
    return status;
}

static cebus_status check_float(const cebus_infer *io, const cebus_view *view)
{
    if (cebus_dtype_is_float(view->dtype))
        return CEBUS_OK;
    return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name, "gradients are floats, got %s",
                      cebus_dtype_name(view->dtype));
}

static cebus_status infer_sum_squares(cebus_infer *io)
{
    cebus_status status = CEBUS_OK;
    for (uint32_t i = 0; i < io->n_in && status == CEBUS_OK; i++)
        status = check_float(io, io->in[i]);
    cebus_view_contiguous(io->out, CEBUS_F64, 0, NULL);
    return status;
}

static cebus_status infer_scale(cebus_infer *io)
{
    return check_float(io, io->in[0]);
}

/* (param, grad) */
static const cebus_op op_sgd_step = {
    .name = "sgd_step",
    .flags = CEBUS_OP_NUMBERS | CEBUS_OP_UPDATE,
    .mutates = 1U << 0,
    .infer = infer_step,
};

/* (param, grad, momentum) */
static const cebus_op op_sgd_momentum_step = {
    .name = "sgd_momentum_step",
    .flags = CEBUS_OP_NUMBERS | CEBUS_OP_UPDATE,
    .mutates = 1U << 0 | 1U << 2,
    .infer = infer_step,
};

/* (param, grad, exp_avg, exp_avg_sq) */
static const cebus_op op_adam_step = {
    .name = "adam_step",
    .flags = CEBUS_OP_NUMBERS | CEBUS_OP_UPDATE,
    .mutates = 1U << 0 | 1U << 2 | 1U << 3,
    .infer = infer_step,
};

/* (param, grad, steps, scale?, found_inf?) */
static const cebus_op op_sgd_scaled_step = {
    .name = "sgd_scaled_step",
    .flags = CEBUS_OP_NUMBERS | CEBUS_OP_UPDATE,
    .mutates = 1U << 0 | 1U << 2,
    .infer = infer_scaled_step,
};

/* (param, grad, momentum, steps, scale?, found_inf?) */
static const cebus_op op_sgd_momentum_scaled_step = {
    .name = "sgd_momentum_scaled_step",
    .flags = CEBUS_OP_NUMBERS | CEBUS_OP_UPDATE,
    .mutates = 1U << 0 | 1U << 2 | 1U << 3,
    .infer = infer_scaled_step,
};

/* (param, grad, exp_avg, exp_avg_sq, steps, scale?, found_inf?) */
static const cebus_op op_adam_scaled_step = {
    .name = "adam_scaled_step",
    .flags = CEBUS_OP_NUMBERS | CEBUS_OP_UPDATE,
    .mutates = 1U << 0 | 1U << 2 | 1U << 3 | 1U << 4,
    .infer = infer_scaled_step,
};

/* Any number of floating-point tensors to the f64 sum of their squares. */
static const cebus_op op_sum_squares = {
    .name = "sum_squares",
    .infer = infer_sum_squares,
};

static const cebus_op op_scale_grad = {
    .name = "scale_grad",
    .flags = CEBUS_OP_NUMBERS,
    .mutates = 1U << 0,
    .infer = infer_scale,
};

/* Zero becomes the default; the rest lies in [0, below). */
static cebus_status read_number(const char *function, const char *name, double below,
                                double fallback, double *value)
{
    if (*value == 0)
        *value = fallback;
    if (*value >= 0 && *value < below)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, function, "%s is %g, not in [0, %g)", name, *value,
                      below);
}

cebus_status cebus_sgd_options_read(const cebus_sgd_options *options, const char *function,
                                    cebus_sgd_options *out)
{
    *out = (cebus_sgd_options)CEBUS_SGD_OPTIONS_INIT;
    cebus_status status = cebus_options_prefix(function, options, out, sizeof *out);
    if (status == CEBUS_OK)
        status = read_number(function, "lr", INFINITY, 1e-3, &out->lr);
    if (status == CEBUS_OK)
        status = read_number(function, "momentum", INFINITY, 0, &out->momentum);
    if (status == CEBUS_OK)
        status = read_number(function, "weight_decay", INFINITY, 0, &out->weight_decay);
    if (status == CEBUS_OK && !isfinite(out->dampening))
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, function, "dampening is %g", out->dampening);
    if (status == CEBUS_OK && out->nesterov && (out->momentum == 0 || out->dampening != 0))
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, function,
                            "nesterov needs a momentum and no dampening");
    return status;
}

cebus_status cebus_adam_options_read(const cebus_adam_options *options, const char *function,
                                     cebus_adam_options *out)
{
    *out = (cebus_adam_options)CEBUS_ADAM_OPTIONS_INIT;
    cebus_status status = cebus_options_prefix(function, options, out, sizeof *out);
    if (status == CEBUS_OK)
        status = read_number(function, "lr", INFINITY, 1e-3, &out->lr);
    if (status == CEBUS_OK)
        status = read_number(function, "beta1", 1, 0.9, &out->beta1);
    if (status == CEBUS_OK)
        status = read_number(function, "beta2", 1, 0.999, &out->beta2);
    if (status == CEBUS_OK)
        status = read_number(function, "eps", INFINITY, 1e-8, &out->eps);
    if (status == CEBUS_OK)
        status = read_number(function, "weight_decay", INFINITY, 0, &out->weight_decay);
    return status;
}

cebus_status cebus_run_in_place(cebus_runtime *rt, const cebus_call_spec *spec)
{
    cebus_tensor *out[4] = {NULL};
    bool was_enabled = cebus_grad_enable(false);
    cebus_status status = cebus_call_run(rt, spec, out);
    cebus_grad_enable(was_enabled);
    for (uint32_t i = 0; i < spec->n_out; i++)
        cebus_tensor_release(out[i]);
    return status;
}

cebus_sgd_attrs cebus_sgd_attrs_of(const cebus_sgd_options *how, int64_t step)
{
    return (cebus_sgd_attrs){how->lr,           how->momentum, how->dampening,
                             how->weight_decay, how->nesterov, step == 1};
}

cebus_adam_attrs cebus_adam_attrs_of(const cebus_adam_options *how, int64_t step)
{
    return (cebus_adam_attrs){how->lr,           how->beta1,     how->beta2, how->eps,
                              how->weight_decay, how->decoupled, step};
}

void cebus_update_advance(const cebus_op *op, void *attrs, uint64_t steps)
{
    if (op == &op_adam_step)
        ((cebus_adam_attrs *)attrs)->step += (int64_t)steps;
    else if ((op == &op_sgd_step || op == &op_sgd_momentum_step) && steps > 0)
        ((cebus_sgd_attrs *)attrs)->first = 0;
}

/* Of steps that do not count themselves. */
static cebus_status check_scaling(const char *op, const cebus_step_scaling *scaling, int64_t step)
{
    if (scaling->steps == NULL && (scaling->scale != NULL || scaling->found_inf != NULL))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op,
                          "a scaled step counts on the device: give scaling.steps");
    if (scaling->steps == NULL && step < 1)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "step is %lld: it counts from 1",
                          (long long)step);
    return CEBUS_OK;
}

static cebus_status sgd_scaled(cebus_runtime *rt, const cebus_sgd_tensors *tensors,
                               const cebus_sgd_options *how)
{
    const cebus_step_scaling *scaling = &tensors->scaling;
    const cebus_sgd_attrs attrs = cebus_sgd_attrs_of(how, 0);
    cebus_tensor *in[3 + CEBUS_STEP_SCALARS] = {tensors->param, tensors->grad};
    uint32_t n = 2;
    if (tensors->momentum != NULL)
        in[n++] = tensors->momentum;
    in[n + CEBUS_STEP_COUNT] = scaling->steps;
    in[n + CEBUS_STEP_SCALE] = scaling->scale;
    in[n + CEBUS_STEP_FOUND] = scaling->found_inf;
    const cebus_call_spec spec = {
        n > 2 ? &op_sgd_momentum_scaled_step : &op_sgd_scaled_step,
        &attrs,
        sizeof attrs,
        in,
        n + CEBUS_STEP_SCALARS,
        n,
    };
    return cebus_run_in_place(rt, &spec);
}

cebus_status cebus_sgd_update(cebus_runtime *rt, const cebus_sgd_tensors *tensors, int64_t step,
                              const cebus_sgd_options *how)
{
    bool remembers = how->momentum != 0;
    if (!tensors || !tensors->param || !tensors->grad)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_sgd_step.name, "param or grad is NULL");
    cebus_status status = check_scaling(op_sgd_step.name, &tensors->scaling, step);
    if (status != CEBUS_OK)
        return status;
    if (remembers != (tensors->momentum != NULL))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_sgd_step.name,
                          "a momentum of %g %s a momentum tensor", how->momentum,
                          remembers ? "needs" : "takes no");
    if (tensors->scaling.steps != NULL)
        return sgd_scaled(rt, tensors, how);
    const cebus_sgd_attrs attrs = cebus_sgd_attrs_of(how, step);
    cebus_tensor *const in[] = {tensors->param, tensors->grad, tensors->momentum};
    const cebus_call_spec plain = {&op_sgd_step, &attrs, sizeof attrs, in, 2, 1};
    const cebus_call_spec momentum = {&op_sgd_momentum_step, &attrs, sizeof attrs, in, 3, 2};
    return cebus_run_in_place(rt, remembers ? &momentum : &plain);
}

cebus_status cebus_sgd_step(cebus_runtime *rt, const cebus_sgd_tensors *tensors, int64_t step,
                            const cebus_sgd_options *options)
{
    cebus_sgd_options how;
    cebus_status status = cebus_sgd_options_read(options, op_sgd_step.name, &how);
    return status == CEBUS_OK ? cebus_sgd_update(rt, tensors, step, &how) : status;
}

cebus_status cebus_adam_update(cebus_runtime *rt, const cebus_adam_tensors *tensors, int64_t step,
                               const cebus_adam_options *how)
{
    if (!tensors || !tensors->param || !tensors->grad || !tensors->exp_avg || !tensors->exp_avg_sq)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_adam_step.name, "a tensor is NULL");
    const cebus_step_scaling *scaling = &tensors->scaling;
    cebus_status status = check_scaling(op_adam_step.name, scaling, step);
    if (status != CEBUS_OK)
        return status;
    const bool scaled = scaling->steps != NULL;
    const cebus_adam_attrs attrs = cebus_adam_attrs_of(how, scaled ? 0 : step);
    cebus_tensor *const in[] = {tensors->param,      tensors->grad,  tensors->exp_avg,
                                tensors->exp_avg_sq, scaling->steps, scaling->scale,
                                scaling->found_inf};
    const cebus_call_spec plain = {&op_adam_step, &attrs, sizeof attrs, in, 4, 3};
    const cebus_call_spec counted = {&op_adam_scaled_step,   &attrs, sizeof attrs, in,
                                     4 + CEBUS_STEP_SCALARS, 4};
    return cebus_run_in_place(rt, scaled ? &counted : &plain);
}

cebus_status cebus_adam_step(cebus_runtime *rt, const cebus_adam_tensors *tensors, int64_t step,
                             const cebus_adam_options *options)
{
    cebus_adam_options how;
    cebus_status status = cebus_adam_options_read(options, op_adam_step.name, &how);
    return status == CEBUS_OK ? cebus_adam_update(rt, tensors, step, &how) : status;
}

cebus_status cebus_sum_squares(cebus_runtime *rt, cebus_tensor *const *tensors, uint32_t n,
                               double *out)
{
    cebus_tensor *sum;
    const cebus_call_spec spec = {&op_sum_squares, NULL, 0, tensors, n, 1};
    bool was_enabled = cebus_grad_enable(false);
    cebus_status status = cebus_call_run(rt, &spec, &sum);
    cebus_grad_enable(was_enabled);
    if (status != CEBUS_OK)
        return status;
    status = cebus_tensor_item(sum, out);
    cebus_tensor_release(sum);
    return status;
}

cebus_status cebus_scale_grad(cebus_runtime *rt, cebus_tensor *grad, double factor)
{
    const cebus_scale_attrs attrs = {factor};
    const cebus_call_spec spec = {&op_scale_grad, &attrs, sizeof attrs, &grad, 1, 1};
    return cebus_run_in_place(rt, &spec);
}
