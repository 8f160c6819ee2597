#include "eager/ops/binary.h"

#include <cebus/ops/binary.h>
#include <cebus/ops/unary.h>

#include "eager/ops/entry.h"
#include "eager/ops/reduce.h"

static bool is_wanted(const cebus_gradient *io, int input)
{
    return io->grad_out[0] && io->needs >> input & 1;
}

/* grad_in[input] = `full` summed to that input's shape; takes over `full`. */
static cebus_status give(const cebus_gradient *io, int input, cebus_tensor *full)
{
    cebus_status status = cebus_sum_to(io->rt, full, &io->in_view[input], &io->grad_in[input]);
    cebus_tensor_release(full);
    return status;
}

/* --- sums ---------------------------------------------------------------------------------- */

cebus_status cebus_add_gradient(const cebus_gradient *io)
{
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < 2 && status == CEBUS_OK; i++)
        if (is_wanted(io, i))
            status = give(io, i, cebus_tensor_retain(io->grad_out[0]));
    return status;
}

/* grad_in[1] = -sum_to(full): negated when it is small; takes over `full`. */
static cebus_status give_negated(const cebus_gradient *io, int input, cebus_tensor *full)
{
    cebus_tensor *sum = NULL;
    cebus_status status = cebus_sum_to(io->rt, full, &io->in_view[input], &sum);
    cebus_tensor_release(full);
    if (status == CEBUS_OK)
        status = cebus_neg(io->rt, sum, &io->grad_in[input]);
    cebus_tensor_release(sum);
    return status;
}

cebus_status cebus_sub_gradient(const cebus_gradient *io)
{
    cebus_status status = CEBUS_OK;
    if (is_wanted(io, 0))
        status = give(io, 0, cebus_tensor_retain(io->grad_out[0]));
    if (status == CEBUS_OK && is_wanted(io, 1))
        status = give_negated(io, 1, cebus_tensor_retain(io->grad_out[0]));
    return status;
}

/* --- products ------------------------------------------------------------------------------ */

cebus_saves cebus_mul_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    return (cebus_saves){.in = (needs & 1) << 1 | (needs >> 1 & 1)};
}

cebus_status cebus_mul_gradient(const cebus_gradient *io)
{
    for (int i = 0; i < 2; i++) {
        cebus_tensor *product = NULL;
        if (!is_wanted(io, i))
            continue;
        cebus_status status = cebus_mul(io->rt, io->grad_out[0], io->in[1 - i], &product);
        if (status == CEBUS_OK)
            status = give(io, i, product);
        if (status != CEBUS_OK)
            return status;
    }
    return CEBUS_OK;
}

cebus_saves cebus_div_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    return (cebus_saves){.in = 2, .out = needs >> 1 & 1};
}

/* d(a/b)/db = -(a/b)/b. */
cebus_status cebus_div_gradient(const cebus_gradient *io)
{
    cebus_tensor *quotient = NULL, *product = NULL;
    if (!io->grad_out[0])
        return CEBUS_OK;
    cebus_status status = cebus_div(io->rt, io->grad_out[0], io->in[1], &quotient);
    if (status == CEBUS_OK && is_wanted(io, 0))
        status = give(io, 0, cebus_tensor_retain(quotient));
    if (status == CEBUS_OK && is_wanted(io, 1)) {
        status = cebus_mul(io->rt, quotient, io->out[0], &product);
        if (status == CEBUS_OK)
            status = give_negated(io, 1, product);
    }
    cebus_tensor_release(quotient);
    return status;
}

/* --- pow, maximum, minimum ----------------------------------------------------------------- */

cebus_saves cebus_both_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 3};
}

/* grad_in[input] = op(g, in[first], in[1 - first]) summed to its shape. */
static cebus_status give_backward(const cebus_gradient *io, int input, const cebus_op *op,
                                  int first)
{
    if (!is_wanted(io, input))
        return CEBUS_OK;
    cebus_tensor *full = NULL;
    cebus_tensor *in[3] = {io->grad_out[0], io->in[first], io->in[1 - first]};
    cebus_call_spec spec = {.op = op, .in = in, .n_in = 3, .n_out = 1};
    cebus_status status = cebus_entry_run(io->rt, &spec, &full);
    return status == CEBUS_OK ? give(io, input, full) : status;
}

