/*
 * conv.c: convolutions by cuDNN, or where windows are single pixels by cuBLASLt (conv_point.h).
 * Images and outputs are channels-last as everywhere between
 * convolutions; inputs that lie otherwise, or not aligned to what cuDNN's fast engines load at
 * once, are copied into the workspace first. Element types: f32, f64, f16, bf16.
 */
#include "eager/device/cuda/conv.h"
#include "eager/device/cuda/bias.h"
#include "eager/device/cuda/conv_point.h"
#include "eager/device/cuda/copy.h"
#include "eager/device/cuda/families.h"
#include "eager/device/cuda/product.h"

typedef struct job {
    const cebus_launch *launch;
    const char *op;
    cebus_cuda_conv_key key;
    cebus_array in[2]; /* as cuDNN gets them */
    bool copied[2];
    const cebus_array *bias; /* NULL: none */
    bool is_point;
    cebus_cuda_conv_point point; /* where it is */
    void *workspace;             /* of the engine, where not */
} job;

static const char *const names[] = {"conv2d", "conv_transpose2d", "conv2d_weight"};

/* ---- jobs -------------------------------------------------------------------------------- */

static job job_of(const cebus_launch *launch, cebus_cuda_conv_way way)
{
    job j = {.launch = launch, .op = names[way], .in = {launch->in[0], launch->in[1]}};
    const cebus_view *place[3][3] = {
        /* image, weight, output */
        [CEBUS_CUDA_CONV_OUTPUT] = {launch->in[0].view, launch->in[1].view, launch->out[0].view},
        [CEBUS_CUDA_CONV_IMAGE] = {launch->out[0].view, launch->in[1].view, launch->in[0].view},
        [CEBUS_CUDA_CONV_WEIGHT] = {launch->in[0].view, launch->out[0].view, launch->in[1].view},
    };
    memset(&j.key, 0, sizeof j.key);
    j.key.shape = cebus_conv_shape_of(launch->attrs, place[way][0], place[way][1], place[way][2]);
    j.key.way = way;
    j.key.dtype = launch->out[0].view->dtype;
    j.key.tf32 = j.key.dtype == CEBUS_F32 && cebus_cuda_of(launch)->tf32;
    j.is_point = cebus_cuda_conv_is_point(&j.key);
    if (launch->n_in > 2 && launch->in[2].view->ndim == 1) /* an absent one has no dimensions */
        j.bias = &launch->in[2];
    return j;
}

/* The layout cuDNN gets input i in: the second is a weight but in conv2d_weight. */
static bool wants_rows(const job *j, int i)
{
    return i == 1 && j->key.way != CEBUS_CUDA_CONV_WEIGHT;
}

static bool is_taken(const job *j, int i)
{
    const cebus_view *view = j->in[i].view;
    if (cebus_cuda_alignment(view->offset, (int64_t)cebus_dtype_size(view->dtype)) <
        CEBUS_CUDA_CONV_ALIGNMENT)
        return false;
    return wants_rows(j, i) ? cebus_view_is_contiguous(view) : cebus_view_is_channels_last(view);
}

static void plan_inputs(job *j, cebus_cuda_scratch *scratch)
{
    for (int i = 0; i < 2; i++) {
        const cebus_view *view = j->in[i].view;
        j->copied[i] = !is_taken(j, i);
        if (j->copied[i])
            j->in[i].data = cebus_cuda_scratch_take(scratch, (uint64_t)cebus_view_numel(view) *
                                                                 cebus_dtype_size(view->dtype));
    }
}

/* Nothing to multiply: the result is empty, or a sum of nothing. */
static bool is_empty(const job *j)
{
    return j->key.shape.batch == 0;
}

static bool is_whole(const job *j)
{
    const cebus_cuda_conv_frame frame = cebus_cuda_conv_frame_of(&j->key.shape);
    return frame.size[0] == j->key.shape.image[0] && frame.size[1] == j->key.shape.image[1];
}

/* No window meets the image: only padding is seen. */
static bool is_blind(const job *j)
{
    const cebus_cuda_conv_frame frame = cebus_cuda_conv_frame_of(&j->key.shape);
    return frame.size[0] <= 0 || frame.size[1] <= 0;
}

static cebus_status plan(job *j, cebus_cuda_scratch *scratch)
{
    uint64_t bytes = 0;
    plan_inputs(j, scratch);
    if (j->is_point)
        return cebus_cuda_conv_point_plan(j->launch, j->op, &j->key, scratch, &j->point);
    cebus_status status = cebus_cuda_conv_query(cebus_cuda_of(j->launch), j->op, &j->key, &bytes);
    j->workspace = cebus_cuda_scratch_take(scratch, bytes);
    return status;
}

