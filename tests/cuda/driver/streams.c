/**
 * streams.c: streams, events and asynchronous copies of the fake driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eager/device/cuda/mapped.h"
#include "memory.h"

#define MAX_STREAMS 16
#define QUEUE 4096

typedef enum kind {
    COPY,
    CALL,
    HOST_CALL,
    RECORD,
    WAIT,
} kind;

typedef struct work {
    kind kind;
    void *to; /**< or the argument of a call */
    const void *from;
    size_t bytes;
    cebus_fake_work *run;
    cudaHostFn_t host;
    cudaEvent_t event;
    uint64_t version; /**< of the event */
} work;

struct CUstream_st {
    work queue[QUEUE]; /**< a ring */
    uint64_t given, done;
};

struct CUevent_st {
    uint64_t recorded, reached; /**< versions */
    uint64_t time;              /**< of the last that was reached */
};

static cudaStream_t streams[MAX_STREAMS];
static uint64_t chance = 88172645463325252U, now;
static cudaError_t sticky = cudaSuccess;
cudaError_t cebus_fake_last_error = cudaSuccess;

void cebus_fake_die(const char *why)
{
    fprintf(stderr, "fake CUDA driver: %s\n", why);
    abort();
}

static bool may_start(cudaStream_t stream)
{
    const work *next = &stream->queue[stream->done % QUEUE];
    return stream->done < stream->given &&
           (next->kind != WAIT || next->event->reached >= next->version);
}

static void run_next(cudaStream_t stream)
{
    const work *next = &stream->queue[stream->done % QUEUE];
    now += 1000 + next->bytes / CEBUS_FAKE_BYTES_PER_NS;
    switch (next->kind) {
    case COPY:
        memcpy(next->to, next->from, next->bytes);
        break;
    case CALL:
        if (!next->run(next->to))
            sticky = cudaErrorLaunchFailure;
        break;
    case HOST_CALL:
        next->host(next->to);
        break;
    case RECORD:
        next->event->reached = next->version;
        next->event->time = now;
        break;
    case WAIT:
        break;
    }
    stream->done++;
}

/** One piece of any stream that may go on. False when all is done. */
static bool step(void)
{
    bool work_left = false;
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    for (unsigned i = 0; i < MAX_STREAMS; i++) {
        cudaStream_t stream = streams[(chance + i) % MAX_STREAMS];
        if (stream == NULL)
            continue;
        work_left = work_left || stream->done < stream->given;
        if (may_start(stream)) {
            run_next(stream);
            return true;
        }
    }
    if (work_left)
        cebus_fake_die("the streams wait for each other");
    return false;
}

static void put(cudaStream_t stream, work w)
{
    while (stream->given - stream->done == QUEUE)
        (void)step();
    stream->queue[stream->given++ % QUEUE] = w;
}

void cebus_fake_enqueue(cudaStream_t stream, cebus_fake_work *run, void *argument)
{
    put(stream, (work){.kind = CALL, .run = run, .to = argument});
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return (const char *)a < (const char *)b + b_bytes &&
           (const char *)b < (const char *)a + a_bytes;
}

bool cebus_fake_is_used(const void *base, size_t bytes)
{
    for (int i = 0; i < MAX_STREAMS; i++) {
        const struct CUstream_st *stream = streams[i];
        for (uint64_t k = stream != NULL ? stream->done : 0; stream != NULL && k < stream->given;
             k++) {
            const work *w = &stream->queue[k % QUEUE];
            if (w->kind == COPY &&
                (overlap(w->to, w->bytes, base, bytes) || overlap(w->from, w->bytes, base, bytes)))
                return true;
        }
    }
    return false;
}

