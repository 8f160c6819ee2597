/* Pooling: a thread for each number that is written, neighbouring channels side by side. Backward
 * ops gather, in one order, so that nothing is added by two. Images are read in whatever order they
 * are. */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/image.h"

CEBUS_BEGIN_DECLS
#include "eager/ops/pool.h"
CEBUS_END_DECLS

#include "eager/device/span.h"

/** One call. `from` and `to` are the height and width of what is read and written; forward ops
 * read the image, backward ops write it. */
typedef struct pool_job {
    cebus_pool_attrs how;
    cebus_image x, out; /* x: the image, or the result's gradient */
    cebus_image place;  /* of the largest pixel in its window; data NULL: not wanted */
    int64_t channels, from[2], to[2], numel;
} pool_job;

CEBUS_DEVICE int32_t tap_get(cebus_cells place, int64_t at)
{
    return place.dtype == CEBUS_U8 ? ((const uint8_t *)place.data)[at]
                                   : ((const int32_t *)(const void *)place.data)[at];
}

CEBUS_DEVICE void tap_set(cebus_cells place, int64_t at, int32_t tap)
{
    if (place.dtype == CEBUS_U8)
        ((uint8_t *)place.data)[at] = (uint8_t)tap;
    else
        ((int32_t *)(void *)place.data)[at] = tap;
}

/** The tap through which the window (h, w) reads the pixel `at`, within its span; -1 when the
 * pixel lies between two taps. */
CEBUS_DEVICE int32_t tap_between(const pool_job *p, cebus_pixel at, int64_t h, int64_t w)
{
    const cebus_pool_attrs *a = &p->how;
    int64_t i = at.h + a->padding[0] - h * a->stride[0];
    int64_t j = at.w + a->padding[1] - w * a->stride[1];
    if (i % a->dilation[0] != 0 || j % a->dilation[1] != 0)
        return -1;
    return (int32_t)(i / a->dilation[0] * a->kernel[1] + j / a->dilation[1]);
}

/** The pixels of an averaging window along dimension d, inside the image. */
CEBUS_DEVICE cebus_span window_span(const pool_job *p, int d, int64_t window, bool backward)
{
    int64_t image = backward ? p->to[d] : p->from[d], windows = backward ? p->from[d] : p->to[d];
    return cebus_span_of_window(&p->how, {d, windows, image}, window);
}

/** The windows along dimension d whose span covers a pixel. */
CEBUS_DEVICE cebus_span windows_over(const pool_job *p, int d, int64_t pixel)
{
    return cebus_span_over_pixel(&p->how, {d, p->from[d], p->to[d]}, pixel);
}

/* --- kernels ------------------------------------------------------------------------------- */

/** The largest pixel of each window, the first of equals, and its place; a NaN is the largest. */
template <class T> CEBUS_KERNEL max_kernel(const pool_job p)
{
    const cebus_pool_attrs *a = &p.how;
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        cebus_pixel at = cebus_pixel_of(i, p.channels, p.to);
        T best = (T)-INFINITY; /* a dilated window at the edge may lie in the padding */
        int32_t place = 0, tap = 0;
        bool first = true;
        for (int64_t r = 0; r < a->kernel[0]; r++) {
            for (int64_t s = 0; s < a->kernel[1]; s++, tap++) {
                cebus_pixel from = {at.n, at.c,
                                    at.h * a->stride[0] - a->padding[0] + r * a->dilation[0],
                                    at.w * a->stride[1] - a->padding[1] + s * a->dilation[1]};
                if (from.h < 0 || from.h >= p.from[0] || from.w < 0 || from.w >= p.from[1])
                    continue;
                T x = cebus_image_get<T>(&p.x, from);
                if (first || x > best || x != x) {
                    best = x;
                    place = tap;
                }
                first = false;
            }
        }
        if (p.out.cells.data != NULL)
            cebus_image_set<T>(&p.out, at, best);
        if (p.place.cells.data != NULL)
            tap_set(p.place.cells, cebus_image_offset(&p.place, at), place);
    }
}

