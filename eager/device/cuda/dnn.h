/**
 * dnn.h: cuDNN's graph API (cudnn_graph.h) as far as we use it: a graph of one operation, the
 * engine that runs it chosen by cuDNN's heuristics, and the run.
 *
 * Which engine: the first in the order of heuristic mode A, then of the fall-back list, that
 * finalizes on this device, has no note NONDETERMINISTIC, computes in the precision asked for (no
 * note of tensor cores, converted inputs, reduced sums, Winograd or FFT where true f32 or f64 is
 * asked), and takes at most `bound` of workspace; else the one that takes least. A pure function of
 * the graph, the device and the library version.
 *
 * Everything but the run works on a described device too (cudnnBackendDescriptor_t of
 * CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), with no driver and no GPU: that is how plans are tested.
 *
 * Functions answer cudnnStatus_t; outputs are NULL or unchanged on failure.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_DNN_H
#define CEBUS_EAGER_DEVICE_CUDA_DNN_H

#include <cebus/tensor.h>
#include <cudnn.h>

#define CEBUS_CUDA_DNN_ALIGNMENT 16

/** What plans are made for: a device through its handle, or a described one. */
typedef struct cebus_cuda_dnn_target {
    cudnnHandle_t handle;                 /**< NULL: not at hand */
    cudnnBackendDescriptor_t description; /**< NULL with a handle */
} cebus_cuda_dnn_target;

typedef struct cebus_cuda_dnn_rules {
    bool reduced; /**< products may round their inputs and use tensor cores */
    uint64_t bound;
} cebus_cuda_dnn_rules;

typedef struct cebus_cuda_dnn_plan {
    cudnnBackendDescriptor_t execution;
    uint64_t workspace;
    int64_t engine; /**< cuDNN's number of it */
} cebus_cuda_dnn_plan;

/** @name Descriptors */
/** @{ */
/** One attribute; `count` values of `type` at `values`. */
typedef struct cebus_cuda_dnn_attribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    const void *values;
} cebus_cuda_dnn_attribute;

/** Creates, sets and finalizes. */
cudnnStatus_t cebus_cuda_dnn_create(cudnnBackendDescriptorType_t type, int n,
                                    const cebus_cuda_dnn_attribute *attributes,
                                    cudnnBackendDescriptor_t *out);
/** NULL is allowed. */
void cebus_cuda_dnn_destroy(cudnnBackendDescriptor_t descriptor);

/** False: cuDNN has no such type. */
bool cebus_cuda_dnn_type(cebus_dtype dtype, cudnnDataType_t *out);

/** A 4-D tensor, [0] outermost, aligned to CEBUS_CUDA_DNN_ALIGNMENT. */
typedef struct cebus_cuda_dnn_tensor {
    int64_t uid; /**< names it in a run */
    cudnnDataType_t type;
    int64_t shape[4], strides[4];
} cebus_cuda_dnn_tensor;
cudnnStatus_t cebus_cuda_dnn_tensor_create(const cebus_cuda_dnn_tensor *tensor,
                                           cudnnBackendDescriptor_t *out);
/** @} */

/** Plans a graph of the operation. CUDNN_STATUS_NOT_SUPPORTED when no engine will do. */
cudnnStatus_t cebus_cuda_dnn_plan_create(const cebus_cuda_dnn_target *target,
                                         cudnnBackendDescriptor_t operation,
                                         const cebus_cuda_dnn_rules *rules,
                                         cebus_cuda_dnn_plan *out);
void cebus_cuda_dnn_plan_clear(cebus_cuda_dnn_plan *plan);

/** Enqueues it on the handle's stream; data[i] is the tensor named uids[i]. */
cudnnStatus_t cebus_cuda_dnn_plan_run(cudnnHandle_t handle, const cebus_cuda_dnn_plan *plan, int n,
                                      const int64_t *uids, void *const *data, void *workspace);

#endif
