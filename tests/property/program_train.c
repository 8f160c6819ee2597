/*
 * Steps of training that random programs seldom take by chance: mixed precision under a scaled
 * loss, gradients of several roots, gradients that are set.
 */
#include <math.h>

#include "tests/property/program.h"

/** The mean of a product in 16 bits, with a parameter cast for it alone. */
static cebus_status mixed_loss(cebus_program *p, cebus_tensor *x, cebus_dtype type,
                               cebus_tensor **out)
{
    cebus_tensor *narrow = NULL, *weight = NULL, *product = NULL;
    *out = NULL;
    cebus_status status = cebus_cast(p->rt, x, type, &narrow);
    if (status == CEBUS_OK)
        status = cebus_cast(p->rt, p->parameters[0], type, &weight);
    if (status == CEBUS_OK)
        status = cebus_linear(p->rt, narrow, weight, NULL, &product);
    if (status == CEBUS_OK)
        status = cebus_mean(p->rt, product, 0, NULL, false, out);
    cebus_tensor_release(narrow);
    cebus_tensor_release(weight);
    cebus_tensor_release(product);
    return status;
}

/** Adds to gradients as its last act. `beyond`: of a loss that is not finite. */
static cebus_status scaled_backward(cebus_program *p, cebus_tensor *x, cebus_dtype type,
                                    bool beyond)
{
    cebus_tensor *loss, *scaled = NULL, *large = NULL;
    cebus_status status = mixed_loss(p, x, type, &loss);
    if (status == CEBUS_OK)
        status = cebus_grad_scaler_scale(p->scaler, loss, &scaled);
    if (status == CEBUS_OK && beyond)
        status = cebus_mul_scalar(p->rt, scaled, INFINITY, &large);
    if (status == CEBUS_OK)
        status = cebus_backward(p->rt, beyond ? large : scaled, NULL, false);
    cebus_tensor_release(loss);
    cebus_tensor_release(scaled);
    cebus_tensor_release(large);
    return status;
}

static cebus_dtype draw_narrow(cebus_program *p)
{
    return cebus_program_once_in(p, 2) ? CEBUS_BF16 : CEBUS_F16;
}

static cebus_status run_mixed(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p);
    cebus_dtype type = draw_narrow(p);
    return scaled_backward(p, x, type, false);
}

/** Nothing to update is no mistake at the beginning of a step. */
static cebus_status update_scale(cebus_program *p)
{
    cebus_status status = cebus_grad_scaler_update(p->scaler);
    return status == CEBUS_INVALID_ARGUMENT ? CEBUS_OK : status;
}

/** All of a training step; gradients that are not finite are gone at its end. */
static cebus_status run_scaled_step(cebus_program *p)
{
    cebus_tensor *x = cebus_program_float(p);
    cebus_dtype type = draw_narrow(p);
    bool beyond = cebus_program_once_in(p, 3);
    cebus_status status = CEBUS_OK;
    for (; p->stage < 5 && status == CEBUS_OK; p->stage += status == CEBUS_OK) {
        switch (p->stage) {
        case 0:
            status = cebus_optimizer_zero_grad(p->optimizer);
            break;
        case 1:
            status = scaled_backward(p, x, type, beyond);
            break;
        case 2:
            status = update_scale(p);
            break;
        case 3:
            status = cebus_grad_scaler_step(p->scaler, p->optimizer);
            break;
        default:
            status = cebus_optimizer_zero_grad(p->optimizer);
        }
    }
    return status;
}

static cebus_status run_scaler_step(cebus_program *p)
{
    return cebus_grad_scaler_step(p->scaler, p->optimizer);
}

static cebus_status run_scaler_update(cebus_program *p)
{
    return cebus_grad_scaler_update(p->scaler);
}

/** Puts copies in the place of the gradients, which it hands out. */
static cebus_status copy_gradients(cebus_program *p, cebus_tensor **former)
{
    cebus_status status = CEBUS_OK;
    for (size_t i = 0; i < CEBUS_PROGRAM_PARAMETERS && status == CEBUS_OK; i++) {
        cebus_tensor *copy = NULL;
        status = cebus_tensor_grad(p->parameters[i], &former[i]);
        if (status == CEBUS_OK && former[i] != NULL)
            status = cebus_clone(p->rt, former[i], &copy);
        if (status == CEBUS_OK && copy != NULL)
            status = cebus_tensor_set_grad(p->parameters[i], copy);
        cebus_tensor_release(copy);
    }
    return status;
}

/** Where unscaling was refused, the one failure that is asked for may come here. */
static bool put_back(cebus_tensor *parameter, cebus_tensor *gradient)
{
    return cebus_tensor_set_grad(parameter, gradient) == CEBUS_OK ||
           cebus_tensor_set_grad(parameter, gradient) == CEBUS_OK;
}

/** A failure leaves some gradients divided: they are copies, and the former ones come back. */
static cebus_status run_unscale(cebus_program *p)
{
    cebus_tensor *former[CEBUS_PROGRAM_PARAMETERS] = {NULL};
    cebus_status status = copy_gradients(p, former);
    if (status == CEBUS_OK)
        status = cebus_grad_scaler_unscale(p->scaler, p->optimizer);
    for (size_t i = 0; i < CEBUS_PROGRAM_PARAMETERS; i++) {
        if (status != CEBUS_OK && former[i] != NULL && !put_back(p->parameters[i], former[i]))
            status = CEBUS_INTERNAL;
        cebus_tensor_release(former[i]);
    }
    return status;
}

/** Of two roots at once, by a parameter and whatever else. */
static cebus_status run_gradients(cebus_program *p)
{
    cebus_gradients what = CEBUS_GRADIENTS_INIT;
    cebus_tensor *roots[2] = {NULL}, *out[2] = {NULL};
    cebus_tensor *inputs[2] = {cebus_program_parameter(p), cebus_program_float(p)};
    cebus_tensor *x = cebus_program_differentiable(p), *y = cebus_program_differentiable(p);
    size_t kept = cebus_program_draw(p, 2);
    what.retain_graph = !cebus_program_once_in(p, 3);
    what.roots = roots;
    what.n_roots = 2;
    what.inputs = inputs;
    what.n_inputs = 2;
    cebus_status status = cebus_mean(p->rt, x, 0, NULL, false, &roots[0]);
    if (status == CEBUS_OK)
        status = cebus_mean(p->rt, y, 0, NULL, false, &roots[1]);
    if (status == CEBUS_OK)
        status = cebus_gradients_compute(p->rt, &what, out);
    cebus_tensor_release(roots[0]);
    cebus_tensor_release(roots[1]);
    cebus_tensor_release(out[1 - kept]);
    cebus_program_keep(p, out[kept]);
    return status;
}

static cebus_status run_set_grad(cebus_program *p)
{
    cebus_tensor *parameter = cebus_program_parameter(p);
    cebus_tensor *grad = cebus_program_find(p, cebus_program_is_like, cebus_tensor_view(parameter));
    return cebus_tensor_set_grad(parameter, grad);
}

const cebus_program_op cebus_program_train[] = {
    {"mixed", 3, run_mixed},
    {"scaled_step", 3, run_scaled_step},
    {"scaler_step", 1, run_scaler_step},
    {"scaler_update", 2, run_scaler_update},
    {"unscale", 1, run_unscale},
    {"gradients", 2, run_gradients},
    {"set_grad", 1, run_set_grad},
    {NULL, 0, NULL},
};