cebus_status cebus_pow_gradient(const cebus_gradient *io)
{
    cebus_status status = give_backward(io, 0, &cebus_op_pow_base_backward, 0);
    return status == CEBUS_OK ? give_backward(io, 1, &cebus_op_pow_exponent_backward, 0) : status;
}

cebus_status cebus_maximum_gradient(const cebus_gradient *io)
{
    cebus_status status = give_backward(io, 0, &cebus_op_larger_share, 0);
    return status == CEBUS_OK ? give_backward(io, 1, &cebus_op_larger_share, 1) : status;
}

cebus_status cebus_minimum_gradient(const cebus_gradient *io)
{
    cebus_status status = give_backward(io, 0, &cebus_op_larger_share, 1);
    return status == CEBUS_OK ? give_backward(io, 1, &cebus_op_larger_share, 0) : status;
}

/* --- where and masks ----------------------------------------------------------------------- */

cebus_saves cebus_where_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1};
}

cebus_status cebus_where_gradient(const cebus_gradient *io)
{
    for (int i = 1; i < 3; i++) {
        cebus_tensor *part = NULL;
        cebus_mask_attrs attrs = {.scale = 1, .inverted = i == 2};
        if (!is_wanted(io, i))
            continue;
        cebus_status status = cebus_mask_scale(io->rt, io->grad_out[0], io->in[0], attrs, &part);
        if (status == CEBUS_OK)
            status = give(io, i, part);
        if (status != CEBUS_OK)
            return status;
    }
    return CEBUS_OK;
}

cebus_saves cebus_mask_scale_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 2};
}

cebus_status cebus_mask_scale_gradient(const cebus_gradient *io)
{
    const cebus_mask_attrs *attrs = io->attrs;
    cebus_tensor *full = NULL;
    if (!is_wanted(io, 0))
        return CEBUS_OK;
    cebus_status status = cebus_mask_scale(io->rt, io->grad_out[0], io->in[1], *attrs, &full);
    return status == CEBUS_OK ? give(io, 0, full) : status;
}

/* --- with a number ------------------------------------------------------------------------- */

static double number_of(const cebus_gradient *io)
{
    return ((const cebus_number_attrs *)io->attrs)->value;
}

cebus_status cebus_add_scalar_gradient(const cebus_gradient *io)
{
    io->grad_in[0] = cebus_tensor_retain(io->grad_out[0]);
    return CEBUS_OK;
}

cebus_status cebus_mul_scalar_gradient(const cebus_gradient *io)
{
    if (!io->grad_out[0])
        return CEBUS_OK;
    return cebus_mul_scalar(io->rt, io->grad_out[0], number_of(io), io->grad_in);
}

cebus_status cebus_div_scalar_gradient(const cebus_gradient *io)
{
    if (!io->grad_out[0])
        return CEBUS_OK;
    return cebus_div_scalar(io->rt, io->grad_out[0], number_of(io), io->grad_in);
}

cebus_status cebus_rsub_scalar_gradient(const cebus_gradient *io)
{
    return io->grad_out[0] ? cebus_neg(io->rt, io->grad_out[0], io->grad_in) : CEBUS_OK;
}

cebus_saves cebus_pow_scalar_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1};
}

cebus_status cebus_pow_scalar_gradient(const cebus_gradient *io)
{
    cebus_tensor *in[2] = {io->grad_out[0], io->in[0]};
    cebus_call_spec spec = {
        .op = &cebus_op_pow_scalar_backward,
        .attrs = io->attrs,
        .attr_bytes = sizeof(cebus_number_attrs),
        .in = in,
        .n_in = 2,
        .n_out = 1,
    };
    return in[0] ? cebus_entry_run(io->rt, &spec, io->grad_in) : CEBUS_OK;
}
