#include "eager/ops/softmax.h"

cebus_saves cebus_softmax_saves(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.out = 1};
}

static cebus_status run_backward(const cebus_gradient *io, const cebus_op *op)
{
    if (io->grad_out[0] == NULL)
        return CEBUS_OK;
    cebus_call_spec spec = {
        .op = op,
        .attrs = io->attrs,
        .attr_bytes = sizeof(cebus_softmax_attrs),
        .in = (cebus_tensor *[]){io->grad_out[0], io->out[0]},
        .n_in = 2,
        .n_out = 1,
    };
    return cebus_call_run(io->rt, &spec, io->grad_in);
}

cebus_status cebus_softmax_gradient(const cebus_gradient *io)
{
    return run_backward(io, &cebus_op_softmax_backward);
}

cebus_status cebus_log_softmax_gradient(const cebus_gradient *io)
{
    return run_backward(io, &cebus_op_log_softmax_backward);
}
