#include "evict/advisor/stream.h"

#include <string.h>

/** An even flow of copies: what it should have brought by now, less what it did. */
typedef struct flow {
    const cebus_graph *graph;
    const cebus_stream_terms *terms;
    double owed, rate; /**< bytes; bytes a ns, 0: takes all that it comes by */
    uint64_t staying, large;
    uint8_t *seen, *out;
} flow;

static bool may_stream(const flow *f, uint32_t buffer)
{
    const cebus_buffer *b = &f->graph->buffers[buffer];
    return b->persistent && b->bytes >= f->terms->least;
}

static bool is_due(const flow *f, uint64_t bytes)
{
    if (f->rate == 0)
        return bytes >= f->large;
    return f->owed >= (bytes < f->large ? (double)f->terms->lag : (double)bytes / 2);
}

/** Goes through all calls; of what each is the first to use, streams what is due. */
static void flow_by(flow *f, const uint32_t *order)
{
    memset(f->seen, 0, f->graph->n_buffers);
    for (size_t k = 0; k < f->graph->n_calls && f->staying > f->terms->stay; k++) {
        const cebus_graph_call *call = &f->graph->calls[order[k]];
        for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
            const uint32_t at = f->graph->refs[i].buffer;
            const uint64_t bytes = f->graph->buffers[at].bytes;
            const bool is_first = !f->seen[at];
            f->seen[at] = 1;
            if (!is_first || f->out[at] || !may_stream(f, at) || f->staying <= f->terms->stay ||
                !is_due(f, bytes))
                continue;
            f->out[at] = 1;
            f->staying -= bytes;
            f->owed -= (double)bytes;
        }
        f->owed += f->rate * (double)call->cost_ns;
    }
}

void cebus_stream_choose(const cebus_graph *graph, const uint32_t *order,
                         const cebus_stream_terms *terms, uint8_t *seen, uint8_t *out)
{
    flow f = {.graph = graph, .terms = terms, .large = terms->large, .seen = seen, .out = out};
    memset(out, 0, graph->n_buffers);
    for (uint32_t i = 0; i < graph->n_buffers; i++)
        f.staying += may_stream(&f, i) ? graph->buffers[i].bytes : 0;
    if (f.staying <= terms->stay)
        return;
    f.rate = (double)(f.staying - terms->stay) / (double)(graph->ideal_ns + 1);
    flow_by(&f, order);
    f.rate = 0;
    do { /* whatever is left, of large ones first */
        flow_by(&f, order);
        f.large /= 2;
    } while (f.large > 0);
}
