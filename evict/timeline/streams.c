#include "evict/timeline/streams.h"

#include "evict/plan.h"

void cebus_streams_wait(cebus_streams *streams, uint64_t until)
{
    if (until <= streams->compute)
        return;
    streams->stall_ns += until - streams->compute;
    streams->compute = until;
}

static cebus_span copy(uint64_t *stream, uint64_t ready, uint64_t ns)
{
    uint64_t from = ready > *stream ? ready : *stream;
    *stream = from + ns;
    return (cebus_span){from, *stream};
}

cebus_span cebus_streams_copy_out(cebus_streams *streams, uint64_t bytes, uint64_t ready)
{
    return copy(&streams->out, ready,
                streams->latency_ns + cebus_plan_copy_ns(bytes, streams->out_rate));
}

cebus_span cebus_streams_copy_in(cebus_streams *streams, uint64_t bytes, uint64_t ready)
{
    return copy(&streams->in, ready,
                streams->latency_ns + cebus_plan_copy_ns(bytes, streams->in_rate));
}
