#include "eager/device/cuda/dnn.h"

#include <string.h>

#include "eager/device/cuda/choice.h"

/* Engine configurations looked at, of each heuristic mode. */
#define PROPOSALS 64

/* ---- descriptors ------------------------------------------------------------------------- */

void cebus_cuda_dnn_destroy(cudnnBackendDescriptor_t descriptor)
{
    if (descriptor)
        cudnnBackendDestroyDescriptor(descriptor);
}

cudnnStatus_t cebus_cuda_dnn_create(cudnnBackendDescriptorType_t type, int n,
                                    const cebus_cuda_dnn_attribute *attributes,
                                    cudnnBackendDescriptor_t *out)
{
    cudnnBackendDescriptor_t made = NULL;
    *out = NULL;
    cudnnStatus_t status = cudnnBackendCreateDescriptor(type, &made);
    for (int i = 0; i < n && status == CUDNN_STATUS_SUCCESS; i++)
        status = cudnnBackendSetAttribute(made, attributes[i].name, attributes[i].type,
                                          attributes[i].count, attributes[i].values);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendFinalize(made);
    if (status == CUDNN_STATUS_SUCCESS)
        *out = made;
    else
        cebus_cuda_dnn_destroy(made);
    return status;
}

bool cebus_cuda_dnn_type(cebus_dtype dtype, cudnnDataType_t *out)
{
    switch (dtype) {
    case CEBUS_F32:
        *out = CUDNN_DATA_FLOAT;
        return true;
    case CEBUS_F64:
        *out = CUDNN_DATA_DOUBLE;
        return true;
    case CEBUS_F16:
        *out = CUDNN_DATA_HALF;
        return true;
    case CEBUS_BF16:
        *out = CUDNN_DATA_BFLOAT16;
        return true;
    default:
        return false;
    }
}

cudnnStatus_t cebus_cuda_dnn_tensor_create(const cebus_cuda_dnn_tensor *tensor,
                                           cudnnBackendDescriptor_t *out)
{
    const int64_t alignment = CEBUS_CUDA_DNN_ALIGNMENT;
    const cebus_cuda_dnn_attribute attributes[] = {
        {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &tensor->type},
        {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, tensor->shape},
        {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, tensor->strides},
        {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &tensor->uid},
        {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment},
    };
    return cebus_cuda_dnn_create(CUDNN_BACKEND_TENSOR_DESCRIPTOR,
                                 sizeof attributes / sizeof *attributes, attributes, out);
}

/* ---- proposals --------------------------------------------------------------------------- */

/* What heuristics propose, in their order. */
typedef struct candidates {
    int n;
    cudnnBackendDescriptor_t config[2 * PROPOSALS];
    cebus_cuda_dnn_plan plan[2 * PROPOSALS]; /* of those that run */
    cebus_cuda_proposal proposal[2 * PROPOSALS];
} candidates;

static void candidates_clear(candidates *all)
{
    for (int i = 0; i < all->n; i++) {
        cebus_cuda_dnn_destroy(all->config[i]);
        cebus_cuda_dnn_plan_clear(&all->plan[i]);
    }
    all->n = 0;
}

static cudnnStatus_t graph_create(const cebus_cuda_dnn_target *target,
                                  cudnnBackendDescriptor_t operation, cudnnBackendDescriptor_t *out)
{
    const cebus_cuda_dnn_attribute attributes[] = {
        {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation},
        {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target->handle},
    };
    return cebus_cuda_dnn_create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, target->handle ? 2 : 1,
                                 attributes, out);
}

