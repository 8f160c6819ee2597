/**
 * layouts.c: what inference and kernels both derive from views. Pure functions: device plug-ins
 * compile their own copy.
 */
#include "eager/ops/conv.h"
#include "eager/ops/loss.h"
#include "eager/ops/norm.h"
#include "eager/view.h"

cebus_conv_shape cebus_conv_shape_of(const cebus_conv_attrs *attrs, const cebus_view *image,
                                     const cebus_view *weight, const cebus_view *output)
{
    cebus_conv_shape s = {
        .batch = image->shape[0],
        .groups = attrs->groups,
        .image_channels = image->shape[1],
        .output_channels = output->shape[1],
    };
    for (int i = 0; i < 2; i++) {
        s.image[i] = image->shape[2 + i];
        s.output[i] = output->shape[2 + i];
        s.kernel[i] = weight->shape[2 + i];
        s.stride[i] = attrs->stride[i];
        s.padding[i] = attrs->padding[i];
        s.dilation[i] = attrs->dilation[i];
    }
    return s;
}

void cebus_class_layout(const cebus_view *x, cebus_view *out)
{
    if (cebus_view_is_channels_last(x))
        cebus_view_channels_last(out, x->dtype, x->shape);
    else
        cebus_view_contiguous(out, x->dtype, x->ndim, x->shape);
}

void cebus_group_norm_layout(const cebus_view *x, cebus_view *out)
{
    if (cebus_view_is_channels_last(x))
        cebus_view_channels_last(out, x->dtype, x->shape);
    else
        cebus_view_contiguous(out, x->dtype, x->ndim, x->shape);
}
