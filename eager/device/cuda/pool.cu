/* Pooling: a thread for each number that is written, side by side what lies so in memory. Backward
 * ops gather, in one order, so that nothing is added by two. Images are read in whatever order they
 * are. Windows of 2 or 3 pixels a side, and as many over a pixel, are read all at once. */
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/image.h"
#include "eager/device/cuda/vector.h"

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
    bool planes; /* columns lie side by side in what is written, else channels */
    bool wide;   /* too many numbers for the fine divisions */
    cebus_divisor by_channels, by_to[2], by_stride[2];
    int32_t near[3][4]; /* strides of x, out and places, where all offsets are below 2^31 */
} pool_job;

/** A pixel where numbers are below 2^31. */
typedef struct near_pixel {
    int n, c, h, w;
} near_pixel;

CEBUS_DEVICE int32_t near_offset(const int32_t *stride, near_pixel at)
{
    return at.n * stride[0] + at.c * stride[1] + at.h * stride[2] + at.w * stride[3];
}

/** The pixel of number i of what is written. */
CEBUS_DEVICE near_pixel near_pixel_in(const pool_job *p, uint32_t i)
{
    const uint32_t channels = p->by_channels.value, width = p->by_to[1].value;
    uint32_t rest = i, c = 0;
    if (!p->planes) {
        c = rest;
        rest = cebus_divide(rest, p->by_channels);
        c -= rest * channels;
    }
    uint32_t row = cebus_divide(rest, p->by_to[1]), w = rest - row * width;
    uint32_t n = cebus_divide(row, p->by_to[0]), h = row - n * p->by_to[0].value;
    if (p->planes) {
        c = n;
        n = cebus_divide(n, p->by_channels);
        c -= n * channels;
    }
    return {(int)n, (int)c, (int)h, (int)w};
}

CEBUS_DEVICE cebus_pixel pixel_in(const pool_job *p, int64_t i)
{
    if (p->wide)
        return cebus_pixel_of(i, p->channels, p->to);
    near_pixel at = near_pixel_in(p, (uint32_t)i);
    return {at.n, at.c, at.h, at.w};
}

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
        cebus_pixel at = pixel_in(&p, i);
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
        cebus_pixel at = pixel_in(&p, i);
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
        cebus_pixel at = pixel_in(&p, i);
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
        cebus_pixel at = pixel_in(&p, i);
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

/* --- a few pixels a side, without dilation -------------------------------------------------- */

/** The largest pixel of windows of K x K, whose places are bytes. */
template <cebus_dtype D, int K> CEBUS_KERNEL max_near_kernel(const pool_job p)
{
    typedef typename cebus_vector<D>::lane T;
    const int stride[] = {(int)p.how.stride[0], (int)p.how.stride[1]};
    const int padding[] = {(int)p.how.padding[0], (int)p.how.padding[1]};
    const uint32_t height = (uint32_t)p.from[0], width = (uint32_t)p.from[1];
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        near_pixel at = near_pixel_in(&p, (uint32_t)i);
        int top = at.h * stride[0] - padding[0], left = at.w * stride[1] - padding[1];
        int32_t base = near_offset(p.near[0], {at.n, at.c, top, left});
        T x[K * K];
        bool inside[K * K];
        CEBUS_UNROLL
        for (int k = 0; k < K * K; k++) {
            inside[k] = (uint32_t)(top + k / K) < height && (uint32_t)(left + k % K) < width;
            x[k] = 0;
            if (inside[k])
                x[k] = cebus_vector<D>::get(p.x.cells.data,
                                            base + k / K * p.near[0][2] + k % K * p.near[0][3]);
        }
        T best = (T)-INFINITY;
        int place = 0;
        bool first = true;
        CEBUS_UNROLL
        for (int k = 0; k < K * K; k++) {
            bool better = inside[k] & (first | (x[k] > best) | (x[k] != x[k]));
            best = better ? x[k] : best;
            place = better ? k : place;
            first = first & !inside[k];
        }
        if (p.out.cells.data != NULL)
            cebus_vector<D>::set(p.out.cells.data, near_offset(p.near[1], at), best);
        if (p.place.cells.data != NULL)
            p.place.cells.data[near_offset(p.near[2], at)] = (char)place;
    }
}