static cudnnStatus_t heuristics_create(const cebus_cuda_dnn_target *target,
                                       cudnnBackendDescriptor_t graph, cudnnBackendHeurMode_t mode,
                                       cudnnBackendDescriptor_t *out)
{
    const cebus_cuda_dnn_attribute attributes[] = {
        {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
        {CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode},
        {CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &target->description},
    };
    return cebus_cuda_dnn_create(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, target->description ? 3 : 2,
                                 attributes, out);
}

/* Adds what `mode` proposes, as unfinalized descriptors that cuDNN fills. */
static cudnnStatus_t propose(const cebus_cuda_dnn_target *target, cudnnBackendDescriptor_t graph,
                             cudnnBackendHeurMode_t mode, candidates *all)
{
    cudnnBackendDescriptor_t heuristics;
    int64_t wanted = 0, got = 0;
    const int first = all->n;
    cudnnStatus_t status = heuristics_create(target, graph, mode, &heuristics);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                      CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &wanted, NULL);
    wanted = wanted < PROPOSALS ? wanted : PROPOSALS;
    while (status == CUDNN_STATUS_SUCCESS && all->n - first < wanted) {
        status =
            cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &all->config[all->n]);
        all->n += status == CUDNN_STATUS_SUCCESS;
    }
    if (status == CUDNN_STATUS_SUCCESS && wanted > 0)
        status = cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                          CUDNN_TYPE_BACKEND_DESCRIPTOR, wanted, &got,
                                          &all->config[first]);
    if (status == CUDNN_STATUS_SUCCESS) {
        while (all->n - first > got)
            cebus_cuda_dnn_destroy(all->config[--all->n]);
    }
    cebus_cuda_dnn_destroy(heuristics);
    return status;
}

/* ---- judgement --------------------------------------------------------------------------- */

/* Reads its engine's notes; `engine` is a created descriptor that cuDNN fills. */
static cudnnStatus_t read_notes(cudnnBackendDescriptor_t config, cudnnBackendDescriptor_t *engine,
                                int64_t *out_number, uint64_t *out_notes)
{
    cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
    int64_t n = 0;
    cudnnStatus_t status = cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
                                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendGetAttribute(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64,
                                          1, &n, out_number);
    n = 0;
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendGetAttribute(*engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                          CUDNN_TYPE_NUMERICAL_NOTE,
                                          CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &n, notes);
    *out_notes = 0;
    for (int64_t i = 0; status == CUDNN_STATUS_SUCCESS && i < n; i++)
        *out_notes |= UINT64_C(1) << notes[i];
    return status;
}

#define NOTE(name) (UINT64_C(1) << CUDNN_NUMERICAL_NOTE_##name)

/* False where nothing can be known of it: then it is not taken. */
static bool judge(cudnnBackendDescriptor_t config, const cebus_cuda_dnn_rules *rules,
                  int64_t *out_engine)
{
    const uint64_t never = NOTE(NONDETERMINISTIC) | NOTE(REDUCED_PRECISION_REDUCTION);
    const uint64_t inexact = NOTE(TENSOR_CORE) | NOTE(DOWN_CONVERT_INPUTS) | NOTE(FFT) |
                             NOTE(WINOGRAD) | NOTE(WINOGRAD_TILE_4x4) | NOTE(WINOGRAD_TILE_6x6) |
                             NOTE(WINOGRAD_TILE_13x13);
    cudnnBackendDescriptor_t engine = NULL;
    uint64_t notes = 0;
    cudnnStatus_t status = cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
    if (status == CUDNN_STATUS_SUCCESS)
        status = read_notes(config, &engine, out_engine, &notes);
    cebus_cuda_dnn_destroy(engine);
    return status == CUDNN_STATUS_SUCCESS && !(notes & (rules->reduced ? never : never | inexact));
}

