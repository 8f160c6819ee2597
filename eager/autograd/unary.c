#include "eager/ops/unary.h"

#include <cebus/ops/unary.h>

#include "eager/ops/entry.h"
#include "eager/ops/fill.h"

cebus_saves cebus_unary_saves_in(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.in = 1};
}

cebus_saves cebus_unary_saves_out(const void *attrs, uint64_t needs)
{
    (void)attrs;
    (void)needs;
    return (cebus_saves){.out = 1};
}

cebus_status cebus_unary_gradient(const cebus_gradient *io)
{
    const cebus_unary_op *self = (const cebus_unary_op *)io->op;
    cebus_tensor *in[2] = {io->grad_out[0], io->in[0] ? io->in[0] : io->out[0]};
    cebus_call_spec spec = {.op = &self->backward, .in = in, .n_in = 2, .n_out = 1};
    spec.attrs = io->attrs;
    spec.attr_bytes = io->attrs ? self->attr_bytes : 0;
    return in[0] ? cebus_entry_run(io->rt, &spec, io->grad_in) : CEBUS_OK;
}

cebus_status cebus_neg_gradient(const cebus_gradient *io)
{
    return io->grad_out[0] ? cebus_neg(io->rt, io->grad_out[0], io->grad_in) : CEBUS_OK;
}

cebus_status cebus_sign_gradient(const cebus_gradient *io)
{
    return cebus_fill_like(io->rt, &io->in_view[0], 0.0, io->grad_in);
}
