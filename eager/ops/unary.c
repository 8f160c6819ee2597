#include "eager/ops/unary.h"

#include <math.h>

#include <cebus/ops/unary.h>

#include "eager/ops/entry.h"
#include "eager/ops/formulas.h"
#include "eager/view.h"

/* --- inference ----------------------------------------------------------------------------- */

static cebus_status infer_number(cebus_infer *io)
{
    const cebus_view *x = io->in[0];
    if (x->dtype == CEBUS_BOOL)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "bool %s has no arithmetic: cebus_cast() it to a number", CEBUS_SHAPE(x));
    cebus_view_like(&io->out[0], x, x->dtype);
    return CEBUS_OK;
}

static cebus_status infer_float(cebus_infer *io)
{
    const cebus_view *x = io->in[0];
    if (!cebus_dtype_is_float(x->dtype))
        return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                          "takes floating-point elements, got %s %s: cebus_cast() it to f32",
                          cebus_dtype_name(x->dtype), CEBUS_SHAPE(x));
    cebus_view_like(&io->out[0], x, x->dtype);
    return CEBUS_OK;
}

/* A gradient and what was saved: the result lies in memory as the latter. */
static cebus_status infer_backward(cebus_infer *io)
{
    const cebus_view *grad = io->in[0], *saved = io->in[1];
    if (grad->dtype != saved->dtype || !cebus_view_same_shape(grad, saved))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "the gradient is %s %s, what it is of %s %s: they must be alike",
                          cebus_dtype_name(grad->dtype), CEBUS_SHAPE(grad),
                          cebus_dtype_name(saved->dtype), CEBUS_SHAPE(saved));
    cebus_view_like(&io->out[0], saved, saved->dtype);
    return CEBUS_OK;
}

/* --- ops and their entries ----------------------------------------------------------------- */

#define INFER_FLOAT infer_float
#define INFER_NUMBER infer_number
#define SAVES_IN cebus_unary_saves_in
#define SAVES_OUT cebus_unary_saves_out

#define DEFINE_OP(T, S, kind, saved, name_, forward_formula, backward_formula)                     \
    static const cebus_unary_op op_##name_ = {                                                     \
        .op = {.name = #name_,                                                                     \
               .infer = INFER_##kind,                                                              \
               .saves = SAVES_##saved,                                                             \
               .gradient = cebus_unary_gradient},                                                  \
        .backward = {.name = #name_ "_backward", .infer = infer_backward},                         \
    };                                                                                             \
    cebus_status cebus_##name_(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)             \
    {                                                                                              \
        return cebus_entry_unary(rt, &op_##name_.op, x, out);                                      \
    }
CEBUS_UNARY_LIST(DEFINE_OP, , )

static const cebus_op op_neg = {
    .name = "neg", .infer = infer_number, .gradient = cebus_neg_gradient};
static const cebus_op op_sign = {
    .name = "sign", .infer = infer_number, .gradient = cebus_sign_gradient};

cebus_status cebus_neg(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    return cebus_entry_unary(rt, &op_neg, x, out);
}

cebus_status cebus_sign(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out)
{
    return cebus_entry_unary(rt, &op_sign, x, out);
}

static const cebus_unary_op op_leaky_relu = {
    .op = {.name = "leaky_relu",
           .flags = CEBUS_OP_NUMBERS,
           .infer = infer_float,
           .saves = cebus_unary_saves_in,
           .gradient = cebus_unary_gradient},
    .backward = {.name = "leaky_relu_backward", .flags = CEBUS_OP_NUMBERS, .infer = infer_backward},
    .attr_bytes = sizeof(cebus_leaky_relu_attrs),
};

cebus_status cebus_leaky_relu(cebus_runtime *rt, cebus_tensor *x, double slope, cebus_tensor **out)
{
    cebus_leaky_relu_attrs attrs = {slope};
    return cebus_entry_with(rt, &op_leaky_relu.op, &attrs, sizeof attrs, x, out);
}

static const cebus_unary_op op_clamp = {
    .op = {.name = "clamp",
           .flags = CEBUS_OP_NUMBERS,
           .infer = infer_number,
           .saves = cebus_unary_saves_in,
           .gradient = cebus_unary_gradient},
    .backward = {.name = "clamp_backward", .flags = CEBUS_OP_NUMBERS, .infer = infer_backward},
    .attr_bytes = sizeof(cebus_clamp_attrs),
};

cebus_status cebus_clamp(cebus_runtime *rt, cebus_tensor *x, double low, double high,
                         cebus_tensor **out)
{
    cebus_clamp_attrs attrs = {low, high};
    if (isnan(low) || isnan(high)) {
        if (out)
            *out = NULL;
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "clamp",
                          "the bounds are %g and %g: neither may be NaN; -INFINITY and INFINITY "
                          "leave an end open",
                          low, high);
    }
    return cebus_entry_with(rt, &op_clamp.op, &attrs, sizeof attrs, x, out);
}