static cudnnStatus_t finalize(const cebus_cuda_dnn_target *target, cudnnBackendDescriptor_t config,
                              cebus_cuda_dnn_plan *out)
{
    const cebus_cuda_dnn_attribute attributes[] = {
        {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config},
        target->handle
            ? (cebus_cuda_dnn_attribute){CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
                                         &target->handle}
            : (cebus_cuda_dnn_attribute){CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                                         CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &target->description},
    };
    int64_t n = 0, bytes = 0;
    cudnnStatus_t status = cebus_cuda_dnn_create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 2,
                                                 attributes, &out->execution);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendGetAttribute(out->execution, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                          CUDNN_TYPE_INT64, 1, &n, &bytes);
    out->workspace = (uint64_t)bytes;
    if (status != CUDNN_STATUS_SUCCESS)
        cebus_cuda_dnn_plan_clear(out);
    return status;
}

/* Looks at candidates from `first` on, until one will do; those after it stay unlooked at. */
static bool judge_from(const cebus_cuda_dnn_target *target, const cebus_cuda_dnn_rules *rules,
                       candidates *all, int first)
{
    for (int i = first; i < all->n; i++) {
        cebus_cuda_proposal *p = &all->proposal[i];
        if (!judge(all->config[i], rules, &all->plan[i].engine) ||
            finalize(target, all->config[i], &all->plan[i]) != CUDNN_STATUS_SUCCESS)
            continue;
        p->runs = p->deterministic = p->precise = true;
        p->workspace = all->plan[i].workspace;
        if (p->workspace <= rules->bound)
            return true;
    }
    return false;
}

static cudnnStatus_t look(const cebus_cuda_dnn_target *target, cudnnBackendDescriptor_t graph,
                          const cebus_cuda_dnn_rules *rules, candidates *all)
{
    static const cudnnBackendHeurMode_t modes[] = {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK};
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS, last = CUDNN_STATUS_SUCCESS;
    for (int i = 0; i < 2; i++) {
        const int first = all->n;
        last = propose(target, graph, modes[i], all);
        if (last != CUDNN_STATUS_SUCCESS)
            status = last;
        else if (judge_from(target, rules, all, first))
            return CUDNN_STATUS_SUCCESS;
    }
    return status;
}

/* ---- plans ------------------------------------------------------------------------------- */

cudnnStatus_t cebus_cuda_dnn_plan_create(const cebus_cuda_dnn_target *target,
                                         cudnnBackendDescriptor_t operation,
                                         const cebus_cuda_dnn_rules *rules,
                                         cebus_cuda_dnn_plan *out)
{
    cudnnBackendDescriptor_t graph = NULL;
    candidates all;
    memset(&all, 0, sizeof all);
    cudnnStatus_t status = graph_create(target, operation, &graph);
    if (status != CUDNN_STATUS_SUCCESS)
        return status;
    status = look(target, graph, rules, &all);
    const int chosen = cebus_cuda_choose(all.proposal, all.n, rules->bound);
    if (chosen >= 0) {
        *out = all.plan[chosen];
        all.plan[chosen].execution = NULL;
        status = CUDNN_STATUS_SUCCESS;
    } else if (status == CUDNN_STATUS_SUCCESS) {
        status = CUDNN_STATUS_NOT_SUPPORTED;
    }
    candidates_clear(&all);
    cebus_cuda_dnn_destroy(graph);
    return status;
}

void cebus_cuda_dnn_plan_clear(cebus_cuda_dnn_plan *plan)
{
    cebus_cuda_dnn_destroy(plan->execution);
    plan->execution = NULL;
    plan->workspace = 0;
}

cudnnStatus_t cebus_cuda_dnn_plan_run(cudnnHandle_t handle, const cebus_cuda_dnn_plan *plan, int n,
                                      const int64_t *uids, void *const *data, void *workspace)
{
    const cebus_cuda_dnn_attribute attributes[] = {
        {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, uids},
        {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, data},
        {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace},
    };
    cudnnBackendDescriptor_t pack = NULL;
    cudnnStatus_t status =
        cebus_cuda_dnn_create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 3, attributes, &pack);
    if (status == CUDNN_STATUS_SUCCESS)
        status = cudnnBackendExecute(handle, plan->execution, pack);
    cebus_cuda_dnn_destroy(pack);
    return status;
}
