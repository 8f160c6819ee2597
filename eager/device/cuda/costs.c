#include "eager/device/cuda/costs.h"

#include "eager/trace/signature.h"

cebus_status cebus_costs_init(cebus_cuda_costs *costs)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < CEBUS_COST_PAIRS && error == cudaSuccess; i++) {
        error = cudaEventCreateWithFlags(&costs->pairs[i].start, cudaEventDefault);
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(&costs->pairs[i].stop, cudaEventDefault);
    }
    return cebus_cuda_check(error, "device cuda", "making events");
}

void cebus_costs_deinit(cebus_cuda_costs *costs)
{
    for (int i = 0; i < CEBUS_COST_PAIRS; i++) {
        if (costs->pairs[i].start != NULL)
            (void)cudaEventDestroy(costs->pairs[i].start);
        if (costs->pairs[i].stop != NULL)
            (void)cudaEventDestroy(costs->pairs[i].stop);
    }
}

/** The kind's place in its set: where it is, else where the longest unused one was. */
static cebus_cuda_kind *find_kind(cebus_cuda_costs *costs, uint64_t hash)
{
    size_t set = hash % CEBUS_COST_SETS;
    cebus_cuda_kind *ways = costs->kinds[set], *oldest = &ways[0];
    uint32_t now = ++costs->clock[set];
    for (int i = 0; i < CEBUS_COST_WAYS; i++) {
        if (ways[i].hash == hash) {
            ways[i].used = now;
            return &ways[i];
        }
        if (now - ways[i].used > now - oldest->used)
            oldest = &ways[i];
    }
    *oldest = (cebus_cuda_kind){.hash = hash, .used = now};
    return oldest;
}

/** Bytes moved, and what any launch takes. */
static uint64_t estimate(const cebus_cuda_costs *costs, const cebus_launch *launch)
{
    uint64_t bytes = launch->workspace_bytes;
    for (uint32_t i = 0; i < launch->n_in; i++)
        bytes += (uint64_t)cebus_view_numel(launch->in[i].view) *
                 cebus_dtype_size(launch->in[i].view->dtype);
    for (uint32_t j = 0; j < launch->n_out; j++)
        bytes += (uint64_t)cebus_view_numel(launch->out[j].view) *
                 cebus_dtype_size(launch->out[j].view->dtype);
    return 2000 + bytes / costs->bytes_per_us * 1000;
}

cebus_cuda_timing *cebus_costs_begin(cebus_cuda_costs *costs, cudaStream_t stream,
                                     const cebus_kernel *kernel, const cebus_launch *launch,
                                     uint64_t *out_ns)
{
    uint64_t hash = cebus_launch_signature(launch) ^ (uint64_t)(uintptr_t)kernel;
    hash += hash == 0;
    const cebus_cuda_kind *kind = find_kind(costs, hash);
    *out_ns = kind->samples > 0 ? kind->ns : estimate(costs, launch);
    if (kind->samples >= CEBUS_COST_SAMPLES || costs->given - costs->taken == CEBUS_COST_PAIRS)
        return NULL;
    cebus_cuda_timing *timing = &costs->pairs[costs->given % CEBUS_COST_PAIRS];
    timing->hash = hash;
    return cudaEventRecord(timing->start, stream) == cudaSuccess ? timing : NULL;
}

void cebus_costs_end(cebus_cuda_costs *costs, cudaStream_t stream, cebus_cuda_timing *timing,
                     uint64_t mark, bool failed)
{
    if (timing == NULL || failed || cudaEventRecord(timing->stop, stream) != cudaSuccess)
        return;
    timing->mark = mark;
    costs->given++;
}

size_t cebus_costs_collect(cebus_cuda_costs *costs, size_t n, cebus_late_cost *out)
{
    size_t count = 0;
    while (count < n && costs->taken < costs->given) {
        float ms = 0;
        const cebus_cuda_timing *timing = &costs->pairs[costs->taken % CEBUS_COST_PAIRS];
        cudaError_t error = cudaEventQuery(timing->stop);
        if (error != cudaSuccess)
            (void)cudaGetLastError(); /* not ready is an error that would stay */
        if (error == cudaErrorNotReady)
            break;
        costs->taken++;
        if (error != cudaSuccess ||
            cudaEventElapsedTime(&ms, timing->start, timing->stop) != cudaSuccess)
            continue;
        uint64_t ns = (uint64_t)((double)ms * 1e6);
        cebus_cuda_kind *kind = find_kind(costs, timing->hash);
        kind->ns = kind->samples++ == 0 || ns < kind->ns ? ns : kind->ns;
        out[count++] = (cebus_late_cost){.mark = timing->mark, .ns = ns};
    }
    return count;
}
