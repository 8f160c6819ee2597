/**
 * Convolutions by plain loops: any strides, f32 and f64. Every pixel (or weight) is summed by one
 * thread in one order, so the bits do not even depend on the thread count. The weight is first
 * turned so that the channels written are innermost: the inner loop is then a vector times a
 * number, for which no sum has to be reordered.
 */
#include <string.h>

#include "eager/device/cpu/clones.h"
#include "eager/device/cpu/conv.h"
#include "eager/device/cpu/pack.h"
#include "eager/device/cpu/parallel.h"
#include "eager/view.h"

/** Multiplications below which a second thread is not worth waking. */
#define LEAST_WORK 65536

typedef struct conv_loops {
    const cebus_conv_job *job;
    const cebus_array *from, *to;       /**< pixels read and written; of a weight: image, weight */
    int64_t from_channels, to_channels; /**< of one group */
    int64_t taps;
    int64_t items;         /**< rows of pixels, or output channels of the weight */
    int64_t parts;         /**< they are cut into */
    uint64_t packed_bytes; /**< of the turned weight, at the beginning of the scratch */
    uint64_t part_bytes;   /**< of each part's sums, behind it */
} conv_loops;

static bool is_f64(const cebus_conv_job *job)
{
    return job->weight.view->dtype == CEBUS_F64;
}

static conv_loops loops_init(const cebus_conv_job *job)
{
    const cebus_conv_shape *s = &job->shape;
    int64_t in = s->image_channels / s->groups, out = s->output_channels / s->groups;
    bool to_image = job->way == CEBUS_CONV_IMAGE, to_weight = job->way == CEBUS_CONV_WEIGHT;
    conv_loops l = {
        .job = job,
        .from = to_image ? &job->output : &job->image,
        .to = to_image    ? &job->image
              : to_weight ? &job->weight
                          : &job->output,
        .from_channels = to_image ? out : in,
        .to_channels = to_image ? in : out,
        .taps = s->kernel[0] * s->kernel[1],
    };
    const int64_t *shape = l.to->view->shape;
    uint64_t size = cebus_dtype_size(job->weight.view->dtype);
    l.items = to_weight ? s->output_channels : shape[0] * shape[2];
    double work = (double)s->batch * (double)(s->output[0] * s->output[1]) *
                  (double)cebus_view_numel(job->weight.view);
    int64_t threads = work < LEAST_WORK ? 1 : job->launch->threads;
    l.parts = l.items < threads ? l.items : threads;
    l.packed_bytes =
        to_weight ? 0 : cebus_pack_align((uint64_t)cebus_view_numel(job->weight.view) * size);
    l.part_bytes = cebus_pack_align((uint64_t)(to_weight ? l.taps * in : l.to_channels) * size);
    return l;
}

/**
 * The pixel that `tap` reads for the pixel `at` (h, w) being written (of the output when a weight
 * is); false where there is none: outside, or between the strides of a transposed convolution.
 */
static bool tap_source(const cebus_conv_job *job, const int64_t *at, int64_t tap, int64_t *out)
{
    const cebus_conv_shape *s = &job->shape;
    const int64_t place[2] = {tap / s->kernel[1], tap % s->kernel[1]};
    for (int i = 0; i < 2; i++) {
        int64_t reach = place[i] * s->dilation[i] - s->padding[i];
        if (job->way == CEBUS_CONV_IMAGE) {
            int64_t strided = at[i] - reach;
            out[i] = strided / s->stride[i];
            if (strided < 0 || strided % s->stride[i] != 0 || out[i] >= s->output[i])
                return false;
        } else {
            out[i] = at[i] * s->stride[i] + reach;
            if (out[i] < 0 || out[i] >= s->image[i])
                return false;
        }
    }
    return true;
}

#define REAL float
#define NAME(x) x##_f32
#include "eager/device/cpu/conv_loops_typed.h"

#define REAL double
#define NAME(x) x##_f64
#include "eager/device/cpu/conv_loops_typed.h"

uint64_t cebus_conv_loops_scratch(const cebus_conv_job *job)
{
    conv_loops l = loops_init(job);
    return l.packed_bytes + l.part_bytes * (uint64_t)l.parts;
}

static void run_parts(void *context, int64_t begin, int64_t end)
{
    const conv_loops *l = context;
    bool wide = is_f64(l->job), weight = l->job->way == CEBUS_CONV_WEIGHT;
    void (*const body[2][2])(const conv_loops *, int64_t, int64_t, void *) = {
        {pixels_f32, weights_f32},
        {pixels_f64, weights_f64},
    };
    for (int64_t part = begin; part < end; part++)
        body[wide][weight](l, l->items * part / l->parts, l->items * (part + 1) / l->parts,
                           (char *)l->job->scratch + l->packed_bytes +
                               l->part_bytes * (uint64_t)part);
}

void cebus_conv_loops_run(const cebus_conv_job *job)
{
    conv_loops l = loops_init(job);
    if (job->way != CEBUS_CONV_WEIGHT)
        (is_f64(job) ? weight_pack_f64 : weight_pack_f32)(&l);
    cebus_parallel_for((int)l.parts, l.parts, 0, run_parts, &l);
}
