#include "eager/ops/norm.h"

#include <cebus/ops/cast.h>

#include "eager/ops/reduce.h"

/* Inputs are x, weight, bias. The gradient of a bias alone is a sum and reads nothing saved; only
 * that of x reads the weight. */
static cebus_saves saves(uint64_t needs, uint64_t statistics)
{
    cebus_saves kept = {.in = 0, .out = 0};
    if (needs & (CEBUS_NORM_DX | CEBUS_NORM_DWEIGHT))
        kept = (cebus_saves){.in = 1, .out = statistics};
    if (needs & CEBUS_NORM_DX)
        kept.in |= 2;
    return kept;
}

cebus_saves cebus_norm_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    return saves(needs, 6);
}

cebus_saves cebus_rms_norm_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    return saves(needs, 2);
}

/** Hands the results of a backward call to the gradients that were wanted, in order. */
static void distribute(const cebus_gradient *io, cebus_tensor *const *results)
{
    for (uint32_t i = 0, n = 0; i < 3; i++) {
        if (io->needs >> i & 1)
            io->grad_in[i] = results[n++];
    }
}

static cebus_status run_backward(const cebus_gradient *io, const cebus_op *op, cebus_tensor *mean,
                                 cebus_tensor *rstd)
{
    cebus_norm_attrs attrs = *(const cebus_norm_attrs *)io->attrs;
    attrs.wanted = (int64_t)(io->needs & 7);
    attrs.dweight = io->in_view[1].dtype;
    attrs.dbias = io->n_in > 2 ? io->in_view[2].dtype : attrs.dweight;
    uint32_t n_out = (uint32_t)__builtin_popcountll(io->needs & 7);
    cebus_tensor *results[3];
    cebus_call_spec spec = {
        .op = op,
        .attrs = &attrs,
        .attr_bytes = sizeof attrs,
        .in = (cebus_tensor *[]){io->grad_out[0], io->in[0], io->in[1], mean, rstd},
        .n_in = 5,
        .n_out = n_out,
    };
    cebus_status status = cebus_call_run(io->rt, &spec, results);
    if (status == CEBUS_OK)
        distribute(io, results);
    return status;
}

/** The gradient of a bias, which may be wider than what it was added to. */
static cebus_status finish_bias(const cebus_gradient *io, cebus_status status, cebus_tensor *sum)
{
    if (status == CEBUS_OK)
        status = cebus_cast(io->rt, sum, io->in_view[2].dtype, &io->grad_in[2]);
    cebus_tensor_release(sum);
    return status;
}

cebus_status cebus_layer_norm_gradient(const cebus_gradient *io)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    if (io->needs == CEBUS_NORM_DBIAS) {
        cebus_tensor *sum = NULL;
        cebus_status status = cebus_sum_to(io->rt, io->grad_out[0], &io->in_view[2], &sum);
        return finish_bias(io, status, sum);
    }
    return run_backward(io, &cebus_op_layer_norm_backward, io->out[1], io->out[2]);
}

cebus_status cebus_rms_norm_gradient(const cebus_gradient *io)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    return run_backward(io, &cebus_op_rms_norm_backward, NULL, io->out[1]);
}

/** The bias [C] of x [N, C, ...] as the view [C, 1, ...] that broadcasts to x. */
static cebus_status group_bias_gradient(const cebus_gradient *io)
{
    cebus_view like = io->in_view[0];
    for (int d = 0; d < like.ndim; d++)
        like.shape[d] = d == 1 ? like.shape[1] : 1;
    cebus_tensor *sum = NULL, *flat = NULL;
    cebus_status status = cebus_sum_to(io->rt, io->grad_out[0], &like, &sum);
    if (status == CEBUS_OK)
        status = cebus_reshape(io->rt, sum, 1, &like.shape[1], &flat);
    cebus_tensor_release(sum);
    return finish_bias(io, status, flat);
}

cebus_status cebus_group_norm_gradient(const cebus_gradient *io)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    if (io->needs == CEBUS_NORM_DBIAS)
        return group_bias_gradient(io);
    return run_backward(io, &cebus_op_group_norm_backward, io->out[1], io->out[2]);
}
