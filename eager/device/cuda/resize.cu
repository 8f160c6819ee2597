/* Interpolation: a thread for each number that is written, neighbouring channels side by side. The
 * backward op gathers, in one order. Images are read in whatever order they are. */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/image.h"
#include "eager/device/tap.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/resize.h"
CEBUS_END_DECLS

typedef struct resize_job {
    cebus_image from, to;
    int64_t channels, numel, size[2]; /* of what is written */
    cebus_tap_axis axis[2];
    bool nearest;
} resize_job;

CEBUS_DEVICE cebus_tap tap_of(const resize_job *p, int d, int64_t i)
{
    return p->nearest ? cebus_tap_nearest(p->axis[d], i) : cebus_tap_bilinear(p->axis[d], i);
}

/** The mean of four pixels, weighted first along the columns, then along the rows. */
template <class T> CEBUS_KERNEL forward_kernel(const resize_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        cebus_pixel at = cebus_pixel_of(i, p.channels, p.size);
        cebus_tap h = tap_of(&p, 0, at.h), w = tap_of(&p, 1, at.w);
        T x[4] = {}, y;
        CEBUS_UNROLL
        for (int k = 0; k < 4; k++) {
            cebus_pixel from = {at.n, at.c, h.source[k / 2], w.source[k % 2]};
            if (k == 0 || !p.nearest)
                x[k] = cebus_image_get<T>(&p.from, from);
        }
        y = (T)h.weight[0] * ((T)w.weight[0] * x[0] + (T)w.weight[1] * x[1]) +
            (T)h.weight[1] * ((T)w.weight[0] * x[2] + (T)w.weight[1] * x[3]);
        cebus_image_set<T>(&p.to, at, p.nearest ? x[0] : y);
    }
}

/** The first row of the result whose source number `which` is at least `least`. Sources never go
 * back. */
CEBUS_DEVICE int64_t first_from(const resize_job *p, int d, int which, int64_t least)
{
    int64_t low = 0, high = p->axis[d].result;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        cebus_tap tap = tap_of(p, d, middle);
        if ((which == 0 ? tap.source[0] : tap.source[1]) < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** Each pixel of the image gathers from the pixels of the result it went into. */
template <class T> CEBUS_KERNEL backward_kernel(const resize_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        cebus_pixel at = cebus_pixel_of(i, p.channels, p.size);
        int64_t left = first_from(&p, 1, 1, at.w), right = first_from(&p, 1, 0, at.w + 1);
        int64_t end = first_from(&p, 0, 0, at.h + 1);
        T sum = 0;
        for (int64_t h = first_from(&p, 0, 1, at.h); h < end; h++) {
            cebus_tap row = tap_of(&p, 0, h);
            double share = cebus_tap_share(&row, at.h);
            for (int64_t w = left; w < right; w++) {
                cebus_tap column = tap_of(&p, 1, w);
                cebus_pixel from = {at.n, at.c, h, w};
                sum +=
                    (T)(share * cebus_tap_share(&column, at.w)) * cebus_image_get<T>(&p.from, from);
            }
        }
        cebus_image_set<T>(&p.to, at, sum);
    }
}

static cebus_status run(const cebus_launch *launch, bool backward,
                        void (*const kernels[2])(resize_job))
{
    const cebus_resize_attrs *attrs = (const cebus_resize_attrs *)launch->attrs;
    const cebus_array *from = &launch->in[0], *to = &launch->out[0];
    const cebus_view *image = backward ? to->view : from->view;
    const cebus_view *result = backward ? from->view : to->view;
    resize_job p = {};
    p.from = cebus_image_of(from);
    p.to = cebus_image_of(to);
    p.channels = image->shape[1];
    p.numel = cebus_view_numel(to->view);
    p.nearest = attrs->mode == CEBUS_INTERPOLATE_NEAREST;
    for (int d = 0; d < 2; d++) {
        p.size[d] = to->view->shape[2 + d];
        p.axis[d] = {image->shape[2 + d], result->shape[2 + d], attrs->step[d],
                     attrs->align_corners};
    }
    cebus_grid_run(launch, kernels[to->view->dtype == CEBUS_F64], cebus_grid_blocks(p.numel),
                   CEBUS_GRID_THREADS, p);
    return cebus_cuda_launched(backward ? "interpolate_backward" : "interpolate");
}

static cebus_status run_forward(const cebus_launch *launch)
{
    static void (*const kernels[2])(resize_job) = {forward_kernel<float>, forward_kernel<double>};
    return run(launch, false, kernels);
}

static cebus_status run_backward(const cebus_launch *launch)
{
    static void (*const kernels[2])(resize_job) = {backward_kernel<float>, backward_kernel<double>};
    return run(launch, true, kernels);
}

const cebus_kernel cebus_cuda_resize_kernels[] = {
    {"interpolate", run_forward, NULL, NULL},
    {"interpolate_backward", run_backward, NULL, NULL},
    {},
};
