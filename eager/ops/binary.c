#include "eager/ops/binary.h"

#include <math.h>

#include <cebus/ops/binary.h>
#include <cebus/ops/unary.h>

#include "eager/ops/entry.h"
#include "eager/ops/formulas.h"
#include "eager/view.h"

/* --- checks -------------------------------------------------------------------------------- */

static uint32_t kind_of(cebus_dtype dtype)
{
    if (cebus_dtype_is_float(dtype))
        return CEBUS_KIND_FLOAT;
    return dtype == CEBUS_BOOL ? CEBUS_KIND_BOOL : CEBUS_KIND_INTEGER;
}

static const char *const kind_names[CEBUS_KIND_ANY + 1] = {
    [CEBUS_KIND_FLOAT] = "floating-point elements",
    [CEBUS_KIND_NUMBER] = "numbers",
    [CEBUS_KIND_INTEGER] = "integers",
    [CEBUS_KIND_BITS] = "integers or bool",
    [CEBUS_KIND_ANY] = "any type",
};

static cebus_status check_kind(const char *op, const cebus_view *x, uint32_t kinds)
{
    if (kind_of(x->dtype) & kinds)
        return CEBUS_OK;
    return cebus_fail(CEBUS_DTYPE_MISMATCH, op, "takes %s, got %s %s: cebus_cast() it",
                      kind_names[kinds], cebus_dtype_name(x->dtype), CEBUS_SHAPE(x));
}

cebus_status cebus_binary_check_dtypes(const char *op, const cebus_view *a, const cebus_view *b,
                                       uint32_t kinds)
{
    if (a->dtype != b->dtype)
        return cebus_fail(
            CEBUS_DTYPE_MISMATCH, op, "operands are %s %s and %s %s: cebus_cast() one of them",
            cebus_dtype_name(a->dtype), CEBUS_SHAPE(a), cebus_dtype_name(b->dtype), CEBUS_SHAPE(b));
    return check_kind(op, a, kinds);
}

cebus_status cebus_binary_check_number(const char *op, cebus_dtype dtype, double value)
{
    if (cebus_dtype_is_float(dtype) || (value == floor(value) && fabs(value) < 0x1p63))
        return CEBUS_OK;
    return cebus_fail(CEBUS_DTYPE_MISMATCH, op,
                      "%g is no %s number: cebus_cast() the tensor to a floating-point type", value,
                      cebus_dtype_name(dtype));
}

/* --- inference: tensors -------------------------------------------------------------------- */

/* The common shape of a and b, in the memory order of the first of them that has it. */
static cebus_status infer_broadcast(cebus_infer *io, const cebus_view *a, const cebus_view *b,
                                    cebus_dtype dtype)
{
    int64_t shape[CEBUS_MAX_DIMS];
    int ndim;
    if (cebus_view_same_shape(a, b)) {
        cebus_view_like(&io->out[0], a, dtype);
        return CEBUS_OK;
    }
    if (!cebus_view_broadcast(a, b, &ndim, shape))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                          "shapes %s and %s do not broadcast: aligned at the last dimension, "
                          "lengths must be equal or 1",
                          CEBUS_SHAPE(a), CEBUS_SHAPE(b));
    cebus_view_contiguous(&io->out[0], dtype, ndim, shape);
    if (cebus_view_same_shape(a, &io->out[0]))
        cebus_view_like(&io->out[0], a, dtype);
    else if (cebus_view_same_shape(b, &io->out[0]))
        cebus_view_like(&io->out[0], b, dtype);
    return CEBUS_OK;
}

static cebus_status infer_pair(cebus_infer *io, uint32_t kinds)
{
    const cebus_view *a = io->in[0], *b = io->in[1];
    cebus_status status = cebus_binary_check_dtypes(io->op->name, a, b, kinds);
    return status == CEBUS_OK ? infer_broadcast(io, a, b, a->dtype) : status;
}

static cebus_status infer_any(cebus_infer *io)
{
    return infer_pair(io, CEBUS_KIND_ANY);
}

static cebus_status infer_number(cebus_infer *io)
{
    return infer_pair(io, CEBUS_KIND_NUMBER);
}

static cebus_status infer_float(cebus_infer *io)
{
    return infer_pair(io, CEBUS_KIND_FLOAT);
}

static cebus_status infer_bits(cebus_infer *io)
{
    return infer_pair(io, CEBUS_KIND_BITS);
}

static cebus_status infer_integer(cebus_infer *io)
{
    return infer_pair(io, CEBUS_KIND_INTEGER);
}

static cebus_status infer_comparison(cebus_infer *io)
{
    cebus_status status = infer_pair(io, CEBUS_KIND_ANY);
    io->out[0].dtype = CEBUS_BOOL;
    return status;
}

