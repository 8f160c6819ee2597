#include "evict/timeline/streams.h"

#include "evict/plan.h"
#include "layout/number.h"

void cebus_streams_wait(cebus_streams *streams, uint64_t until)
{
    if (until <= streams->compute)
        return;
    streams->stall_ns += until - streams->compute;
    streams->compute = until;
}

void cebus_streams_ask(cebus_streams *streams)
{
    streams->requests++;
    streams->host += streams->issue_ns;
    if (streams->host <= streams->compute)
        return;
    streams->held_ns += streams->host - streams->compute;
    streams->compute = streams->host;
}

static cebus_span copy(cebus_streams *streams, uint64_t *stream, uint64_t ready, uint64_t ns)
{
    streams->requests++;
    streams->host += streams->issue_ns;
    uint64_t from = cebus_max_u64(cebus_max_u64(ready, streams->host), *stream);
    *stream = from + ns;
    return (cebus_span){from, *stream};
}

cebus_span cebus_streams_copy_out(cebus_streams *streams, uint64_t bytes, uint64_t ready)
{
    return copy(streams, &streams->out, ready,
                streams->latency_ns + cebus_plan_copy_ns(bytes, streams->out_rate));
}

cebus_span cebus_streams_copy_in(cebus_streams *streams, uint64_t bytes, uint64_t ready)
{
    return copy(streams, &streams->in, ready,
                streams->latency_ns + cebus_plan_copy_ns(bytes, streams->in_rate));
}