static uint64_t workspace(const cebus_launch *launch, cebus_cuda_conv_way way)
{
    job j = job_of(launch, way);
    cebus_cuda_scratch scratch = {0};
    if (is_empty(&j) || is_blind(&j) || plan(&j, &scratch) != CEBUS_OK)
        return 0; /* what fails here is reported by the run */
    return scratch.bytes;
}

/* ---- runs -------------------------------------------------------------------------------- */

static cebus_status copy_inputs(const job *j)
{
    for (int i = 0; i < 2; i++) {
        const cebus_array *from = &j->launch->in[i];
        cebus_view dense;
        if (!j->copied[i])
            continue;
        if (wants_rows(j, i))
            cebus_view_contiguous(&dense, from->view->dtype, 4, from->view->shape);
        else
            cebus_view_channels_last(&dense, from->view->dtype, from->view->shape);
        const cebus_array to = {.data = j->in[i].data, .view = &dense};
        cebus_cuda_copy(j->launch, &to, from);
    }
    return cebus_cuda_launched(j->op);
}

static cebus_status clear_result(const job *j)
{
    cebus_cuda_fill(j->launch, &j->launch->out[0], 0);
    return cebus_cuda_launched(j->op);
}

static cebus_status convolve(const job *j)
{
    void *const in[] = {j->in[0].data, j->in[1].data}, *out = j->launch->out[0].data;
    cebus_cuda_conv_data data = {.workspace = j->workspace};
    data.image = j->key.way == CEBUS_CUDA_CONV_IMAGE ? out : in[0];
    data.output = j->key.way == CEBUS_CUDA_CONV_IMAGE ? in[0] : out;
    data.weight = in[1];
    if (j->key.way == CEBUS_CUDA_CONV_WEIGHT) {
        data.output = in[1];
        data.weight = out;
    }
    cebus_status status = copy_inputs(j);
    if (status == CEBUS_OK && j->is_point)
        return cebus_cuda_conv_point_run(j->launch, j->op, &j->key, &j->point, &data);
    if (status == CEBUS_OK && j->key.way == CEBUS_CUDA_CONV_IMAGE && !is_whole(j))
        status = clear_result(j);
    if (status != CEBUS_OK)
        return status;
    return cebus_cuda_conv_run(cebus_cuda_of(j->launch), j->op, &j->key, &data);
}

static cebus_status multiply(job *j)
{
    cebus_cuda_scratch scratch = {.base = j->launch->workspace};
    cebus_status status = plan(j, &scratch);
    if (status == CEBUS_OK)
        status = cebus_cuda_scratch_check(&scratch, j->launch, j->op);
    if (status != CEBUS_OK)
        return status;
    return convolve(j);
}

/* Channels are innermost in what a bias is added to. */
static cebus_status add_bias(const job *j)
{
    const cebus_array *out = &j->launch->out[0];
    return cebus_cuda_add_bias(j->launch, j->op, out->data,
                               cebus_view_numel(out->view) / out->view->shape[1], j->bias);
}

static cebus_status run(const cebus_launch *launch, cebus_cuda_conv_way way)
{
    job j = job_of(launch, way);
    if (launch->out[0].data == NULL || cebus_view_numel(launch->out[0].view) == 0)
        return CEBUS_OK;
    if (is_empty(&j))
        return clear_result(&j);
    cebus_status status = is_blind(&j) ? clear_result(&j) : multiply(&j);
    return status == CEBUS_OK && j.bias ? add_bias(&j) : status;
}

#define DEFINE_WAY(name, way)                                                                      \
    static cebus_status name(const cebus_launch *launch)                                           \
    {                                                                                              \
        return run(launch, way);                                                                   \
    }                                                                                              \
    static uint64_t name##_workspace(const cebus_launch *launch)                                   \
    {                                                                                              \
        return workspace(launch, way);                                                             \
    }
DEFINE_WAY(conv2d, CEBUS_CUDA_CONV_OUTPUT)
DEFINE_WAY(conv_transpose2d, CEBUS_CUDA_CONV_IMAGE)
DEFINE_WAY(conv2d_weight, CEBUS_CUDA_CONV_WEIGHT)

const cebus_kernel cebus_cuda_conv_kernels[] = {
    {"conv2d", conv2d, conv2d_workspace, NULL},
    {"conv_transpose2d", conv_transpose2d, conv_transpose2d_workspace, NULL},
    {"conv2d_weight", conv2d_weight, conv2d_weight_workspace, NULL},
    {NULL, NULL, NULL, NULL},
};
