/**
 * costs.h: what launches cost, measured by events on the stream and collected later.
 *
 * A launch is known by its kernel and signature. The first CEBUS_COST_SAMPLES of a kind are put
 * between two timed events, if a pair is free; what they took is remembered, the least of them
 * counts, and later launches of that kind are answered from memory without any event. Until then
 * the answer is an estimate from the bytes that are moved. The memory is of fixed size: sets of
 * four, in which the least recently used kind is forgotten.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_COSTS_H
#define CEBUS_EAGER_DEVICE_CUDA_COSTS_H

#include "eager/device/cuda/cuda.h"
#include "eager/device/device.h"

#define CEBUS_COST_SAMPLES 3
#define CEBUS_COST_PAIRS 64
#define CEBUS_COST_SETS 1024
#define CEBUS_COST_WAYS 4

/** What is remembered of a kind of launch. */
typedef struct cebus_cuda_kind {
    uint64_t hash; /**< 0: free */
    uint64_t ns;
    uint32_t samples; /**< measured so far */
    uint32_t used;    /**< when, by the set's count */
} cebus_cuda_kind;

/** A launch between two events. */
typedef struct cebus_cuda_timing {
    cudaEvent_t start, stop;
    uint64_t hash, mark;
} cebus_cuda_timing;

typedef struct cebus_cuda_costs {
    cebus_cuda_timing pairs[CEBUS_COST_PAIRS]; /**< a ring */
    uint64_t given, taken;
    uint64_t bytes_per_us; /**< of the device's memory, for estimates; never 0 */
    cebus_cuda_kind kinds[CEBUS_COST_SETS][CEBUS_COST_WAYS];
    uint32_t clock[CEBUS_COST_SETS];
} cebus_cuda_costs;

cebus_status cebus_costs_init(cebus_cuda_costs *costs);
void cebus_costs_deinit(cebus_cuda_costs *costs);

/** Before the launch: *out_ns is what it will cost as far as is known. Returns the timing whose
 * start was recorded, to be handed to end(), or NULL when this launch is not measured. */
cebus_cuda_timing *cebus_costs_begin(cebus_cuda_costs *costs, cudaStream_t stream,
                                     const cebus_kernel *kernel, const cebus_launch *launch,
                                     uint64_t *out_ns);
/** After it; `mark` is the compute stream's. A launch that failed is not measured. */
void cebus_costs_end(cebus_cuda_costs *costs, cudaStream_t stream, cebus_cuda_timing *timing,
                     uint64_t mark, bool failed);
/** device.h: collect. */
size_t cebus_costs_collect(cebus_cuda_costs *costs, size_t n, cebus_late_cost *out);

#endif
