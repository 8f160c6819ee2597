#include "eager/device/cuda/staging.h"

#include "eager/device/cuda/mapped.h"
#include "layout/number.h"

static const char op[] = "device cuda";

cebus_status cebus_staging_init(cebus_cuda_staging *staging, cebus_cuda *cuda)
{
    void *pieces = NULL, *bounce = NULL;
    cudaError_t error =
        cudaHostAlloc(&pieces, CEBUS_STAGING_PIECES * CEBUS_STAGING_BYTES, cudaHostAllocPortable);
    staging->pieces = pieces;
    staging->cuda = cuda;
    if (error != cudaSuccess)
        return cebus_cuda_check(error, op, "page-locked memory for uploads");
    error = cudaMalloc(&bounce, CEBUS_BOUNCE_BYTES);
    staging->bounce = bounce;
    return cebus_cuda_check(error, op, "device memory for moves");
}

void cebus_staging_deinit(cebus_cuda_staging *staging)
{
    if (staging->pieces != NULL)
        (void)cudaFreeHost(staging->pieces);
    if (staging->bounce != NULL)
        (void)cudaFree(staging->bounce);
    *staging = (cebus_cuda_staging){0};
}

/** Between a piece and the device. */
static cebus_status exchange(cebus_cuda_staging *staging, cebus_cuda_streams *streams, void *to,
                             const void *from, uint64_t bytes)
{
    cebus_status status = cebus_mapped_copy(staging->cuda, to, from, bytes);
    cebus_stream_gave(streams, CEBUS_STREAM_COMPUTE);
    return status;
}

static cebus_status copy_inside(cebus_cuda_streams *streams, void *to, const void *from,
                                uint64_t bytes)
{
    cudaStream_t stream = streams->of[CEBUS_STREAM_COMPUTE].stream;
    cebus_status status = cebus_cuda_check(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), op, "cudaMemcpyAsync");
    cebus_stream_gave(streams, CEBUS_STREAM_COMPUTE);
    return status;
}

/** The next piece, once the device is done with it. */
static cebus_status take_piece(cebus_cuda_staging *staging, cebus_cuda_streams *streams,
                               unsigned *out)
{
    *out = staging->next++ % CEBUS_STAGING_PIECES;
    return cebus_stream_await(streams, CEBUS_STREAM_COMPUTE, staging->marks[*out]);
}

static char *piece_at(const cebus_cuda_staging *staging, unsigned i)
{
    return staging->pieces + i * CEBUS_STAGING_BYTES;
}

cebus_status cebus_staging_upload(cebus_cuda_staging *staging, cebus_cuda_streams *streams,
                                  void *to, const void *from, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += CEBUS_STAGING_BYTES) {
        unsigned i;
        uint64_t part = cebus_min_u64(bytes - at, CEBUS_STAGING_BYTES);
        cebus_status status = take_piece(staging, streams, &i);
        if (status != CEBUS_OK)
            return status;
        memcpy(piece_at(staging, i), (const char *)from + at, part);
        status = exchange(staging, streams, (char *)to + at, piece_at(staging, i), part);
        if (status != CEBUS_OK)
            return status;
        staging->marks[i] = streams->of[CEBUS_STREAM_COMPUTE].given;
    }
    return CEBUS_OK;
}

/** Up to all pieces are on their way while the oldest is copied out. */
cebus_status cebus_staging_download(cebus_cuda_staging *staging, cebus_cuda_streams *streams,
                                    void *to, const void *from, uint64_t bytes)
{
    uint64_t sent = 0, got = 0;
    unsigned slots[CEBUS_STAGING_PIECES];
    while (got < bytes) {
        unsigned *slot = &slots[sent / CEBUS_STAGING_BYTES % CEBUS_STAGING_PIECES];
        cebus_status status;
        if (sent < bytes && sent - got < CEBUS_STAGING_PIECES * CEBUS_STAGING_BYTES) {
            uint64_t part = cebus_min_u64(bytes - sent, CEBUS_STAGING_BYTES);
            status = take_piece(staging, streams, slot);
            if (status == CEBUS_OK)
                status = exchange(staging, streams, piece_at(staging, *slot),
                                  (const char *)from + sent, part);
            if (status != CEBUS_OK)
                return status;
            staging->marks[*slot] = streams->of[CEBUS_STREAM_COMPUTE].given;
            sent += part;
            continue;
        }
        slot = &slots[got / CEBUS_STAGING_BYTES % CEBUS_STAGING_PIECES];
        status = cebus_stream_await(streams, CEBUS_STREAM_COMPUTE, staging->marks[*slot]);
        if (status != CEBUS_OK)
            return status;
        uint64_t part = cebus_min_u64(bytes - got, CEBUS_STAGING_BYTES);
        memcpy((char *)to + got, piece_at(staging, *slot), part);
        got += part;
    }
    return CEBUS_OK;
}

/** One piece of a move; its ranges may overlap unless it is as short as their distance. */
static cebus_status move_piece(cebus_cuda_staging *staging, cebus_cuda_streams *streams, char *to,
                               const char *from, uint64_t bytes, uint64_t distance)
{
    if (bytes <= distance)
        return copy_inside(streams, to, from, bytes);
    cebus_status status = copy_inside(streams, staging->bounce, from, bytes);
    if (status == CEBUS_OK)
        status = copy_inside(streams, to, staging->bounce, bytes);
    return status;
}

/** Pieces go in the order in which none overwrites what a later one reads. */
cebus_status cebus_staging_move(cebus_cuda_staging *staging, cebus_cuda_streams *streams, void *to,
                                const void *from, uint64_t bytes)
{
    char *target = to;
    const char *source = from;
    bool down = (uintptr_t)to < (uintptr_t)from;
    uint64_t distance = down ? (uintptr_t)from - (uintptr_t)to : (uintptr_t)to - (uintptr_t)from;
    uint64_t step = distance > CEBUS_BOUNCE_BYTES ? distance : CEBUS_BOUNCE_BYTES;
    cebus_status status = CEBUS_OK;
    if (distance >= bytes)
        step = bytes;
    for (uint64_t done = 0; distance > 0 && done < bytes && status == CEBUS_OK; done += step) {
        uint64_t part = cebus_min_u64(bytes - done, step), at = down ? done : bytes - done - part;
        status = move_piece(staging, streams, target + at, source + at, part, distance);
    }
    return status;
}