static cebus_status check_mask(const cebus_infer *io, const cebus_view *mask)
{
    if (mask->dtype == CEBUS_BOOL || mask->dtype == CEBUS_U8)
        return CEBUS_OK;
    return cebus_fail(CEBUS_DTYPE_MISMATCH, io->op->name,
                      "the condition is %s %s: it must be bool; compare with 0",
                      cebus_dtype_name(mask->dtype), CEBUS_SHAPE(mask));
}

static cebus_status infer_where(cebus_infer *io)
{
    const cebus_view *condition = io->in[0], *a = io->in[1], *b = io->in[2];
    cebus_status status = check_mask(io, condition);
    if (status == CEBUS_OK)
        status = cebus_binary_check_dtypes(io->op->name, a, b, CEBUS_KIND_ANY);
    if (status == CEBUS_OK)
        status = infer_broadcast(io, a, b, a->dtype);
    if (status != CEBUS_OK)
        return status;
    cebus_view both = io->out[0];
    return infer_broadcast(io, &both, condition, a->dtype);
}

static cebus_status infer_mask_scale(cebus_infer *io)
{
    cebus_status status = check_mask(io, io->in[1]);
    return status == CEBUS_OK ? infer_broadcast(io, io->in[0], io->in[1], io->in[0]->dtype)
                              : status;
}

/* The gradient, then what it is of, broadcast to it. */
static cebus_status infer_backward(cebus_infer *io)
{
    cebus_view_like(&io->out[0], io->in[0], io->in[0]->dtype);
    return CEBUS_OK;
}

/* --- inference: a tensor and a number ------------------------------------------------------- */

static cebus_status infer_with_number(cebus_infer *io, uint32_t kinds)
{
    const cebus_number_attrs *attrs = io->attrs;
    const cebus_view *x = io->in[0];
    cebus_status status = check_kind(io->op->name, x, kinds);
    if (status == CEBUS_OK)
        status = cebus_binary_check_number(io->op->name, x->dtype, attrs->value);
    if (status == CEBUS_OK)
        cebus_view_like(&io->out[0], x, x->dtype);
    return status;
}

static cebus_status infer_number_scalar(cebus_infer *io)
{
    return infer_with_number(io, CEBUS_KIND_NUMBER);
}

static cebus_status infer_float_scalar(cebus_infer *io)
{
    return infer_with_number(io, CEBUS_KIND_FLOAT);
}

/* 1 / x^-e is no integer but for x = 1 and -1. */
static cebus_status infer_pow_scalar(cebus_infer *io)
{
    double exponent = ((const cebus_number_attrs *)io->attrs)->value;
    if (!cebus_dtype_is_float(io->in[0]->dtype) && exponent < 0)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, io->op->name,
                          "integers to the power %g are no integers: cebus_cast() the tensor to a "
                          "floating-point type",
                          exponent);
    return infer_number_scalar(io);
}

static cebus_status infer_comparison_scalar(cebus_infer *io)
{
    cebus_view_like(&io->out[0], io->in[0], CEBUS_BOOL);
    return CEBUS_OK;
}

/* --- ops and entries ----------------------------------------------------------------------- */

