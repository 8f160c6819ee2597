/**
 * Interpolation of channels-last images, f32 and f64; images in another order are copied into the
 * workspace first. Where each row and column of the result comes from is worked out once into
 * tables, also in the workspace. The backward op gathers: one thread makes a pixel, in one order.
 */
#include "eager/ops/resize.h"

#include <string.h>

#include "eager/device/cpu/families.h"
#include "eager/device/cpu/pack.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/widen.h"
#include "eager/device/tap.h"
#include "eager/view.h"
#include "layout/clones.h"

/** The rows of the result that a row of the image goes into. */
typedef struct resize_users {
    int64_t begin, end;
} resize_users;

typedef struct resize_job {
    int64_t channels, image[2], result[2];
    bool nearest;
    const void *from;
    void *to;
    cebus_tap *taps[2];     /**< [result] */
    resize_users *users[2]; /**< [image], of the backward op */
    void (*rows)(const struct resize_job *job, int64_t begin, int64_t end);
} resize_job;

#define REAL float
#define NAME(x) x##_f32
#include "eager/device/cpu/resize_typed.h"

#define REAL double
#define NAME(x) x##_f64
#include "eager/device/cpu/resize_typed.h"

static void tables_fill(const cebus_resize_attrs *a, resize_job *job, bool backward)
{
    for (int d = 0; d < 2; d++) {
        cebus_tap_axis axis = {job->image[d], job->result[d], a->step[d], a->align_corners};
        for (int64_t i = 0; i < job->result[d]; i++)
            job->taps[d][i] =
                job->nearest ? cebus_tap_nearest(axis, i) : cebus_tap_bilinear(axis, i);
        /* Sources never go back, so the users of a row are neighbours. */
        int64_t begin = 0, end = 0;
        for (int64_t row = 0; backward && row < job->image[d]; row++) {
            while (begin < job->result[d] && job->taps[d][begin].source[1] < row)
                begin++;
            while (end < job->result[d] && job->taps[d][end].source[0] <= row)
                end++;
            job->users[d][row] = (resize_users){begin, end};
        }
    }
}

static const cebus_pack_order order = CEBUS_PACK_CHANNELS_LAST;

/** The tables' places in the workspace, behind the packed input; answers where they end. */
static uint64_t tables_place(const cebus_launch *launch, resize_job *job, uint64_t at)
{
    char *base = launch->workspace;
    for (int d = 0; d < 2; d++) {
        uint64_t taps = (uint64_t)job->result[d] * sizeof(cebus_tap);
        uint64_t users = (uint64_t)job->image[d] * sizeof(resize_users);
        job->taps[d] = base ? (void *)(base + at) : NULL;
        at += cebus_pack_align(taps);
        job->users[d] = base ? (void *)(base + at) : NULL;
        at += cebus_pack_align(users);
    }
    return at;
}

static resize_job job_init(const cebus_launch *launch, bool backward, uint64_t *out_bytes)
{
    const cebus_view *image = backward ? launch->out[0].view : launch->in[0].view;
    const cebus_view *result = backward ? launch->in[0].view : launch->out[0].view;
    const cebus_resize_attrs *attrs = launch->attrs;
    resize_job job = {
        .channels = image->shape[1],
        .image = {image->shape[2], image->shape[3]},
        .result = {result->shape[2], result->shape[3]},
        .nearest = attrs->mode == CEBUS_INTERPOLATE_NEAREST,
        .to = launch->out[0].data,
    };
    cebus_pack pack;
    cebus_pack_init(&pack, launch, 1, &order);
    *out_bytes = tables_place(launch, &job, pack.bytes);
    return job;
}

static void run_rows(void *context, int64_t begin, int64_t end)
{
    const resize_job *job = context;
    job->rows(job, begin, end);
}

static cebus_status run(const cebus_launch *launch, bool backward)
{
    const cebus_view *to = launch->out[0].view;
    bool wide = to->dtype == CEBUS_F64;
    uint64_t bytes;
    if (cebus_view_numel(to) == 0)
        return CEBUS_OK;
    resize_job job = job_init(launch, backward, &bytes);
    cebus_pack pack;
    void *data[CEBUS_PACK_MAX];
    cebus_pack_init(&pack, launch, 1, &order);
    cebus_pack_run(&pack, launch, data);
    tables_fill(launch->attrs, &job, backward);
    job.from = data[0];
    if (backward)
        job.rows = wide ? backward_rows_f64 : backward_rows_f32;
    else
        job.rows = wide ? rows_f64 : rows_f32;
    cebus_parallel_for(launch->threads, to->shape[0] * to->shape[2],
                       CEBUS_GRAIN / (to->shape[3] * to->shape[1]), run_rows, &job);
    return CEBUS_OK;
}

static cebus_status run_forward(const cebus_launch *launch)
{
    return run(launch, false);
}

static cebus_status run_backward(const cebus_launch *launch)
{
    return run(launch, true);
}

static uint64_t workspace_forward(const cebus_launch *launch)
{
    uint64_t bytes;
    job_init(launch, false, &bytes);
    return bytes;
}

static uint64_t workspace_backward(const cebus_launch *launch)
{
    uint64_t bytes;
    job_init(launch, true, &bytes);
    return bytes;
}

#define KERNELS(X)                                                                                 \
    X(interpolate, run_forward, workspace_forward)                                                 \
    X(interpolate_backward, run_backward, workspace_backward)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_resize[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
