/**
 * @file amp.h
 * Mixed precision: loss scaling, on the device alone.
 *
 * Parameters stay f32. A program casts them to f16 or bf16 where it uses them: such a copy is cheap
 * to make again and the first to go when room is short, and the gradient comes back through the
 * cast in f32. What f16 cannot hold, small gradients, is kept by scaling the loss: gradients are
 * `scale` times too large, the optimizer's step divides them, and leaves out a step whose gradients
 * are not finite. Formulas are those of PyTorch's torch.amp.GradScaler.
 *
 *     cebus_grad_scaler_scale(scaler, loss, &scaled);
 *     cebus_backward(rt, scaled, NULL, false);
 *     cebus_grad_scaler_step(scaler, optimizer);
 *     cebus_grad_scaler_update(scaler);
 *
 * The host is told nothing in between: the scale, whether gradients are finite and how many steps
 * were taken are tensors. bf16 has the range of f32 and mostly needs no scale.
 *
 * Thread-safety: a scaler is used by one thread at a time; the ops, like all, by any.
 */
#ifndef CEBUS_AMP_H
#define CEBUS_AMP_H

#include <cebus/optim.h>

CEBUS_BEGIN_DECLS

/** Zero means default everywhere. Initialize with CEBUS_GRAD_SCALER_OPTIONS_INIT. */
typedef struct cebus_grad_scaler_options {
    size_t struct_size;      /**< sizeof this struct, as the caller was compiled */
    double init_scale;       /**< default 65536 */
    double growth_factor;    /**< > 1; default 2 */
    double backoff_factor;   /**< in (0, 1); default 0.5 */
    int64_t growth_interval; /**< finite steps in a row until the scale grows; default 2000 */
} cebus_grad_scaler_options;

/** All defaults. */
#define CEBUS_GRAD_SCALER_OPTIONS_INIT                                                             \
    {                                                                                              \
        .struct_size = sizeof(cebus_grad_scaler_options)                                           \
    }

/** @name The ops, for programs that keep their own state. The graph is not extended. */
/** @{ */

/**
 * 1 where an element of any of `n` >= 1 float tensors is infinite or NaN, else 0: f32, 0-d.
 * `before` (NULL: 0) is such a result to go on from. Errors: CEBUS_INVALID_ARGUMENT,
 * CEBUS_DTYPE_MISMATCH.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_non_finite(cebus_runtime *rt,
                                                         cebus_tensor *const *tensors, size_t n,
                                                         cebus_tensor *before, cebus_tensor **out);

/** Multiplies a float tensor in place by 1 / scale; `scale` is f32, 0-d. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_unscale_grad(cebus_runtime *rt, cebus_tensor *grad,
                                                           cebus_tensor *scale);

/**
 * The next scale, in place: `backoff_factor` times as large after gradients that were not finite
 * (`found_inf` is not 0), `growth_factor` times, unless that overflows, after `growth_interval`
 * calls without. `scale` and `found_inf` are f32, `tracker` (calls without, so far) i32, all 0-d.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status
cebus_update_scale(cebus_runtime *rt, cebus_tensor *scale, cebus_tensor *tracker,
                   cebus_tensor *found_inf, const cebus_grad_scaler_options *options);
/** @} */

/** @name Scalers */
/** @{ */

/** A scale and what it follows. One owner. */
typedef struct cebus_grad_scaler cebus_grad_scaler;

/** `options` is copied; NULL: all defaults. Makes two persistent tensors of one element. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_grad_scaler_create(
    cebus_runtime *rt, const cebus_grad_scaler_options *options, cebus_grad_scaler **out);
/** NULL is allowed. */
CEBUS_API void cebus_grad_scaler_destroy(cebus_grad_scaler *scaler);

/** loss x scale, in f32 (f64 where the loss is): what to call cebus_backward() on. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_grad_scaler_scale(cebus_grad_scaler *scaler,
                                                                cebus_tensor *loss,
                                                                cebus_tensor **out);

/**
 * Divides the gradients of the optimizer's parameters by the scale, in place, before they are
 * clipped or looked at; cebus_grad_scaler_step() then leaves them as they are. At most once between
 * updates, and not after the step: CEBUS_INVALID_ARGUMENT. After a failure in the middle gradients
 * are to be made anew.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_grad_scaler_unscale(cebus_grad_scaler *scaler,
                                                                  cebus_optimizer *optimizer);

/**
 * cebus_optimizer_step() with gradients divided by the scale as they are read; where one of them is
 * not finite, no parameter, no state and no step count changes. Once for each optimizer between
 * updates. A failure leaves things as that of cebus_optimizer_step() does: it may be called again.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_grad_scaler_step(cebus_grad_scaler *scaler,
                                                               cebus_optimizer *optimizer);

/** The next scale, after the steps of all optimizers. CEBUS_INVALID_ARGUMENT when there was none.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_grad_scaler_update(cebus_grad_scaler *scaler);

/** The scale (f32, 0-d), a new reference: to look at, to save or to load. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_grad_scaler_tensor(cebus_grad_scaler *scaler,
                                                                 cebus_tensor **out);
/** The same of the finite steps since it last changed (i32, 0-d). */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_grad_scaler_tracker(cebus_grad_scaler *scaler,
                                                                  cebus_tensor **out);
/** @} */

CEBUS_END_DECLS

#endif