/* --- streams ------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    (void)flags;
    for (int i = 0; i < MAX_STREAMS; i++) {
        if (streams[i] == NULL) {
            *out = streams[i] = calloc(1, sizeof **out);
            return streams[i] != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
        }
    }
    return cudaErrorMemoryAllocation;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    for (int i = 0; i < MAX_STREAMS; i++) {
        if (streams[i] != stream)
            continue;
        while (stream->done < stream->given) {
            if (stream->queue[stream->done % QUEUE].kind < RECORD)
                cebus_fake_die("a stream was destroyed with work on it");
            (void)step();
        }
        free(stream);
        streams[i] = NULL;
        return cudaSuccess;
    }
    cebus_fake_die("no such stream");
    return cudaErrorInvalidValue;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    (void)flags;
    if (event->recorded > 0)
        put(stream, (work){.kind = WAIT, .event = event, .version = event->recorded});
    return cudaSuccess;
}

/** Of page-locked memory and the device's, either way. */
cebus_status cebus_mapped_copy(cebus_cuda *cuda, void *to, const void *from, uint64_t bytes)
{
    if (!cebus_fake_is_pinned(to, bytes) && !cebus_fake_is_device(to, bytes))
        cebus_fake_die("a kernel writes memory that it does not reach");
    if (!cebus_fake_is_pinned(from, bytes) && !cebus_fake_is_device(from, bytes))
        cebus_fake_die("a kernel reads memory that it does not reach");
    put(cuda->stream, (work){.kind = COPY, .to = to, .from = from, .bytes = bytes});
    return CEBUS_OK;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind how,
                            cudaStream_t stream)
{
    bool to_host = how == cudaMemcpyDeviceToHost, from_host = how == cudaMemcpyHostToDevice;
    if (to_host ? !cebus_fake_is_pinned(to, bytes) : !cebus_fake_is_device(to, bytes))
        cebus_fake_die("a copy to memory that is not page-locked, or not the device's");
    if (from_host ? !cebus_fake_is_pinned(from, bytes) : !cebus_fake_is_device(from, bytes))
        cebus_fake_die("a copy from memory that is not page-locked, or not the device's");
    if (overlap(to, bytes, from, bytes))
        cebus_fake_die("a copy between ranges that overlap");
    put(stream, (work){.kind = COPY, .to = to, .from = from, .bytes = bytes});
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t run, void *argument)
{
    put(stream, (work){.kind = HOST_CALL, .host = run, .to = argument});
    return cudaSuccess;
}

/* --- events -------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    (void)flags;
    *out = calloc(1, sizeof **out);
    return *out != NULL ? cudaSuccess : cudaErrorMemoryAllocation;
}

/** A stream has yet to find out that it need not wait for it any more. */
static bool is_waited_for(cudaEvent_t event)
{
    for (int i = 0; i < MAX_STREAMS; i++) {
        const struct CUstream_st *stream = streams[i];
        for (uint64_t k = stream != NULL ? stream->done : 0; stream != NULL && k < stream->given;
             k++) {
            const work *w = &stream->queue[k % QUEUE];
            if (w->kind == WAIT && w->event == event)
                return true;
        }
    }
    return false;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    while ((event->reached < event->recorded || is_waited_for(event)) && step())
        continue;
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    put(stream, (work){.kind = RECORD, .event = event, .version = ++event->recorded});
    return cudaSuccess;
}

/** Time passes while somebody asks. */
cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (event->reached < event->recorded)
        (void)step();
    if (event->reached < event->recorded) {
        cebus_fake_last_error = cudaErrorNotReady; /* as a real one keeps it */
        return cudaErrorNotReady;
    }
    return sticky;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    while (event->reached < event->recorded && step())
        continue;
    cudaError_t error = sticky;
    sticky = cudaSuccess; /* a real one stays broken; tests go on */
    return error;
}

cudaError_t cudaEventElapsedTime(float *out_ms, cudaEvent_t start, cudaEvent_t stop)
{
    if (start->reached < start->recorded || stop->reached < stop->recorded)
        return cudaErrorNotReady;
    *out_ms = (float)(stop->time - start->time) * 1e-6F;
    return cudaSuccess;
}