/** The first window along dimension d over a pixel. */
CEBUS_DEVICE int first_over(const pool_job *p, int d, int pixel)
{
    int stride = (int)p->how.stride[d];
    int end = pixel + (int)p->how.padding[d] - (int)p->how.kernel[d] + stride;
    return end < stride ? 0 : (int)cebus_divide((uint32_t)end, p->by_stride[d]);
}

/** Each pixel gathers from the windows that took it, R x R at the most; places are bytes. */
template <cebus_dtype D, int R> CEBUS_KERNEL max_near_backward_kernel(const pool_job p)
{
    typedef typename cebus_vector<D>::lane T;
    const int height = (int)p.from[0], width = (int)p.from[1], across = (int)p.how.kernel[1];
    const int stride[] = {(int)p.how.stride[0], (int)p.how.stride[1]};
    const int padding[] = {(int)p.how.padding[0], (int)p.how.padding[1]};
    for (int64_t i = cebus_grid_first(); i < p.numel; i += cebus_grid_step()) {
        near_pixel at = near_pixel_in(&p, (uint32_t)i);
        int h = first_over(&p, 0, at.h), w = first_over(&p, 1, at.w);
        int down = at.h + padding[0] - h * stride[0], right = at.w + padding[1] - w * stride[1];
        int32_t grads = near_offset(p.near[0], {at.n, at.c, h, w});
        int32_t places = near_offset(p.near[2], {at.n, at.c, h, w});
        T g[R * R], sum = 0;
        int place[R * R];
        CEBUS_UNROLL
        for (int k = 0; k < R * R; k++) {
            const int r = k / R, s = k % R;
            g[k] = 0;
            place[k] = -1;
            if ((down >= r * stride[0]) & (right >= s * stride[1]) & (h + r < height) &
                (w + s < width)) {
                g[k] = cebus_vector<D>::get(p.x.cells.data,
                                            grads + r * p.near[0][2] + s * p.near[0][3]);
                place[k] =
                    (uint8_t)p.place.cells.data[places + r * p.near[2][2] + s * p.near[2][3]];
            }
        }
        CEBUS_UNROLL
        for (int k = 0; k < R * R; k++) {
            int tap = (down - k / R * stride[0]) * across + right - k % R * stride[1];
            sum = place[k] == tap ? sum + g[k] : sum;
        }
        cebus_vector<D>::set(p.out.cells.data, near_offset(p.near[1], at), sum);
    }
}

/** The same for vectors of channels that lie side by side: a pixel of `by_channels` vectors. */
template <cebus_dtype D, int R> CEBUS_KERNEL max_pixels_backward_kernel(const pool_job p)
{
    enum {
        length = cebus_vector<D>::length
    };
    struct alignas(length) taps {
        uint8_t of[length];
    };
    const int height = (int)p.from[0], width = (int)p.from[1], across = (int)p.how.kernel[1];
    const int stride[] = {(int)p.how.stride[0], (int)p.how.stride[1]};
    const int padding[] = {(int)p.how.padding[0], (int)p.how.padding[1]};
    for (int64_t i = cebus_grid_first(); i < p.numel / length; i += cebus_grid_step()) {
        near_pixel at = near_pixel_in(&p, (uint32_t)i);
        int h = first_over(&p, 0, at.h), w = first_over(&p, 1, at.w), c = at.c * length;
        int down = at.h + padding[0] - h * stride[0], right = at.w + padding[1] - w * stride[1];
        int32_t grads = near_offset(p.near[0], {at.n, c, h, w});
        int32_t places = near_offset(p.near[2], {at.n, c, h, w});
        float g[R * R][length], sum[length] = {};
        taps place[R * R];
        bool over[R * R];
        CEBUS_UNROLL
        for (int k = 0; k < R * R; k++) {
            const int r = k / R, s = k % R;
            over[k] = (down >= r * stride[0]) & (right >= s * stride[1]) & (h + r < height) &
                      (w + s < width);
            place[k] = {};
            if (over[k]) {
                cebus_vector<D>::read(g[k], p.x.cells.data,
                                      grads + r * p.near[0][2] + s * p.near[0][3]);
                place[k] = *(const taps *)(const void *)(p.place.cells.data + places +
                                                         r * p.near[2][2] + s * p.near[2][3]);
            }
        }
        CEBUS_UNROLL
        for (int k = 0; k < R * R; k++) {
            int tap = (down - k / R * stride[0]) * across + right - k % R * stride[1];
            CEBUS_UNROLL
            for (int j = 0; j < length; j++)
                sum[j] = over[k] && place[k].of[j] == tap ? sum[j] + g[k][j] : sum[j];
        }
        cebus_vector<D>::write(sum, p.out.cells.data,
                               near_offset(p.near[1], {at.n, c, at.h, at.w}));
    }
}

