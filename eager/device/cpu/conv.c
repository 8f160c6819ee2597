#include "eager/device/cpu/conv.h"

#include <string.h>

#include "eager/device/cpu/copy.h"
#include "eager/device/cpu/families.h"
#include "eager/device/cpu/pack.h"
#include "eager/device/cpu/parallel.h"
#include "eager/device/cpu/widen.h"
#include "eager/view.h"

/** A job and how it will be done. */
typedef struct plan {
    cebus_conv_job job;
    const cebus_dnnl_plan *dnnl; /**< NULL: by matrix products */
    cebus_pack pack;             /**< of the inputs */
} plan;

static void job_init(cebus_conv_job *job, const cebus_launch *launch, cebus_conv_way way)
{
    *job = (cebus_conv_job){.launch = launch, .way = way};
    cebus_array *place[3][3] = {
        [CEBUS_CONV_OUTPUT] = {&job->image, &job->weight, &job->output},
        [CEBUS_CONV_IMAGE] = {&job->output, &job->weight, &job->image},
        [CEBUS_CONV_WEIGHT] = {&job->image, &job->output, &job->weight},
    };
    *place[way][0] = launch->in[0];
    *place[way][1] = launch->in[1];
    *place[way][2] = launch->out[0];
    if (launch->n_in > 2 && launch->in[2].view->ndim == 1) /* an absent input has no dimensions */
        job->bias = launch->in[2];
    job->shape =
        cebus_conv_shape_of(launch->attrs, job->image.view, job->weight.view, job->output.view);
}

static cebus_status plan_init(plan *p, const cebus_launch *launch, cebus_conv_way way)
{
    *p = (plan){.dnnl = NULL};
    job_init(&p->job, launch, way);
    const cebus_pack_order second =
        way == CEBUS_CONV_WEIGHT ? CEBUS_PACK_CHANNELS_LAST : CEBUS_PACK_ROWS;
    const cebus_pack_order order[] = {CEBUS_PACK_CHANNELS_LAST, second, CEBUS_PACK_ROWS};
    cebus_pack_init(&p->pack, launch, (int)launch->n_in, order);
    if (launch->out[0].view->dtype != CEBUS_F32 || cebus_conv_product_is_best(&p->job))
        return CEBUS_OK;
    return cebus_conv_dnnl_find(&p->job, &p->dnnl);
}

static uint64_t plan_workspace(const plan *p)
{
    return p->pack.bytes +
           (p->dnnl ? cebus_dnnl_plan_workspace(p->dnnl) : cebus_conv_product_scratch(&p->job));
}

/** Nothing to multiply: the result is empty, or a sum of nothing. */
static bool is_trivial(const cebus_launch *launch)
{
    return cebus_view_numel(launch->out[0].view) == 0 || cebus_view_numel(launch->in[0].view) == 0;
}

static uint64_t workspace(const cebus_launch *launch, cebus_conv_way way)
{
    plan p;
    if (is_trivial(launch) || plan_init(&p, launch, way) != CEBUS_OK)
        return 0;
    return plan_workspace(&p);
}

static void inputs_pack(plan *p)
{
    cebus_conv_job *job = &p->job;
    void *data[CEBUS_PACK_MAX] = {NULL};
    cebus_pack_run(&p->pack, job->launch, data);
    if (job->way == CEBUS_CONV_IMAGE)
        job->output.data = data[0];
    else
        job->image.data = data[0];
    if (job->way == CEBUS_CONV_WEIGHT)
        job->output.data = data[1];
    else
        job->weight.data = data[1];
    job->bias.data = data[2];
}

static cebus_status run(const cebus_launch *launch, cebus_conv_way way)
{
    static const double zero = 0;
    if (is_trivial(launch)) {
        cebus_copy_value(launch->threads, &launch->out[0], &zero);
        return CEBUS_OK;
    }
    plan p;
    cebus_status status = plan_init(&p, launch, way);
    if (status != CEBUS_OK)
        return status;
    if (plan_workspace(&p) > launch->workspace_bytes)
        return cebus_fail(CEBUS_DEVICE_ERROR, "conv",
                          "host memory ran out while its workspace was measured: try again");
    inputs_pack(&p);
    p.job.scratch = (char *)launch->workspace + p.pack.bytes;
    if (p.dnnl)
        return cebus_conv_dnnl_run(&p.job, p.dnnl);
    cebus_conv_product_run(&p.job);
    return CEBUS_OK;
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
DEFINE_WAY(conv2d, CEBUS_CONV_OUTPUT)
DEFINE_WAY(conv_transpose2d, CEBUS_CONV_IMAGE)
DEFINE_WAY(conv2d_weight, CEBUS_CONV_WEIGHT)

#define KERNELS(X)                                                                                 \
    X(conv2d, conv2d, conv2d_workspace)                                                            \
    X(conv_transpose2d, conv_transpose2d, conv_transpose2d_workspace)                              \
    X(conv2d_weight, conv2d_weight, conv2d_weight_workspace)
KERNELS(CEBUS_WIDEN)

const cebus_kernel cebus_cpu_conv[] = {
    KERNELS(CEBUS_WIDENED){NULL, NULL, NULL},
};
