#include "eager/ops/inplace.h"

#include <cebus/ops/inplace.h>

#include "eager/ops/binary.h"
#include "eager/ops/entry.h"
#include "eager/ops/fill.h"
#include "eager/view.h"

/* --- inference: checks only, the output is x ------------------------------------------------ */

/* Whether y can be repeated to the shape of x; all that copy_ asks. */
static cebus_status infer_copy(cebus_infer *io)
{
    const cebus_view *x = io->in[0], *y = io->in[1];
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim;
    bool fits = cebus_view_same_shape(x, y);
    if (!fits && y->ndim <= x->ndim && cebus_view_broadcast(x, y, &ndim, shape)) {
        fits = true;
        for (int i = 0; i < ndim; i++)
            fits = fits && shape[i] == x->shape[i];
    }
    return fits ? CEBUS_OK
                : cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                             "%s does not broadcast to %s, the shape of what is written",
                             CEBUS_SHAPE(y), CEBUS_SHAPE(x));
}

static cebus_status infer_kinds(cebus_infer *io, uint32_t kinds)
{
    const cebus_view *x = io->in[0], *y = io->n_in > 1 ? io->in[1] : x;
    const cebus_number_attrs *attrs = io->attrs;
    cebus_status status = cebus_binary_check_dtypes(io->op->name, x, y, kinds);
    if (status == CEBUS_OK && attrs)
        status = cebus_binary_check_number(io->op->name, x->dtype, attrs->value);
    if (status == CEBUS_OK && io->n_in > 1)
        status = infer_copy(io);
    return status;
}

static cebus_status infer_any(cebus_infer *io)
{
    return infer_kinds(io, CEBUS_KIND_ANY);
}

static cebus_status infer_number(cebus_infer *io)
{
    return infer_kinds(io, CEBUS_KIND_NUMBER);
}

static cebus_status infer_float(cebus_infer *io)
{
    return infer_kinds(io, CEBUS_KIND_FLOAT);
}

static cebus_status infer_fill(cebus_infer *io)
{
    const cebus_number_attrs *attrs = io->attrs;
    return cebus_fill_check_value(io->op->name, attrs->value, io->in[0]->dtype);
}

/* --- ops ----------------------------------------------------------------------------------- */

static const cebus_op op_add = {.name = "add_",
                                .flags = CEBUS_OP_NUMBERS,
                                .mutates = 1,
                                .infer = infer_number,
                                .gradient = cebus_add_inplace_gradient};
static const cebus_op op_mul = {.name = "mul_",
                                .mutates = 1,
                                .infer = infer_any,
                                .saves = cebus_mul_saves,
                                .gradient = cebus_mul_gradient};
static const cebus_op op_div = {.name = "div_",
                                .mutates = 1,
                                .infer = infer_float,
                                .saves = cebus_div_saves,
                                .gradient = cebus_div_gradient};
static const cebus_op op_lerp = {.name = "lerp_",
                                 .flags = CEBUS_OP_NUMBERS,
                                 .mutates = 1,
                                 .infer = infer_float,
                                 .gradient = cebus_lerp_inplace_gradient};
static const cebus_op op_copy = {
    .name = "copy_", .mutates = 1, .infer = infer_copy, .gradient = cebus_copy_inplace_gradient};
static const cebus_op op_add_scalar = {.name = "add_scalar_",
                                       .flags = CEBUS_OP_NUMBERS,
                                       .mutates = 1,
                                       .infer = infer_number,
                                       .gradient = cebus_add_scalar_gradient};
static const cebus_op op_mul_scalar = {.name = "mul_scalar_",
                                       .flags = CEBUS_OP_NUMBERS,
                                       .mutates = 1,
                                       .infer = infer_number,
                                       .gradient = cebus_mul_scalar_gradient};
static const cebus_op op_fill = {.name = "fill_",
                                 .flags = CEBUS_OP_NUMBERS,
                                 .mutates = 1,
                                 .infer = infer_fill,
                                 .gradient = cebus_fill_inplace_gradient};

/* --- entries ------------------------------------------------------------------------------- */

/* Runs a call and lets go of its result, which is x itself. */
static cebus_status run(cebus_runtime *rt, const cebus_call_spec *spec)
{
    cebus_tensor *same = NULL;
    cebus_status status = cebus_entry_run(rt, spec, &same);
    cebus_tensor_release(same);
    return status;
}

static cebus_status run_pair(cebus_runtime *rt, const cebus_op *op, cebus_tensor *x,
                             cebus_tensor *y)
{
    cebus_tensor *in[2] = {x, y};
    return run(rt, &(cebus_call_spec){.op = op, .in = in, .n_in = 2, .n_out = 1});
}

static cebus_status run_number(cebus_runtime *rt, const cebus_op *op, cebus_tensor *const *in,
                               uint32_t n_in, double value)
{
    cebus_number_attrs attrs = {value};
    cebus_call_spec spec = {
        .op = op,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = in,
        .n_in = n_in,
        .n_out = 1,
    };
    return run(rt, &spec);
}

cebus_status cebus_add_(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y, double alpha)
{
    return run_number(rt, &op_add, (cebus_tensor *[]){x, y}, 2, alpha);
}

cebus_status cebus_sub_(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y, double alpha)
{
    return run_number(rt, &op_add, (cebus_tensor *[]){x, y}, 2, -alpha);
}

cebus_status cebus_mul_(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    return run_pair(rt, &op_mul, x, y);
}

cebus_status cebus_div_(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    return run_pair(rt, &op_div, x, y);
}

cebus_status cebus_lerp_(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y, double weight)
{
    return run_number(rt, &op_lerp, (cebus_tensor *[]){x, y}, 2, weight);
}

cebus_status cebus_copy_(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *y)
{
    return run_pair(rt, &op_copy, x, y);
}

cebus_status cebus_add_scalar_(cebus_runtime *rt, cebus_tensor *x, double value)
{
    return run_number(rt, &op_add_scalar, &x, 1, value);
}

cebus_status cebus_mul_scalar_(cebus_runtime *rt, cebus_tensor *x, double value)
{
    return run_number(rt, &op_mul_scalar, &x, 1, value);
}

cebus_status cebus_fill_(cebus_runtime *rt, cebus_tensor *x, double value)
{
    return run_number(rt, &op_fill, &x, 1, value);
}

cebus_status cebus_zero_(cebus_runtime *rt, cebus_tensor *x)
{
    return cebus_fill_(rt, x, 0.0);
}