#define DEFINE_PAIR(name_, infer_, saves_)                                                         \
    static const cebus_op op_##name_ = {                                                           \
        .name = #name_, .infer = infer_, .saves = saves_, .gradient = cebus_##name_##_gradient};   \
    cebus_status cebus_##name_(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b,                \
                               cebus_tensor **out)                                                 \
    {                                                                                              \
        return cebus_entry_binary(rt, &op_##name_, a, b, out);                                     \
    }
DEFINE_PAIR(add, infer_any, NULL)
DEFINE_PAIR(sub, infer_number, NULL)
DEFINE_PAIR(mul, infer_any, cebus_mul_saves)
DEFINE_PAIR(div, infer_float, cebus_div_saves)
DEFINE_PAIR(pow, infer_number, cebus_both_saves)
DEFINE_PAIR(maximum, infer_any, cebus_both_saves)
DEFINE_PAIR(minimum, infer_any, cebus_both_saves)

#define DEFINE_FLAT(name_, infer_)                                                                 \
    static const cebus_op op_##name_ = {.name = #name_, .infer = infer_};                          \
    cebus_status cebus_##name_(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b,                \
                               cebus_tensor **out)                                                 \
    {                                                                                              \
        return cebus_entry_binary(rt, &op_##name_, a, b, out);                                     \
    }
DEFINE_FLAT(fmod, infer_float)
DEFINE_FLAT(remainder, infer_float)
DEFINE_FLAT(bitwise_and, infer_bits)
DEFINE_FLAT(bitwise_or, infer_bits)
DEFINE_FLAT(bitwise_xor, infer_bits)
DEFINE_FLAT(shift_left, infer_integer)
DEFINE_FLAT(shift_right, infer_integer)
DEFINE_FLAT(div_floor, infer_integer)
DEFINE_FLAT(div_trunc, infer_integer)

#define DEFINE_SCALAR(name_, infer_)                                                               \
    static const cebus_op op_##name_ = {.name = #name_,                                            \
                                        .flags = CEBUS_OP_NUMBERS,                                 \
                                        .infer = infer_,                                           \
                                        .gradient = cebus_##name_##_gradient};                     \
    cebus_status cebus_##name_(cebus_runtime *rt, cebus_tensor *x, double value,                   \
                               cebus_tensor **out)                                                 \
    {                                                                                              \
        return cebus_entry_number(rt, &op_##name_, x, value, out);                                 \
    }
DEFINE_SCALAR(add_scalar, infer_number_scalar)
DEFINE_SCALAR(mul_scalar, infer_number_scalar)
DEFINE_SCALAR(div_scalar, infer_float_scalar)
DEFINE_SCALAR(rsub_scalar, infer_number_scalar)

#define DEFINE_COMPARISON(name_, operator)                                                         \
    static const cebus_op op_##name_ = {.name = #name_, .infer = infer_comparison};                \
    static const cebus_op op_##name_##_scalar = {                                                  \
        .name = #name_ "_scalar", .flags = CEBUS_OP_NUMBERS, .infer = infer_comparison_scalar};    \
    cebus_status cebus_##name_(cebus_runtime *rt, cebus_tensor *a, cebus_tensor *b,                \
                               cebus_tensor **out)                                                 \
    {                                                                                              \
        return cebus_entry_binary(rt, &op_##name_, a, b, out);                                     \
    }                                                                                              \
    cebus_status cebus_##name_##_scalar(cebus_runtime *rt, cebus_tensor *x, double value,          \
                                        cebus_tensor **out)                                        \
    {                                                                                              \
        return cebus_entry_number(rt, &op_##name_##_scalar, x, value, out);                        \
    }
CEBUS_COMPARISON_LIST(DEFINE_COMPARISON)

static const cebus_op op_pow_scalar = {
    .name = "pow_scalar",
    .flags = CEBUS_OP_NUMBERS,
    .infer = infer_pow_scalar,
    .saves = cebus_pow_scalar_saves,
    .gradient = cebus_pow_scalar_gradient,
};

cebus_status cebus_pow_scalar(cebus_runtime *rt, cebus_tensor *x, double value, cebus_tensor **out)
{
    if (x && cebus_dtype_is_float(cebus_tensor_dtype(x))) {
        if (value == 2)
            return cebus_square(rt, x, out);
        if (value == 0.5)
            return cebus_sqrt(rt, x, out);
        if (value == -0.5)
            return cebus_rsqrt(rt, x, out);
        if (value == -1)
            return cebus_reciprocal(rt, x, out);
    }
    return cebus_entry_number(rt, &op_pow_scalar, x, value, out);
}

static const cebus_op op_where = {
    .name = "where",
    .infer = infer_where,
    .saves = cebus_where_saves,
    .gradient = cebus_where_gradient,
};

cebus_status cebus_where(cebus_runtime *rt, cebus_tensor *condition, cebus_tensor *a,
                         cebus_tensor *b, cebus_tensor **out)
{
    cebus_tensor *in[3] = {condition, a, b};
    cebus_call_spec spec = {.op = &op_where, .in = in, .n_in = 3, .n_out = 1};
    return cebus_entry_run(rt, &spec, out);
}

static const cebus_op op_mask_scale = {
    .name = "mask_scale",
    .flags = CEBUS_OP_NUMBERS,
    .infer = infer_mask_scale,
    .saves = cebus_mask_scale_saves,
    .gradient = cebus_mask_scale_gradient,
};

cebus_status cebus_mask_scale(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *mask,
                              cebus_mask_attrs attrs, cebus_tensor **out)
{
    cebus_tensor *in[2] = {x, mask};
    cebus_call_spec spec = {
        .op = &op_mask_scale,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = in,
        .n_in = 2,
        .n_out = 1,
    };
    return cebus_entry_run(rt, &spec, out);
}

const cebus_op cebus_op_pow_base_backward = {.name = "pow_base_backward", .infer = infer_backward};
const cebus_op cebus_op_pow_exponent_backward = {.name = "pow_exponent_backward",
                                                 .infer = infer_backward};
const cebus_op cebus_op_larger_share = {.name = "larger_share", .infer = infer_backward};
const cebus_op cebus_op_pow_scalar_backward = {
    .name = "pow_scalar_backward", .flags = CEBUS_OP_NUMBERS, .infer = infer_backward};
