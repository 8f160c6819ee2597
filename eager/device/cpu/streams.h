/**
 * streams.h: the CPU's two copy streams, a thread each, in order. Launches run on the program's own
 * thread, which is the compute stream: its marks are reached when they are asked for.
 *
 * A thread starts with the first piece of work of its stream: programs that never swap have none.
 * Pieces wait in a short ring; who gives more waits for room.
 *
 * A link that is slower than memory can be played (`rate`), for tests and what-ifs. It has a clock
 * of its own, as a real one has: bytes are copied at once, and count as copied once the link would
 * be done with them. So its threads never sleep between pieces, and one that gets a processor late
 * holds up nothing else, unless it is later than the link.
 *
 * Thread-safety: calls from one thread at a time; the work runs on the streams'.
 */
#ifndef CEBUS_EAGER_DEVICE_CPU_STREAMS_H
#define CEBUS_EAGER_DEVICE_CPU_STREAMS_H

#include <pthread.h>

#include "eager/device/device.h"

#define CEBUS_CPU_RING 64

/** A copy of `bytes`, or a call of `run`. It starts once each stream did as much as `after` says.
 */
typedef struct cebus_cpu_work {
    void (*run)(void *context);
    void *context;
    char *to;
    const char *from;
    uint64_t bytes;
    uint64_t after[CEBUS_STREAM_COUNT];
    uint64_t given_ns; /**< when */
} cebus_cpu_work;

typedef struct cebus_cpu_stream {
    pthread_t thread;
    pthread_cond_t changed; /**< for its thread: more was given, or what it waits for is done */
    bool started;
    bool held; /**< its thread waits for the other stream */
    uint64_t given, done;
    uint64_t wanted;               /**< the program waits for so much; UINT64_MAX: it does not */
    uint64_t done_ns;              /**< when the last piece was done */
    uint64_t link_ns;              /**< until when a played link is busy with it */
    uint64_t over[CEBUS_CPU_RING]; /**< by piece: when it was done, and over on the link */
    uint64_t after[CEBUS_STREAM_COUNT]; /**< for the next piece */
    cebus_cpu_work ring[CEBUS_CPU_RING];
} cebus_cpu_stream;

typedef struct cebus_cpu_streams {
    pthread_mutex_t mutex;
    pthread_cond_t reached; /**< what the program waits for */
    bool stop;
    uint64_t rate;     /**< bytes/s of a copy, 0: as fast as memory; set before the first */
    uint64_t stall_ns; /**< that the program's thread waited */
    /** Of late: from when a piece may start to when its thread does; over a played link, from when
     * the link would be done with it to when it is. What a copy takes beside its bytes where
     * threads have to wait for a processor. */
    uint64_t latency_ns;
    cebus_cpu_stream of[CEBUS_STREAM_COUNT];
} cebus_cpu_streams;

void cebus_cpu_streams_init(cebus_cpu_streams *streams);
/** Does what was given, then ends the threads. */
void cebus_cpu_streams_deinit(cebus_cpu_streams *streams);

/** Without threads to be had the piece is done at once. `stream` is OUT or IN. */
void cebus_cpu_stream_give(cebus_cpu_streams *streams, cebus_stream stream, cebus_cpu_work work);
uint64_t cebus_cpu_stream_mark(cebus_cpu_streams *streams, cebus_stream stream);
/** The compute stream waits at once, counted as a stall; the others before their next piece. */
void cebus_cpu_stream_wait(cebus_cpu_streams *streams, cebus_stream stream, cebus_stream on,
                           uint64_t mark);
bool cebus_cpu_stream_reached(cebus_cpu_streams *streams, cebus_stream stream, uint64_t mark);
/** latency_ns. */
uint64_t cebus_cpu_streams_latency(cebus_cpu_streams *streams);
/** All of both. */
void cebus_cpu_streams_finish(cebus_cpu_streams *streams);

#endif
