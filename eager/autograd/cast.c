#include "eager/ops/cast.h"

#include <cebus/ops/cast.h>

cebus_status cebus_cast_gradient(const cebus_gradient *io)
{
    if (!io->grad_out[0])
        return CEBUS_OK;
    return cebus_cast(io->rt, io->grad_out[0], io->in_view[0].dtype, io->grad_in);
}