/* --- entries ------------------------------------------------------------------------------- */

typedef void (*pool_kernel)(pool_job);

static pool_job job_of(const cebus_launch *launch, const cebus_array *place)
{
    const cebus_view *from = launch->in[0].view, *to = launch->out[0].view;
    pool_job p = {};
    p.how = *(const cebus_pool_attrs *)launch->attrs;
    p.x = cebus_image_of(&launch->in[0]);
    p.out = cebus_image_of(&launch->out[0]);
    if (place != NULL)
        p.place = cebus_image_of(place);
    p.channels = from->shape[1];
    p.numel = cebus_view_numel(to);
    p.wide = p.numel >= INT32_MAX || cebus_view_numel(from) >= INT32_MAX;
    p.planes = p.out.stride[3] < p.out.stride[1] || p.channels == 1;
    for (int d = 0; d < 2; d++) {
        p.from[d] = from->shape[2 + d];
        p.to[d] = to->shape[2 + d];
    }
    if (p.wide || p.numel == 0)
        return p;
    p.by_channels = cebus_divisor_of((uint32_t)p.channels);
    for (int d = 0; d < 2; d++) {
        p.by_to[d] = cebus_divisor_of((uint32_t)p.to[d]);
        p.by_stride[d] = cebus_divisor_of(p.how.adaptive ? 1 : (uint32_t)p.how.stride[d]);
    }
    return p;
}

static cebus_status run(const cebus_launch *launch, const pool_job *p, pool_kernel kernel,
                        const char *op)
{
    cebus_grid_run(launch, kernel, cebus_grid_blocks(p->numel), CEBUS_GRID_THREADS, *p);
    return cebus_cuda_launched(op);
}

/** Strides as numbers below 2^31, if all offsets are. */
static bool near_strides(const cebus_image *image, const cebus_view *view, int32_t *out)
{
    int64_t last = 0;
    for (int d = 0; d < 4; d++) {
        last += (view->shape[d] - 1) * image->stride[d];
        if (image->stride[d] < 0 || image->stride[d] >= INT32_MAX || last >= INT32_MAX / 2)
            return false;
        out[d] = (int32_t)image->stride[d];
    }
    return true;
}

/** Whether windows and images are small enough for what is read at once; *r: how many windows are
 * over a pixel along a side at the most. */
static bool is_near(const cebus_launch *launch, pool_job *p, const cebus_view *place, int *r)
{
    const cebus_pool_attrs *a = &p->how;
    *r = 1;
    for (int d = 0; d < 2; d++) {
        if (a->dilation[d] != 1 || a->kernel[d] > 64 || a->stride[d] > 64 || a->padding[d] > 64)
            return false;
        int over = (int)((a->kernel[d] + a->stride[d] - 1) / a->stride[d]);
        *r = over > *r ? over : *r;
    }
    return !p->wide && p->place.cells.dtype == CEBUS_U8 &&
           near_strides(&p->x, launch->in[0].view, p->near[0]) &&
           near_strides(&p->out, launch->out[0].view, p->near[1]) &&
           near_strides(&p->place, place, p->near[2]);
}

/** Whether a near job's pixels are whole vectors of `length` channels, in memory too; then it is
 * made one of vectors. */
