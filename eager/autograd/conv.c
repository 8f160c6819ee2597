/**
 * Gradients of the convolutions: each is another of the three ops (ops/conv.h), with the sizes of
 * what it must give back.
 */
#include <cebus/ops/reduce.h>

#include "eager/ops/conv.h"

enum {
    X,
    WEIGHT,
    BIAS
};

static bool needs(const cebus_gradient *io, int input)
{
    return io->needs >> input & 1;
}

static cebus_conv_attrs resized(const cebus_gradient *io, const cebus_view *result)
{
    cebus_conv_attrs attrs = *(const cebus_conv_attrs *)io->attrs;
    attrs.size[0] = result->shape[2];
    attrs.size[1] = result->shape[3];
    return attrs;
}

static cebus_status bias_gradient(const cebus_gradient *io)
{
    if (!needs(io, BIAS))
        return CEBUS_OK;
    static const int all_but_channels[] = {0, 2, 3};
    return cebus_sum(io->rt, io->grad_out[0], 3, all_but_channels, false, &io->grad_in[BIAS]);
}

cebus_saves cebus_conv_saves(const void *attrs, uint64_t wanted)
{
    (void)attrs;
    cebus_saves saves = {0};
    if (wanted >> WEIGHT & 1)
        saves.in |= 1U << X;
    if (wanted >> X & 1)
        saves.in |= 1U << WEIGHT;
    return saves;
}

cebus_status cebus_conv_forward_gradient(const cebus_gradient *io)
{
    cebus_status status = CEBUS_OK;
    if (needs(io, X)) {
        cebus_conv_attrs attrs = resized(io, &io->in_view[X]);
        cebus_tensor *in[] = {io->grad_out[0], io->in[WEIGHT], NULL};
        status = cebus_conv_transpose(io->rt, in, &attrs, &io->grad_in[X]);
    }
    if (status == CEBUS_OK && needs(io, WEIGHT)) {
        cebus_conv_attrs attrs = resized(io, &io->in_view[WEIGHT]);
        status =
            cebus_conv_weight(io->rt, io->in[X], io->grad_out[0], &attrs, &io->grad_in[WEIGHT]);
    }
    return status == CEBUS_OK ? bias_gradient(io) : status;
}

cebus_status cebus_conv_transpose_gradient(const cebus_gradient *io)
{
    cebus_status status = CEBUS_OK;
    if (needs(io, X)) {
        cebus_conv_attrs attrs = resized(io, &io->in_view[X]);
        cebus_tensor *in[] = {io->grad_out[0], io->in[WEIGHT], NULL};
        status = cebus_conv_forward(io->rt, in, &attrs, &io->grad_in[X]);
    }
    if (status == CEBUS_OK && needs(io, WEIGHT)) {
        cebus_conv_attrs attrs = resized(io, &io->in_view[WEIGHT]);
        status =
            cebus_conv_weight(io->rt, io->grad_out[0], io->in[X], &attrs, &io->grad_in[WEIGHT]);
    }
    return status == CEBUS_OK ? bias_gradient(io) : status;
}
