#include "eager/device/cpu/streams.h"

#include <string.h>
#include <time.h>

#include "layout/number.h"
#include "layout/thread.h"

#define NS_PER_S UINT64_C(1000000000)

/** ns before its time that a thread wakes up again, since waking takes as long. */
#define EARLY 60000

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t ns_for(uint64_t bytes, uint64_t rate)
{
    return (uint64_t)((double)bytes * (double)NS_PER_S / (double)rate);
}

/** Sleeps as far as sleep is exact. */
static void wait_until(uint64_t ns)
{
    for (uint64_t now = now_ns(); now < ns; now = now_ns()) {
        uint64_t wake = ns - EARLY;
        struct timespec at = {(time_t)(wake / NS_PER_S), (long)(wake % NS_PER_S)};
        if (now + EARLY < ns)
            (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    }
}

static void run_work(const cebus_cpu_work *work)
{
    if (work->run != NULL)
        work->run(work->context);
    else
        memcpy(work->to, work->from, work->bytes);
}

/** When `mark`, which was done, was over on the link: later than it was done, where one is played.
 * Of what lies further back than the ring it is known that it was no later than what does not. */
static uint64_t over_ns(const cebus_cpu_stream *stream, uint64_t mark)
{
    uint64_t oldest = stream->done > CEBUS_CPU_RING ? stream->done - CEBUS_CPU_RING + 1 : 1;
    if (mark == 0)
        return 0;
    return stream->over[((mark > oldest ? mark : oldest) - 1) % CEBUS_CPU_RING];
}

static bool may_start(const cebus_cpu_streams *streams, const uint64_t *after)
{
    for (int on = CEBUS_STREAM_OUT; on < CEBUS_STREAM_COUNT; on++) {
        if (streams->of[on].done < after[on])
            return false;
    }
    return true;
}

/** The last piece counts as one of so many. */
#define MEMORY 64

/** Since when nothing but its own stream keeps a piece from starting. */
static uint64_t asked_ns(const cebus_cpu_streams *streams, const cebus_cpu_work *work)
{
    uint64_t from = work->given_ns;
    for (int on = CEBUS_STREAM_OUT; on < CEBUS_STREAM_COUNT; on++) {
        from = cebus_max_u64(from, over_ns(&streams->of[on], work->after[on]));
    }
    return from;
}

static void learn_latency(cebus_cpu_streams *streams, uint64_t ready, uint64_t came)
{
    int64_t more = (int64_t)(came > ready ? came - ready : 0) - (int64_t)streams->latency_ns;
    streams->latency_ns += (uint64_t)(more / MEMORY);
}

/** Wakes who waits for a piece of this stream: the other one, or the program. */
static void tell(cebus_cpu_streams *streams, const cebus_cpu_stream *stream)
{
    const int which = (int)(stream - streams->of);
    for (int on = CEBUS_STREAM_OUT; on < CEBUS_STREAM_COUNT; on++) {
        if (on != which && streams->of[on].held)
            pthread_cond_signal(&streams->of[on].changed);
    }
    if (stream->done >= stream->wanted)
        pthread_cond_signal(&streams->reached);
}

/** Does the stream's next piece once it may start; the lock is held before and after. */
static void do_next(cebus_cpu_streams *streams, cebus_cpu_stream *stream)
{
    cebus_cpu_work work = stream->ring[stream->done % CEBUS_CPU_RING];
    stream->held = true;
    while (!may_start(streams, work.after))
        pthread_cond_wait(&stream->changed, &streams->mutex);
    stream->held = false;
    const uint64_t asked = asked_ns(streams, &work), from = cebus_max_u64(asked, stream->link_ns);
    const uint64_t ready = cebus_max_u64(asked, stream->done_ns), start = now_ns();
    pthread_mutex_unlock(&streams->mutex);
    run_work(&work);
    pthread_mutex_lock(&streams->mutex);
    stream->done_ns = stream->link_ns = now_ns();
    if (work.run == NULL && streams->rate > 0) {
        stream->link_ns = from + ns_for(work.bytes, streams->rate);
        learn_latency(streams, stream->link_ns, stream->done_ns);
    } else {
        learn_latency(streams, ready, start);
    }
    stream->over[stream->done++ % CEBUS_CPU_RING] = cebus_max_u64(stream->done_ns, stream->link_ns);
    tell(streams, stream);
}

static void work_on(cebus_cpu_streams *streams, cebus_cpu_stream *stream)
{
    pthread_mutex_lock(&streams->mutex);
    while (!streams->stop || stream->done < stream->given) {
        if (stream->done < stream->given)
            do_next(streams, stream);
        else
            pthread_cond_wait(&stream->changed, &streams->mutex);
    }
    pthread_mutex_unlock(&streams->mutex);
}

static void *work_out(void *context)
{
    cebus_cpu_streams *streams = context;
    work_on(streams, &streams->of[CEBUS_STREAM_OUT]);
    return NULL;
}

static void *work_in(void *context)
{
    cebus_cpu_streams *streams = context;
    work_on(streams, &streams->of[CEBUS_STREAM_IN]);
    return NULL;
}

void cebus_cpu_streams_init(cebus_cpu_streams *streams)
{
    memset(streams, 0, sizeof *streams);
    pthread_mutex_init(&streams->mutex, NULL);
    pthread_cond_init(&streams->reached, NULL);
    for (int i = 0; i < CEBUS_STREAM_COUNT; i++) {
        pthread_cond_init(&streams->of[i].changed, NULL);
        streams->of[i].wanted = UINT64_MAX;
    }
}

void cebus_cpu_streams_deinit(cebus_cpu_streams *streams)
{
    pthread_mutex_lock(&streams->mutex);
    streams->stop = true;
    for (int i = 0; i < CEBUS_STREAM_COUNT; i++)
        pthread_cond_signal(&streams->of[i].changed);
    pthread_mutex_unlock(&streams->mutex);
    for (int i = 0; i < CEBUS_STREAM_COUNT; i++) {
        if (streams->of[i].started)
            pthread_join(streams->of[i].thread, NULL);
        pthread_cond_destroy(&streams->of[i].changed);
    }
    pthread_cond_destroy(&streams->reached);
    pthread_mutex_destroy(&streams->mutex);
}

static bool start_thread(cebus_cpu_streams *streams, cebus_stream which)
{
    cebus_cpu_stream *stream = &streams->of[which];
    void *(*work)(void *) = which == CEBUS_STREAM_OUT ? work_out : work_in;
    stream->started = cebus_thread_start(&stream->thread, work, streams);
    return stream->started;
}

/** Until so much of a stream is done; with the lock. */
static void await(cebus_cpu_streams *streams, cebus_cpu_stream *stream, uint64_t mark)
{
    stream->wanted = mark;
    while (stream->done < mark)
        pthread_cond_wait(&streams->reached, &streams->mutex);
    stream->wanted = UINT64_MAX;
}

void cebus_cpu_stream_give(cebus_cpu_streams *streams, cebus_stream which, cebus_cpu_work work)
{
    cebus_cpu_stream *stream = &streams->of[which];
    bool threaded = stream->started || start_thread(streams, which);
    pthread_mutex_lock(&streams->mutex);
    if (stream->given - stream->done == CEBUS_CPU_RING)
        await(streams, stream, stream->given - CEBUS_CPU_RING + 1);
    memcpy(work.after, stream->after, sizeof work.after);
    work.given_ns = now_ns();
    stream->ring[stream->given++ % CEBUS_CPU_RING] = work;
    if (threaded)
        pthread_cond_signal(&stream->changed);
    else
        do_next(streams, stream);
    pthread_mutex_unlock(&streams->mutex);
}

uint64_t cebus_cpu_stream_mark(cebus_cpu_streams *streams, cebus_stream which)
{
    pthread_mutex_lock(&streams->mutex);
    uint64_t mark = streams->of[which].given;
    pthread_mutex_unlock(&streams->mutex);
    return mark;
}

bool cebus_cpu_stream_reached(cebus_cpu_streams *streams, cebus_stream which, uint64_t mark)
{
    pthread_mutex_lock(&streams->mutex);
    const cebus_cpu_stream *stream = &streams->of[which];
    bool reached =
        stream->done >= mark && (streams->rate == 0 || over_ns(stream, mark) <= now_ns());
    pthread_mutex_unlock(&streams->mutex);
    return reached;
}

/** Until a mark is done, and over on the link. With the lock. */
static void wait_here(cebus_cpu_streams *streams, cebus_stream on, uint64_t mark)
{
    cebus_cpu_stream *stream = &streams->of[on];
    uint64_t from = now_ns();
    if (stream->done >= mark && over_ns(stream, mark) <= from)
        return;
    await(streams, stream, mark);
    const uint64_t over = over_ns(stream, mark);
    pthread_mutex_unlock(&streams->mutex);
    wait_until(over);
    pthread_mutex_lock(&streams->mutex);
    streams->stall_ns += now_ns() - from;
}

void cebus_cpu_stream_wait(cebus_cpu_streams *streams, cebus_stream which, cebus_stream on,
                           uint64_t mark)
{
    if (on == CEBUS_STREAM_COMPUTE)
        return;
    pthread_mutex_lock(&streams->mutex);
    uint64_t *after = &streams->of[which].after[on];
    if (which == CEBUS_STREAM_COMPUTE)
        wait_here(streams, on, mark);
    else
        *after = mark > *after ? mark : *after;
    pthread_mutex_unlock(&streams->mutex);
}

uint64_t cebus_cpu_streams_latency(cebus_cpu_streams *streams)
{
    pthread_mutex_lock(&streams->mutex);
    uint64_t ns = streams->latency_ns;
    pthread_mutex_unlock(&streams->mutex);
    return ns;
}

void cebus_cpu_streams_finish(cebus_cpu_streams *streams)
{
    pthread_mutex_lock(&streams->mutex);
    for (int on = CEBUS_STREAM_OUT; on < CEBUS_STREAM_COUNT; on++)
        wait_here(streams, on, streams->of[on].given);
    pthread_mutex_unlock(&streams->mutex);
}
