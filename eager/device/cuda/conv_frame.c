#include "eager/device/cuda/conv.h"

#include "layout/number.h"

cebus_cuda_conv_frame cebus_cuda_conv_frame_of(const cebus_conv_shape *s)
{
    cebus_cuda_conv_frame frame;
    for (int i = 0; i < 2; i++) {
        const int64_t span = s->dilation[i] * (s->kernel[i] - 1) + 1;
        const int64_t room = s->image[i] + 2 * s->padding[i] - span;
        const int64_t end = (s->output[i] - 1) * s->stride[i] + span - s->padding[i];
        const bool whole = room >= 0 && room / s->stride[i] + 1 == s->output[i];
        frame.size[i] = whole ? s->image[i] : cebus_min_i64(s->image[i], end);
        frame.after[i] = whole ? s->padding[i] : end - frame.size[i];
    }
    return frame;
}
