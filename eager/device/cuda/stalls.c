#include "eager/device/cuda/stalls.h"

cudaError_t cebus_stalls_init(cebus_cuda_stalls *stalls)
{
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < CEBUS_STALL_PAIRS && error == cudaSuccess; i++) {
        error = cudaEventCreateWithFlags(&stalls->pairs[i].before, cudaEventDefault);
        if (error == cudaSuccess)
            error = cudaEventCreateWithFlags(&stalls->pairs[i].behind, cudaEventDefault);
    }
    return error;
}

void cebus_stalls_deinit(cebus_cuda_stalls *stalls)
{
    for (int i = 0; i < CEBUS_STALL_PAIRS; i++) {
        if (stalls->pairs[i].before != NULL)
            (void)cudaEventDestroy(stalls->pairs[i].before);
        if (stalls->pairs[i].behind != NULL)
            (void)cudaEventDestroy(stalls->pairs[i].behind);
    }
}

cebus_cuda_stall *cebus_stalls_begin(cebus_cuda_stalls *stalls, cudaStream_t stream)
{
    if (stalls->given - stalls->taken == CEBUS_STALL_PAIRS)
        (void)cebus_stalls_collect(stalls);
    if (stalls->given - stalls->taken == CEBUS_STALL_PAIRS)
        return NULL;
    cebus_cuda_stall *stall = &stalls->pairs[stalls->given % CEBUS_STALL_PAIRS];
    return cudaEventRecord(stall->before, stream) == cudaSuccess ? stall : NULL;
}

void cebus_stalls_end(cebus_cuda_stalls *stalls, cudaStream_t stream, const cebus_cuda_stall *stall)
{
    if (stall != NULL && cudaEventRecord(stall->behind, stream) == cudaSuccess)
        stalls->given++;
}

uint64_t cebus_stalls_collect(cebus_cuda_stalls *stalls)
{
    while (stalls->taken < stalls->given) {
        float ms = 0;
        const cebus_cuda_stall *stall = &stalls->pairs[stalls->taken % CEBUS_STALL_PAIRS];
        cudaError_t error = cudaEventQuery(stall->behind);
        if (error != cudaSuccess)
            (void)cudaGetLastError(); /* not ready is an error that would stay */
        if (error == cudaErrorNotReady)
            break;
        stalls->taken++;
        if (error != cudaSuccess ||
            cudaEventElapsedTime(&ms, stall->before, stall->behind) != cudaSuccess)
            continue;
        uint64_t ns = (uint64_t)((double)ms * 1e6);
        stalls->ns += ns > CEBUS_STALL_LEAST_NS ? ns : 0;
    }
    return stalls->ns;
}
