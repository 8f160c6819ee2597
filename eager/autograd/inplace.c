#include "eager/ops/inplace.h"

#include <cebus/ops/binary.h>
#include <cebus/ops/cast.h>

#include "eager/ops/entry.h"
#include "eager/ops/reduce.h"

static double number_of(const cebus_gradient *io)
{
    return ((const cebus_number_attrs *)io->attrs)->value;
}

/* grad_in[1] = number x sum_to(g), scaled when it is small. */
static cebus_status give_scaled(const cebus_gradient *io, double number)
{
    if (number == 1)
        return cebus_sum_to(io->rt, io->grad_out[0], &io->in_view[1], &io->grad_in[1]);
    cebus_tensor *sum = NULL;
    cebus_status status = cebus_sum_to(io->rt, io->grad_out[0], &io->in_view[1], &sum);
    if (status == CEBUS_OK)
        status = cebus_mul_scalar(io->rt, sum, number, &io->grad_in[1]);
    cebus_tensor_release(sum);
    return status;
}

cebus_status cebus_add_inplace_gradient(const cebus_gradient *io)
{
    if (!io->grad_out[0])
        return CEBUS_OK;
    if (io->needs & 1)
        io->grad_in[0] = cebus_tensor_retain(io->grad_out[0]);
    return io->needs & 2 ? give_scaled(io, number_of(io)) : CEBUS_OK;
}

cebus_status cebus_lerp_inplace_gradient(const cebus_gradient *io)
{
    cebus_status status = CEBUS_OK;
    if (!io->grad_out[0])
        return CEBUS_OK;
    if (io->needs & 1)
        status = cebus_mul_scalar(io->rt, io->grad_out[0], 1 - number_of(io), &io->grad_in[0]);
    if (status == CEBUS_OK && io->needs & 2)
        status = give_scaled(io, number_of(io));
    return status;
}

/* What x was before does not matter any more: it gets no gradient. */
cebus_status cebus_copy_inplace_gradient(const cebus_gradient *io)
{
    if (!io->grad_out[0] || !(io->needs & 2))
        return CEBUS_OK;
    cebus_tensor *sum = NULL;
    cebus_status status = cebus_sum_to(io->rt, io->grad_out[0], &io->in_view[1], &sum);
    if (status == CEBUS_OK)
        status = cebus_cast(io->rt, sum, io->in_view[1].dtype, &io->grad_in[1]);
    cebus_tensor_release(sum);
    return status;
}

cebus_status cebus_fill_inplace_gradient(const cebus_gradient *io)
{
    (void)io;
    return CEBUS_OK;
}
