/**
 * cuda.h: what every file of the CUDA plug-in shares: the state of one device, which kernels reach
 * as launch->device, and how a failure of an NVIDIA call becomes an error of cebus.
 *
 * Rules for kernels (`run` of a cebus_kernel):
 *  - All work goes to `stream`, and nothing waits: no synchronization, no host copies, no events.
 *  - Nothing allocates on the device: scratch is launch->workspace, asked for by `workspace`, which
 *    must be a pure function of views and attributes (ALGORITHMS: never of free memory or time).
 *  - The same launch gives the same bits: no floating-point atomics, no algorithm that is not
 *    deterministic. Choices are made once and kept in a table of this device (plans.h).
 *  - Arguments (shapes, element types) were checked by inference. What only the data shows is
 *    reported by the kernel through `fault`, which writes nothing in that case.
 *  - What the family does not implement (an element type, strides) is CEBUS_UNSUPPORTED by
 *    cebus_fail, naming the op and what to do.
 *
 * Host code may be C or .cu (C++20, --fmad=false: formulas give the CPU's bits where they use the
 * same steps). A .cu wraps internal headers that declare functions, but for this one, in
 * CEBUS_BEGIN_DECLS, and includes this header first: it gives the shared inline functions
 * (scalar.h, half.h, elementwise.h, rng.h) their qualifier.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_CUDA_H
#define CEBUS_EAGER_DEVICE_CUDA_CUDA_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef CEBUS_CUDA_HOST /* the kernels as plain C++, for tests (grid.h) */
typedef void *cudaStream_t;
typedef int cudaError_t;
#else
#include <cuda_runtime_api.h>
#endif

#ifdef __CUDACC__
#define CEBUS_INLINE static __host__ __device__ inline
#endif

#include <cebus/base.h>

CEBUS_BEGIN_DECLS

#include "eager/op.h"
#include "eager/view.h"

/** Blocks of the slab, and so all data of offset 0, are aligned to this. */
#define CEBUS_CUDA_ALIGNMENT 512

/** Where a kernel says that the data is wrong: page-locked host memory that the device writes.
 * The device layer looks at it whenever the host waits anyway, and reports CEBUS_INVALID_ARGUMENT
 * once. Any one of several reports of a launch may win. */
typedef struct cebus_cuda_fault {
    uint64_t op;      /**< address of the op's name on the host (a constant string), 0: no fault */
    int64_t index;    /**< what was found */
    int64_t position; /**< of it among the indices, in row-major order */
    int64_t length;   /**< it must be in [0, length) */
} cebus_cuda_fault;

/** Records a fault as CEBUS_INVALID_ARGUMENT, which it answers. */
cebus_status cebus_cuda_fault_fail(const cebus_cuda_fault *fault);

/** Whose plans (plans.h) a device keeps. */
typedef enum cebus_cuda_plans_kind {
    CEBUS_CUDA_PLANS_MATMUL,
    CEBUS_CUDA_PLANS_CONV,
    CEBUS_CUDA_PLANS_COUNT,
} cebus_cuda_plans_kind;

/** One device instance (one per runtime), under the runtime's lock. It is current
 * (cudaSetDevice) whenever `run` is called; `workspace` must not depend on it. */
typedef struct cebus_cuda {
    cudaStream_t stream;          /**< the compute stream */
    struct cublasLtContext *blas; /**< cublasLtHandle_t */
    struct cudnnContext *dnn;     /**< cudnnHandle_t, on `stream` */
    cebus_cuda_fault *fault;      /**< valid on host and device */
    cebus_host_allocator host;    /**< for the books of plans */
    /** By kind; made when the first is asked for. */
    struct cebus_cuda_plans *plans[CEBUS_CUDA_PLANS_COUNT];
    int ordinal;           /**< N of cuda:N */
    int capability;        /**< 10 * major + minor, as in 90 */
    int processors;        /**< multiprocessors */
    uint64_t shared_bytes; /**< shared memory a block may opt in to */
    bool tf32; /**< f32 products may run on tensor cores in tf32; off unless asked for */
} cebus_cuda;

static inline cebus_cuda *cebus_cuda_of(const cebus_launch *launch)
{
    return (cebus_cuda *)launch->device;
}

/** CEBUS_OK; or CEBUS_DEVICE_ERROR (CEBUS_OUT_OF_HOST_MEMORY where it is that) naming `what`, a
 * call such as "cudaMemcpyAsync", and the runtime's own text. */
cebus_status cebus_cuda_check(cudaError_t error, const char *op, const char *what);
/** After <<<>>>: whether the launch was accepted. Waits for nothing. */
cebus_status cebus_cuda_launched(const char *op);
/** The same for cublasStatus_t and cudnnStatus_t, passed as int. */
cebus_status cebus_cuda_check_blas(int status, const char *op, const char *what);
cebus_status cebus_cuda_check_dnn(int status, const char *op, const char *what);

CEBUS_END_DECLS

#ifdef __CUDACC__
/** For kernels: reports an index that is out of [0, length). `found.op` is the address of a
 * constant string on the host, passed through as a number. */
static __device__ inline void cebus_cuda_report(cebus_cuda_fault *fault, cebus_cuda_fault found)
{
    volatile cebus_cuda_fault *out = fault;
    out->index = found.index;
    out->position = found.position;
    out->length = found.length;
    __threadfence_system();
    out->op = found.op;
}
#endif

#endif
