/*
 * conv_engine.c: convolutions by cuDNN, planned once for each key and kept (plans.h).
 */
#include "eager/device/cuda/conv_plan.h"
#include "eager/device/cuda/plans.h"

/* The device and the op that asks, for messages. */
typedef struct asker {
    cebus_cuda *cuda;
    const char *op;
} asker;

static cebus_status no_engine(const asker *who, const cebus_cuda_conv_key *key,
                              cudnnStatus_t status)
{
    const cebus_conv_shape *s = &key->shape;
    return cebus_fail(CEBUS_UNSUPPORTED, who->op,
                      "cuDNN has no deterministic engine for image [%lld, %lld, %lld, %lld], "
                      "kernel %lld x %lld, %lld groups of %s (%s): change the sizes, or cast it",
                      (long long)s->batch, (long long)s->image_channels, (long long)s->image[0],
                      (long long)s->image[1], (long long)s->kernel[0], (long long)s->kernel[1],
                      (long long)s->groups, cebus_dtype_name((cebus_dtype)key->dtype),
                      cudnnGetErrorString(status));
}

static cebus_status plan_make(void *context, const void *key, void *plan)
{
    const asker *who = context;
    const cebus_cuda_dnn_target target = {.handle = who->cuda->dnn};
    cudnnStatus_t status = cebus_cuda_conv_plan_create(&target, key, plan);
    if (status == CUDNN_STATUS_SUCCESS)
        return CEBUS_OK;
    if (CUDNN_STATUS_CATEGORY(status) == CUDNN_STATUS_NOT_SUPPORTED)
        return no_engine(who, key, status);
    return cebus_cuda_check_dnn((int)status, who->op, "planning a convolution by cuDNN");
}

static void plan_clear(void *plan)
{
    cebus_cuda_dnn_plan_clear(plan);
}

static cebus_status find(cebus_cuda *cuda, const char *op, const cebus_cuda_conv_key *key,
                         const cebus_cuda_dnn_plan **out)
{
    const cebus_cuda_plans_options options = {.host = &cuda->host,
                                              .key_bytes = sizeof *key,
                                              .plan_bytes = sizeof(cebus_cuda_dnn_plan),
                                              .capacity = CEBUS_CUDA_PLANS_CAPACITY,
                                              .make = plan_make,
                                              .clear = plan_clear};
    asker who = {cuda, op};
    const void *plan = NULL;
    cebus_status status = cebus_cuda_plans_find_in(&cuda->plans[CEBUS_CUDA_PLANS_CONV], &options,
                                                   op, &who, key, &plan);
    *out = plan;
    return status;
}

cebus_status cebus_cuda_conv_query(cebus_cuda *cuda, const char *op, const cebus_cuda_conv_key *key,
                                   uint64_t *out_workspace)
{
    const cebus_cuda_dnn_plan *plan = NULL;
    *out_workspace = 0;
    cebus_status status = find(cuda, op, key, &plan);
    if (status == CEBUS_OK)
        *out_workspace = plan->workspace;
    return status;
}

cebus_status cebus_cuda_conv_run(cebus_cuda *cuda, const char *op, const cebus_cuda_conv_key *key,
                                 const cebus_cuda_conv_data *data)
{
    const cebus_cuda_dnn_plan *plan = NULL;
    cebus_status status = find(cuda, op, key, &plan);
    if (status != CEBUS_OK)
        return status;
    return cebus_cuda_check_dnn((int)cebus_cuda_conv_plan_run(cuda->dnn, plan, data), op,
                                "cudnnBackendExecute");
}
