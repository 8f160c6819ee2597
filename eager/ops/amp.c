#include "eager/ops/amp.h"

#include <math.h>

#include <cebus/autograd.h>

#include "eager/ops/check.h"
#include "eager/ops/optim.h"
#include "eager/options.h"

/* ---- inference --------------------------------------------------------------------------- */

static cebus_status infer_non_finite(cebus_infer *io)
{
    cebus_status status = cebus_check_scalar(io, 0, "before", CEBUS_F32);
    for (uint32_t i = 1; i < io->n_in && status == CEBUS_OK; i++)
        status = cebus_check_real(io->op->name, io->in[i]);
    cebus_view_contiguous(&io->out[0], CEBUS_F32, 0, NULL);
    return status;
}

static cebus_status infer_unscale(cebus_infer *io)
{
    cebus_status status = cebus_check_real(io->op->name, io->in[0]);
    return status == CEBUS_OK ? cebus_check_scalar(io, 1, "scale", CEBUS_F32) : status;
}

static cebus_status infer_update(cebus_infer *io)
{
    cebus_status status = cebus_check_scalar(io, 0, "scale", CEBUS_F32);
    if (status == CEBUS_OK)
        status = cebus_check_scalar(io, 1, "tracker", CEBUS_I32);
    if (status == CEBUS_OK)
        status = cebus_check_scalar(io, 2, "found_inf", CEBUS_F32);
    return status;
}

/* (found before?, tensors) -> found */
static const cebus_op op_non_finite = {
    .name = "non_finite",
    .infer = infer_non_finite,
};

/* (grad, scale) */
static const cebus_op op_unscale_grad = {
    .name = "unscale_grad",
    .mutates = 1U << 0,
    .infer = infer_unscale,
};

/* (scale, tracker, found) */
static const cebus_op op_update_scale = {
    .name = "update_scale",
    .flags = CEBUS_OP_NUMBERS | CEBUS_OP_UPDATE,
    .mutates = 1U << 0 | 1U << 1,
    .infer = infer_update,
};

/* ---- options ----------------------------------------------------------------------------- */

static cebus_status check_factor(const char *function, const char *name, double low, double value,
                                 double high)
{
    if (value > low && value < high)
        return CEBUS_OK;
    return cebus_fail(CEBUS_INVALID_ARGUMENT, function, "%s is %g, not between %g and %g", name,
                      value, low, high);
}

cebus_status cebus_grad_scaler_options_read(const cebus_grad_scaler_options *options,
                                            const char *function, cebus_grad_scaler_options *out)
{
    *out = (cebus_grad_scaler_options)CEBUS_GRAD_SCALER_OPTIONS_INIT;
    cebus_status status = cebus_options_prefix(function, options, out, sizeof *out);
    if (status != CEBUS_OK)
        return status;
    out->init_scale = out->init_scale != 0 ? out->init_scale : 65536;
    out->growth_factor = out->growth_factor != 0 ? out->growth_factor : 2;
    out->backoff_factor = out->backoff_factor != 0 ? out->backoff_factor : 0.5;
    out->growth_interval = out->growth_interval != 0 ? out->growth_interval : 2000;
    status = check_factor(function, "init_scale", 0, out->init_scale, 0x1p128);
    if (status == CEBUS_OK)
        status = check_factor(function, "growth_factor", 1, out->growth_factor, INFINITY);
    if (status == CEBUS_OK)
        status = check_factor(function, "backoff_factor", 0, out->backoff_factor, 1);
    if (status == CEBUS_OK && (out->growth_interval < 1 || out->growth_interval > INT32_MAX))
        status = cebus_fail(CEBUS_INVALID_ARGUMENT, function,
                            "growth_interval is %lld, not in [1, 2^31)",
                            (long long)out->growth_interval);
    return status;
}

/* ---- public entries ---------------------------------------------------------------------- */

/* Up to a call's worth of tensors. */
static cebus_status find_some(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n,
                              cebus_tensor *before, cebus_tensor **out)
{
    cebus_tensor *in[CEBUS_MAX_TRACKED] = {before};
    for (size_t i = 0; i < n; i++)
        in[1 + i] = tensors[i];
    const cebus_call_spec spec = {
        .op = &op_non_finite, .in = in, .n_in = 1 + (uint32_t)n, .n_out = 1};
    bool was_enabled = cebus_grad_enable(false);
    cebus_status status = cebus_call_run(rt, &spec, out);
    cebus_grad_enable(was_enabled);
    return status;
}

cebus_status cebus_non_finite(cebus_runtime *rt, cebus_tensor *const *tensors, size_t n,
                              cebus_tensor *before, cebus_tensor **out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_non_finite.name,
                          "out is NULL: give a place for the result");
    *out = NULL;
    if (rt == NULL || tensors == NULL || n == 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_non_finite.name,
                          "rt or tensors is NULL, or there are none");
    for (size_t i = 0; i < n; i++) {
        if (tensors[i] == NULL)
            return cebus_fail(CEBUS_INVALID_ARGUMENT, op_non_finite.name, "tensor %zu is NULL", i);
    }
    cebus_tensor *found = cebus_tensor_retain(before);
    cebus_status status = CEBUS_OK;
    for (size_t i = 0, count; i < n && status == CEBUS_OK; i += count) {
        cebus_tensor *next = NULL;
        count = n - i < CEBUS_MAX_TRACKED - 1 ? n - i : CEBUS_MAX_TRACKED - 1;
        status = find_some(rt, tensors + i, count, found, &next);
        cebus_tensor_release(found);
        found = next;
    }
    *out = found;
    return status;
}

cebus_status cebus_unscale_grad(cebus_runtime *rt, cebus_tensor *grad, cebus_tensor *scale)
{
    if (rt == NULL || grad == NULL || scale == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_unscale_grad.name,
                          "rt, grad and scale must be given");
    const cebus_call_spec spec = {
        .op = &op_unscale_grad, .in = (cebus_tensor *[]){grad, scale}, .n_in = 2, .n_out = 1};
    return cebus_run_in_place(rt, &spec);
}

cebus_status cebus_scale_move(cebus_runtime *rt, cebus_tensor *scale, cebus_tensor *tracker,
                              cebus_tensor *found_inf, const cebus_grad_scaler_options *how)
{
    const cebus_update_scale_attrs attrs = {how->growth_factor, how->backoff_factor,
                                            how->growth_interval};
    const cebus_call_spec spec = {
        .op = &op_update_scale,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = (cebus_tensor *[]){scale, tracker, found_inf},
        .n_in = 3,
        .n_out = 2,
    };
    return cebus_run_in_place(rt, &spec);
}

cebus_status cebus_update_scale(cebus_runtime *rt, cebus_tensor *scale, cebus_tensor *tracker,
                                cebus_tensor *found_inf, const cebus_grad_scaler_options *options)
{
    cebus_grad_scaler_options how;
    if (rt == NULL || scale == NULL || tracker == NULL || found_inf == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op_update_scale.name,
                          "rt, scale, tracker and found_inf must be given");
    cebus_status status = cebus_grad_scaler_options_read(options, op_update_scale.name, &how);
    return status == CEBUS_OK ? cebus_scale_move(rt, scale, tracker, found_inf, &how) : status;
}
