#include "eager/device/cuda/streams.h"

static const char op[] = "device cuda";

/** The runtime keeps an error, also that something is not ready yet, until it is asked for it: the
 * next launch would be blamed for it. */
static void note(cebus_cuda_streams *streams, cudaError_t error)
{
    if (error != cudaSuccess)
        (void)cudaGetLastError();
    if (streams->failure == cudaSuccess && error != cudaSuccess && error != cudaErrorNotReady)
        streams->failure = error;
}

static cebus_status take_failure(cebus_cuda_streams *streams, const char *what)
{
    cudaError_t error = streams->failure;
    streams->failure = cudaSuccess;
    return cebus_cuda_check(error, op, what);
}

cebus_status cebus_streams_init(cebus_cuda_streams *streams)
{
    for (int i = 0; i < CEBUS_STREAM_COUNT; i++) {
        cebus_cuda_stream *s = &streams->of[i];
        cudaError_t error = cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
        for (int k = 0; k < CEBUS_MARK_RING && error == cudaSuccess; k++)
            error = cudaEventCreateWithFlags(&s->marks[k].event, cudaEventDisableTiming);
        if (error != cudaSuccess)
            return cebus_cuda_check(error, op, "making streams and events");
    }
    return cebus_cuda_check(cebus_stalls_init(&streams->stalls), op, "making events");
}

void cebus_streams_deinit(cebus_cuda_streams *streams)
{
    cebus_stalls_deinit(&streams->stalls);
    for (int i = 0; i < CEBUS_STREAM_COUNT; i++) {
        cebus_cuda_stream *s = &streams->of[i];
        for (int k = 0; k < CEBUS_MARK_RING; k++) {
            if (s->marks[k].event != NULL)
                (void)cudaEventDestroy(s->marks[k].event);
        }
        if (s->stream != NULL)
            (void)cudaStreamDestroy(s->stream);
    }
}

static cebus_cuda_mark *mark_at(cebus_cuda_stream *s, unsigned i)
{
    return &s->marks[(s->first + i) % CEBUS_MARK_RING];
}

/** All marks up to the i-th of the ring are done. */
static void advance(cebus_cuda_stream *s, unsigned i)
{
    s->reached = mark_at(s, i)->mark;
    s->first = (s->first + i + 1) % CEBUS_MARK_RING;
    s->count -= i + 1;
}

/** Asks which of them are done. */
static void look(cebus_cuda_streams *streams, cebus_cuda_stream *s)
{
    while (s->count > 0) {
        cudaError_t error = cudaEventQuery(mark_at(s, 0)->event);
        note(streams, error);
        if (error != cudaSuccess)
            break;
        advance(s, 0);
    }
}

/** Gives up every other mark: the one behind it stands for both. */
static void thin(cebus_cuda_stream *s)
{
    for (unsigned i = 0; i < s->count / 2; i++) {
        cebus_cuda_mark given_up = *mark_at(s, i);
        *mark_at(s, i) = *mark_at(s, 2 * i + 1);
        *mark_at(s, 2 * i + 1) = given_up;
    }
    s->count /= 2;
}

/** An event behind all that the stream was given. */
static cebus_cuda_mark *record(cebus_cuda_streams *streams, cebus_cuda_stream *s)
{
    if (s->count > 0 && mark_at(s, s->count - 1)->mark == s->given)
        return mark_at(s, s->count - 1);
    if (s->count == CEBUS_MARK_RING)
        look(streams, s);
    if (s->count == CEBUS_MARK_RING)
        thin(s);
    cebus_cuda_mark *fresh = mark_at(s, s->count++);
    fresh->mark = s->given;
    note(streams, cudaEventRecord(fresh->event, s->stream));
    return fresh;
}

/** The place in the ring of the first event that covers `mark`; count: none does. */
static unsigned covering(cebus_cuda_stream *s, uint64_t mark)
{
    unsigned low = 0, high = s->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (mark_at(s, middle)->mark < mark)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** That event, of a mark which is not known to be reached. */
static cebus_cuda_mark *cover(cebus_cuda_streams *streams, cebus_cuda_stream *s, uint64_t mark)
{
    const unsigned i = covering(s, mark);
    return i < s->count ? mark_at(s, i) : record(streams, s);
}

void cebus_stream_gave(cebus_cuda_streams *streams, cebus_stream stream)
{
    cebus_cuda_stream *s = &streams->of[stream];
    if (++s->given % CEBUS_MARK_STRIDE == 0 || stream != CEBUS_STREAM_COMPUTE)
        (void)record(streams, s);
}

void cebus_stream_follow(cebus_cuda_streams *streams, cebus_stream stream, cebus_stream on,
                         uint64_t mark)
{
    cebus_cuda_stream *s = &streams->of[stream], *other = &streams->of[on];
    const bool counts = stream == CEBUS_STREAM_COMPUTE;
    if (stream == on || mark <= other->reached || mark <= s->waited[on])
        return;
    if (counts && cebus_stream_reached(streams, on, mark))
        return;
    const cebus_cuda_mark *until = cover(streams, other, mark);
    const cebus_cuda_stall *stall = counts ? cebus_stalls_begin(&streams->stalls, s->stream) : NULL;
    note(streams, cudaStreamWaitEvent(s->stream, until->event, 0));
    cebus_stalls_end(&streams->stalls, s->stream, stall);
    s->waited[on] = until->mark;
}

bool cebus_stream_reached(cebus_cuda_streams *streams, cebus_stream stream, uint64_t mark)
{
    cebus_cuda_stream *s = &streams->of[stream];
    if (mark <= s->reached)
        return true;
    (void)cover(streams, s, mark);
    look(streams, s);
    return mark <= s->reached;
}

cebus_status cebus_stream_await(cebus_cuda_streams *streams, cebus_stream stream, uint64_t mark)
{
    cebus_cuda_stream *s = &streams->of[stream];
    if (mark > s->reached) {
        const cebus_cuda_mark *until = cover(streams, s, mark);
        streams->waits++;
        note(streams, cudaEventSynchronize(until->event));
        advance(s, covering(s, mark));
    }
    return take_failure(streams, "work of a stream");
}

cebus_status cebus_streams_finish(cebus_cuda_streams *streams)
{
    cebus_status status = CEBUS_OK;
    for (int i = 0; i < CEBUS_STREAM_COUNT; i++) {
        cebus_status one = cebus_stream_await(streams, i, streams->of[i].given);
        status = status == CEBUS_OK ? one : status;
    }
    return status;
}