static bool takes_vectors(pool_job *p, int length)
{
    int32_t odd = (int32_t)p->channels;
    for (int i = 0; i < 3; i++) {
        odd |= p->near[i][0] | p->near[i][2] | p->near[i][3];
        if (p->near[i][1] != 1)
            return false;
    }
    if (p->planes || (odd & (length - 1)) != 0 || !cebus_vector_fits(p->x.cells) ||
        !cebus_vector_fits(p->out.cells) || !cebus_vector_fits(p->place.cells))
        return false;
    p->by_channels = cebus_divisor_of((uint32_t)(p->channels / length));
    return true;
}

/** Of kernels for f32, f16, bf16 and f64. */
static int number_of(cebus_dtype dtype)
{
    return dtype == CEBUS_F64 ? 3 : cebus_vector_number(dtype);
}

#define NEAR(kernel, side)                                                                         \
    {                                                                                              \
        kernel<CEBUS_F32, side>, kernel<CEBUS_F16, side>, kernel<CEBUS_BF16, side>,                \
            kernel<CEBUS_F64, side>                                                                \
    }

static cebus_status run_max(const cebus_launch *launch)
{
    static const pool_kernel kernels[] = {max_kernel<float>, max_kernel<double>};
    static const pool_kernel near[2][4] = {NEAR(max_near_kernel, 2), NEAR(max_near_kernel, 3)};
    pool_job p = job_of(launch, &launch->out[1]);
    cebus_dtype dtype = p.x.cells.dtype;
    int r, side = (int)p.how.kernel[0];
    bool small = side == p.how.kernel[1] && (side == 2 || side == 3);
    return run(launch, &p,
               small && is_near(launch, &p, launch->out[1].view, &r)
                   ? near[side - 2][number_of(dtype)]
                   : kernels[dtype == CEBUS_F64],
               "max_pool2d");
}

static cebus_status run_max_backward(const cebus_launch *launch)
{
    static const pool_kernel kernels[] = {max_backward_kernel<float>, max_backward_kernel<double>};
    static const pool_kernel near[3][4] = {NEAR(max_near_backward_kernel, 1),
                                           NEAR(max_near_backward_kernel, 2),
                                           NEAR(max_near_backward_kernel, 3)};
    static const pool_kernel vectors[] = {max_pixels_backward_kernel<CEBUS_F32, 2>,
                                          max_pixels_backward_kernel<CEBUS_F16, 2>,
                                          max_pixels_backward_kernel<CEBUS_BF16, 2>};
    pool_job p = job_of(launch, &launch->in[1]);
    cebus_dtype dtype = p.x.cells.dtype;
    int r, number = cebus_vector_number(dtype);
    if (!is_near(launch, &p, launch->in[1].view, &r) || r > 3)
        return run(launch, &p, kernels[dtype == CEBUS_F64], "max_pool2d_backward");
    if (number >= 0 && r <= 2 && takes_vectors(&p, number == 0 ? 4 : 8))
        return run(launch, &p, vectors[number], "max_pool2d_backward");
    return run(launch, &p, near[r - 1][number_of(dtype)], "max_pool2d_backward");
}

static cebus_status run_avg(const cebus_launch *launch)
{
    pool_job p = job_of(launch, NULL);
    bool wide = p.x.cells.dtype == CEBUS_F64;
    return run(launch, &p, wide ? avg_kernel<double> : avg_kernel<float>, "avg_pool2d");
}

static cebus_status run_avg_backward(const cebus_launch *launch)
{
    pool_job p = job_of(launch, NULL);
    bool wide = p.x.cells.dtype == CEBUS_F64;
    return run(launch, &p, wide ? avg_backward_kernel<double> : avg_backward_kernel<float>,
               "avg_pool2d_backward");
}

const cebus_kernel cebus_cuda_pool_kernels[] = {
    {"max_pool2d", run_max, NULL, NULL},
    {"max_pool2d_backward", run_max_backward, NULL, NULL},
    {"avg_pool2d", run_avg, NULL, NULL},
    {"adaptive_avg_pool2d", run_avg, NULL, NULL},
    {"avg_pool2d_backward", run_avg_backward, NULL, NULL},
    {},
};
