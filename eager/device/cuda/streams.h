/**
 * streams.h: three in-order streams and their marks.
 *
 * A stream counts its work; a mark is such a count (device.h). Events are taken from a fixed ring a
 * stream and recorded behind each copy, and rarely behind kernels: after every CEBUS_MARK_STRIDE of
 * them, and when somebody asks for a mark that no event covers. Whoever waits for a mark waits for
 * the first event at or behind it: for a few kernels more, but not for the next copies, each of
 * which may take milliseconds. The host may be a whole step ahead, with hundreds of copies: when
 * the ring is full of what is not done every other event is given up, and the next one stands for
 * it.
 *
 * The only places where the host waits are cebus_stream_await() and cebus_streams_finish(); both
 * count (waits), and launches assert that nothing was added meanwhile.
 */
#ifndef CEBUS_EAGER_DEVICE_CUDA_STREAMS_H
#define CEBUS_EAGER_DEVICE_CUDA_STREAMS_H

#include "eager/device/cuda/stalls.h"
#include "eager/device/device.h"

#define CEBUS_MARK_RING 512
#define CEBUS_MARK_STRIDE 4 /**< kernels */

/** All work up to `mark` is done once `event` is. */
typedef struct cebus_cuda_mark {
    uint64_t mark;
    cudaEvent_t event;
} cebus_cuda_mark;

typedef struct cebus_cuda_stream {
    cudaStream_t stream;
    uint64_t given;                         /**< pieces of work enqueued */
    uint64_t reached;                       /**< known to be done */
    uint64_t waited[CEBUS_STREAM_COUNT];    /**< marks of the others it waits for already */
    cebus_cuda_mark marks[CEBUS_MARK_RING]; /**< a ring, marks ascend; all own an event */
    unsigned first, count;                  /**< recorded and not known to be done */
} cebus_cuda_stream;

typedef struct cebus_cuda_streams {
    cebus_cuda_stream of[CEBUS_STREAM_COUNT];
    cebus_cuda_stalls stalls; /**< of the compute stream */
    uint64_t waits;           /**< times the host waited */
    cudaError_t failure;      /**< of a call that had nobody to tell; cudaSuccess: none */
} cebus_cuda_streams;

/** Streams and events. On failure what was made stays for deinit. */
cebus_status cebus_streams_init(cebus_cuda_streams *streams);
void cebus_streams_deinit(cebus_cuda_streams *streams);

/** A piece of work was enqueued. */
void cebus_stream_gave(cebus_cuda_streams *streams, cebus_stream stream);
/** Work of `stream` from now on starts after `mark` of stream `on`. What compute waits is counted.
 */
void cebus_stream_follow(cebus_cuda_streams *streams, cebus_stream stream, cebus_stream on,
                         uint64_t mark);
/** Asks the device; waits for nothing. */
bool cebus_stream_reached(cebus_cuda_streams *streams, cebus_stream stream, uint64_t mark);
/** The host waits for a mark, or for all streams. A failure recorded before is reported here. */
cebus_status cebus_stream_await(cebus_cuda_streams *streams, cebus_stream stream, uint64_t mark);
cebus_status cebus_streams_finish(cebus_cuda_streams *streams);

#endif
