#include "eager/device/cpu/streams.h"

#include <string.h>
#include <time.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "layout/thread.h"

#define NS_PER_S UINT64_C(1000000000)

/** Bytes that a slow link is given at a time. */
#define LINK_PIECE (UINT64_C(1) << 20)
/** ns that nobody sleeps for: waking takes longer. What is left out is waited for with a later
 * piece, as the link's own clock goes on. */
#define NAP 20000

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    struct timespec until = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
        ; /* a signal */
}

/** Timers may be late by 50 us, to save power, unless a thread says otherwise. */
static void ask_for_exact_timers(void)
{
#ifdef PR_SET_TIMERSLACK
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
#endif
}

static uint64_t ns_for(uint64_t bytes, uint64_t rate)
{
    return (uint64_t)((double)bytes * (double)NS_PER_S / (double)rate);
}

/** Over a link that was free at `from`, whatever the thread did then. */
static void copy_slowly(const cebus_cpu_work *work, uint64_t from, uint64_t rate)
{
    for (uint64_t at = 0; at < work->bytes; at += LINK_PIECE) {
        uint64_t bytes = work->bytes - at < LINK_PIECE ? work->bytes - at : LINK_PIECE;
        memcpy(work->to + at, work->from + at, bytes);
        uint64_t end = from + ns_for(at + bytes, rate);
        if (end > now_ns() + NAP)
            sleep_until(end);
    }
}

static void run_work(const cebus_cpu_work *work, uint64_t from, uint64_t rate)
{
    if (work->run != NULL)
        work->run(work->context);
    else if (rate > 0)
        copy_slowly(work, from, rate);
    else
        memcpy(work->to, work->from, work->bytes);
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

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/** Since when nothing but its own stream keeps a piece from starting. */
static uint64_t asked_ns(const cebus_cpu_streams *streams, const cebus_cpu_work *work)
{
    uint64_t from = work->given_ns;
    for (int on = CEBUS_STREAM_OUT; on < CEBUS_STREAM_COUNT; on++) {
        if (work->after[on] > 0)
            from = later(from, streams->of[on].done_ns);
    }
    return from;
}

static void learn_latency(cebus_cpu_streams *streams, uint64_t ready)
{
    int64_t more = (int64_t)(now_ns() - ready) - (int64_t)streams->latency_ns;
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
    const uint64_t asked = asked_ns(streams, &work), from = later(asked, stream->link_ns);
    learn_latency(streams, later(asked, stream->done_ns));
    pthread_mutex_unlock(&streams->mutex);
    run_work(&work, from, streams->rate);
    pthread_mutex_lock(&streams->mutex);
    stream->done++;
    stream->done_ns = now_ns();
    stream->link_ns = work.run != NULL || streams->rate == 0
                          ? stream->done_ns
                          : from + ns_for(work.bytes, streams->rate);
    tell(streams, stream);
}

static void work_on(cebus_cpu_streams *streams, cebus_cpu_stream *stream)
{
    ask_for_exact_timers();
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
    bool reached = streams->of[which].done >= mark;
    pthread_mutex_unlock(&streams->mutex);
    return reached;
}

/** With the lock. */
static void wait_here(cebus_cpu_streams *streams, cebus_stream on, uint64_t mark)
{
    uint64_t from = now_ns();
    if (streams->of[on].done >= mark)
        return;
    await(streams, &streams->of[on], mark);
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