/** Each pixel of the image gathers from the windows that took it. */
template <class T> CEBUS_KERNEL max_backward_kernel(const pool_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        cebus_pixel at = cebus_pixel_of(i, p.channels, p.to);
        cebus_span rows = windows_over(&p, 0, at.h), columns = windows_over(&p, 1, at.w);
        T sum = 0;
        for (int64_t h = rows.begin; h < rows.end; h++) {
            for (int64_t w = columns.begin; w < columns.end; w++) {
                cebus_pixel window = {at.n, at.c, h, w};
                int32_t tap = tap_between(&p, at, h, w);
                if (tap >= 0 && tap_get(p.place.cells, cebus_image_offset(&p.place, window)) == tap)
                    sum += cebus_image_get<T>(&p.x, window);
            }
        }
        cebus_image_set<T>(&p.out, at, sum);
    }
}

/** The mean of each window. */
template <class T> CEBUS_KERNEL avg_kernel(const pool_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        cebus_pixel at = cebus_pixel_of(i, p.channels, p.to);
        cebus_span rows = window_span(&p, 0, at.h, false);
        cebus_span columns = window_span(&p, 1, at.w, false);
        T sum = 0;
        for (int64_t h = rows.begin; h < rows.end; h++)
            for (int64_t w = columns.begin; w < columns.end; w++)
                sum += cebus_image_get<T>(&p.x, {at.n, at.c, h, w});
        cebus_image_set<T>(&p.out, at, sum / (T)(rows.count * columns.count));
    }
}

/** Each pixel of the image gathers its share from the windows over it. */
template <class T> CEBUS_KERNEL avg_backward_kernel(const pool_job p)
{
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        cebus_pixel at = cebus_pixel_of(i, p.channels, p.to);
        cebus_span rows = windows_over(&p, 0, at.h), columns = windows_over(&p, 1, at.w);
        T sum = 0;
        for (int64_t h = rows.begin; h < rows.end; h++) {
            int64_t across = window_span(&p, 0, h, true).count;
            for (int64_t w = columns.begin; w < columns.end; w++) {
                T count = (T)(across * window_span(&p, 1, w, true).count);
                sum += cebus_image_get<T>(&p.x, {at.n, at.c, h, w}) / count;
            }
        }
        cebus_image_set<T>(&p.out, at, sum);
    }
}

/* --- entries ------------------------------------------------------------------------------- */

static cebus_status run(const cebus_launch *launch, const cebus_array *place,
                        void (*const kernels[2])(pool_job), const char *op)
{
    const cebus_view *from = launch->in[0].view, *to = launch->out[0].view;
    pool_job p = {};
    p.how = *(const cebus_pool_attrs *)launch->attrs;
    p.x = cebus_image_of(&launch->in[0]);
    p.out = cebus_image_of(&launch->out[0]);
    if (place != NULL)
        p.place = cebus_image_of(place);
    p.channels = from->shape[1];
    for (int d = 0; d < 2; d++) {
        p.from[d] = from->shape[2 + d];
        p.to[d] = to->shape[2 + d];
    }
    p.numel = cebus_view_numel(to);
    cebus_grid_run(launch, kernels[from->dtype == CEBUS_F64], cebus_grid_blocks(p.numel),
                   CEBUS_GRID_THREADS, p);
    return cebus_cuda_launched(op);
}

typedef void (*const pool_kernels[2])(pool_job);

static cebus_status run_max(const cebus_launch *launch)
{
    static pool_kernels kernels = {max_kernel<float>, max_kernel<double>};
    return run(launch, &launch->out[1], kernels, "max_pool2d");
}

static cebus_status run_max_backward(const cebus_launch *launch)
{
    static pool_kernels kernels = {max_backward_kernel<float>, max_backward_kernel<double>};
    return run(launch, &launch->in[1], kernels, "max_pool2d_backward");
}

static cebus_status run_avg(const cebus_launch *launch)
{
    static pool_kernels kernels = {avg_kernel<float>, avg_kernel<double>};
    return run(launch, NULL, kernels, "avg_pool2d");
}

static cebus_status run_avg_backward(const cebus_launch *launch)
{
    static pool_kernels kernels = {avg_backward_kernel<float>, avg_backward_kernel<double>};
    return run(launch, NULL, kernels, "avg_pool2d_backward");
}

const cebus_kernel cebus_cuda_pool_kernels[] = {
    {"max_pool2d", run_max, NULL, NULL},
    {"max_pool2d_backward", run_max_backward, NULL, NULL},
    {"avg_pool2d", run_avg, NULL, NULL},
    {"adaptive_avg_pool2d", run_avg, NULL, NULL},
    {"avg_pool2d_backward", run_avg_backward, NULL, NULL},
    {},
};
