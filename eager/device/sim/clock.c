#include "eager/device/sim/clock.h"

#include <string.h>

#include "eager/device/sim/duration.h"
#include "layout/number.h"

bool cebus_sim_clock_init(cebus_sim_clock *clock, uint64_t issue_ns, uint64_t depth,
                          const cebus_host_allocator *host)
{
    *clock = (cebus_sim_clock){.issue_ns = issue_ns, .depth = depth};
    size_t bytes = CEBUS_STREAM_COUNT * depth * sizeof(uint64_t);
    uint64_t *ends = host->alloc(host->context, bytes);
    if (ends == NULL)
        return false;
    memset(ends, 0, bytes);
    for (int i = 0; i < CEBUS_STREAM_COUNT; i++)
        clock->streams[i].ends = ends + (size_t)i * depth;
    return true;
}

void cebus_sim_clock_deinit(cebus_sim_clock *clock, const cebus_host_allocator *host)
{
    if (clock->streams[0].ends != NULL)
        host->free(host->context, clock->streams[0].ends);
}

static void await(cebus_sim_clock *clock, uint64_t until, bool copy)
{
    if (until <= clock->host)
        return;
    if (copy)
        clock->host_copies += until - clock->host;
    clock->host = until;
}

/**
 * Compute stands still between what it could have done and what it did because of copies: those it
 * waits for, and those the host waited for before it asked.
 */
static void count_stall(cebus_sim_clock *clock, uint64_t start)
{
    uint64_t asked = clock->host - clock->host_copies;
    clock->stall += start - cebus_max_u64(clock->streams[CEBUS_STREAM_COMPUTE].free, asked);
    clock->host_copies = 0;
}

uint64_t cebus_sim_clock_begin(cebus_sim_clock *clock, cebus_stream stream)
{
    cebus_sim_stream *s = &clock->streams[stream];
    await(clock, s->ends[s->count % clock->depth], stream != CEBUS_STREAM_COMPUTE);
    clock->host = cebus_ns_add(clock->host, clock->issue_ns);
    uint64_t start = cebus_max_u64(cebus_max_u64(s->free, clock->host), s->wait);
    if (stream == CEBUS_STREAM_COMPUTE)
        count_stall(clock, start);
    return start;
}

void cebus_sim_clock_end(cebus_sim_clock *clock, cebus_stream stream, uint64_t end)
{
    cebus_sim_stream *s = &clock->streams[stream];
    s->ends[s->count % clock->depth] = end;
    s->count++;
    s->free = end;
}

uint64_t cebus_sim_clock_reached_at(const cebus_sim_clock *clock, cebus_stream stream,
                                    uint64_t mark)
{
    const cebus_sim_stream *s = &clock->streams[stream];
    if (mark == 0 || (mark < s->count && s->count - mark >= clock->depth))
        return 0;
    return s->ends[((mark < s->count ? mark : s->count) - 1) % clock->depth];
}

void cebus_sim_clock_wait(cebus_sim_clock *clock, cebus_stream stream, cebus_stream on,
                          uint64_t mark)
{
    cebus_sim_stream *s = &clock->streams[stream];
    s->wait = cebus_max_u64(s->wait, cebus_sim_clock_reached_at(clock, on, mark));
}

void cebus_sim_clock_await(cebus_sim_clock *clock, cebus_stream stream, uint64_t mark)
{
    await(clock, cebus_sim_clock_reached_at(clock, stream, mark), stream != CEBUS_STREAM_COMPUTE);
}

void cebus_sim_clock_synchronize(cebus_sim_clock *clock)
{
    for (int i = 0; i < CEBUS_STREAM_COUNT; i++)
        await(clock, clock->streams[i].free, false);
}

uint64_t cebus_sim_clock_done(const cebus_sim_clock *clock, cebus_stream stream)
{
    return cebus_max_u64(clock->host,
                         cebus_max_u64(clock->streams[stream].free, clock->streams[stream].wait));
}
