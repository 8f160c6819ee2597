#include "evict/advisor/graph.h"

/** What making a graph must know of a buffer. */
typedef struct track {
    uint32_t writer;  /**< the last; NONE: none yet */
    uint32_t newest;  /**< the value it holds */
    uint32_t reading; /**< refs of readers since: the head of a list; NONE: none */
    uint32_t seen;    /**< the call that has it already, plus 1 */
    uint32_t ref;     /**< of that call */
} track;

typedef struct maker {
    const cebus_advise_program *source;
    cebus_graph *graph;
    track *tracks;
    uint32_t *chain;   /**< by ref: the reader before it */
    uint32_t *stamps;  /**< by call: whose predecessor it is already, plus 1 */
    uint32_t stateful; /**< the last call that is; NONE: none yet */
    cebus_shelf *shelf;
} maker;

static const uint32_t *in_of(const maker *m, const cebus_advise_call *node)
{
    return m->source->refs + node->refs;
}

static cebus_graph_verdict check_node(const cebus_advise_program *source,
                                      const cebus_advise_call *node)
{
    const uint64_t n = (uint64_t)node->n_in + node->n_out;
    if (node->refs > source->n_refs || n > source->n_refs - node->refs)
        return CEBUS_GRAPH_WRONG_REF;
    for (size_t i = 0; i < n; i++) {
        if (source->refs[node->refs + i] >= source->n_values)
            return CEBUS_GRAPH_WRONG_REF;
    }
    if (node->n_written > node->n_in || node->n_written > node->n_out)
        return CEBUS_GRAPH_WRONG_WRITE;
    return CEBUS_GRAPH_MADE;
}

static bool is_from_outside(const cebus_advise_value *value)
{
    return value->persistent || value->given;
}

/** Values from outside have buffers of their own from the start. */
static void add_outside(maker *m)
{
    cebus_graph *graph = m->graph;
    for (size_t i = 0; i < m->source->n_values; i++) {
        const cebus_advise_value *value = &m->source->values[i];
        graph->home[i] = CEBUS_GRAPH_NONE;
        if (!is_from_outside(value))
            continue;
        graph->home[i] = (uint32_t)graph->n_buffers;
        m->tracks[graph->n_buffers] =
            (track){.writer = CEBUS_GRAPH_NONE, .newest = (uint32_t)i, .reading = CEBUS_GRAPH_NONE};
        graph->buffers[graph->n_buffers++] = (cebus_buffer){.bytes = value->bytes,
                                                            .persistent = value->persistent,
                                                            .given = value->given,
                                                            .kept = value->kept,
                                                            .maker = CEBUS_GRAPH_NONE};
    }
}

static cebus_graph_verdict add_new(maker *m, uint32_t value)
{
    cebus_graph *graph = m->graph;
    if (graph->home[value] != CEBUS_GRAPH_NONE)
        return CEBUS_GRAPH_MADE_TWICE;
    graph->home[value] = (uint32_t)graph->n_buffers;
    m->tracks[graph->n_buffers] =
        (track){.writer = CEBUS_GRAPH_NONE, .newest = value, .reading = CEBUS_GRAPH_NONE};
    graph->buffers[graph->n_buffers++] = (cebus_buffer){.bytes = m->source->values[value].bytes,
                                                        .kept = m->source->values[value].kept,
                                                        .maker = CEBUS_GRAPH_NONE};
    return CEBUS_GRAPH_MADE;
}

/** The ref of the call under way to a buffer. */
static cebus_graph_ref *touch(maker *m, cebus_graph_call *call, uint32_t buffer)
{
    cebus_graph *graph = m->graph;
    track *t = &m->tracks[buffer];
    const uint32_t self = (uint32_t)graph->n_calls + 1;
    if (t->seen != self) {
        t->seen = self;
        t->ref = (uint32_t)graph->n_refs++;
        graph->refs[t->ref] =
            (cebus_graph_ref){.buffer = buffer, .version = graph->buffers[buffer].n_writes};
        call->n_refs++;
    }
    return &graph->refs[t->ref];
}

static cebus_graph_verdict add_refs(maker *m, const cebus_advise_call *node, cebus_graph_call *call)
{
    cebus_graph *graph = m->graph;
    const uint32_t *in = in_of(m, node), *out = in + node->n_in;
    for (uint32_t i = 0; i < node->n_in; i++) {
        const uint32_t buffer = graph->home[in[i]];
        if (buffer == CEBUS_GRAPH_NONE || m->tracks[buffer].newest != in[i])
            return CEBUS_GRAPH_READ_EARLY;
        touch(m, call, buffer)->reads = true;
    }
    for (uint32_t i = 0; i < node->n_out; i++) {
        cebus_graph_verdict verdict = CEBUS_GRAPH_MADE;
        if (i >= node->n_written) {
            verdict = add_new(m, out[i]);
        } else if (out[i] != in[i]) {
            if (graph->home[out[i]] != CEBUS_GRAPH_NONE)
                return CEBUS_GRAPH_MADE_TWICE;
            if (m->source->values[out[i]].bytes != m->source->values[in[i]].bytes)
                return CEBUS_GRAPH_WRONG_WRITE;
            graph->home[out[i]] = graph->home[in[i]];
        }
        if (verdict != CEBUS_GRAPH_MADE)
            return verdict;
        cebus_buffer *buffer = &graph->buffers[graph->home[out[i]]];
        buffer->kept = buffer->kept || m->source->values[out[i]].kept;
        touch(m, call, graph->home[out[i]])->writes = true;
    }
    return CEBUS_GRAPH_MADE;
}

static void add_edge(maker *m, cebus_graph_call *call, uint32_t before)
{
    const uint32_t self = (uint32_t)m->graph->n_calls + 1;
    if (before == CEBUS_GRAPH_NONE || before + 1 == self || m->stamps[before] == self)
        return;
    m->stamps[before] = self;
    m->graph->preds[m->graph->n_edges++] = before;
    m->graph->calls[before].n_succs++;
    call->n_preds++;
}

/** Edges to what a call reads and overwrites; then the call is the newest of its buffers. */
static void add_edges(maker *m, const cebus_advise_call *node, cebus_graph_call *call)
{
    cebus_graph *graph = m->graph;
    const uint32_t self = (uint32_t)graph->n_calls, *readers = m->chain + m->source->n_refs;
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        const cebus_graph_ref *ref = &graph->refs[i];
        cebus_buffer *buffer = &graph->buffers[ref->buffer];
        track *t = &m->tracks[ref->buffer];
        add_edge(m, call, t->writer);
        if (!ref->writes) {
            m->chain[i] = t->reading;
            t->reading = i;
            continue;
        }
        for (uint32_t r = t->reading; r != CEBUS_GRAPH_NONE; r = m->chain[r])
            add_edge(m, call, readers[r]);
        t->reading = CEBUS_GRAPH_NONE;
        t->writer = self;
        if (buffer->maker == CEBUS_GRAPH_NONE)
            buffer->maker = self;
        buffer->n_writes++;
        buffer->rebuildable = buffer->n_writes == 1 && !buffer->persistent && !buffer->given &&
                              node->replayable && node->n_written == 0;
    }
    const uint32_t *in = in_of(m, node);
    for (uint32_t i = 0; i < node->n_written; i++)
        m->tracks[graph->home[in[i]]].newest = in[node->n_in + i];
}

static cebus_graph_verdict add_call(maker *m, const cebus_advise_call *node)
{
    cebus_graph *graph = m->graph;
    cebus_graph_call *call = &graph->calls[graph->n_calls];
    /* Blocks are placed by times: what a call that took none reads and makes would not meet. */
    const uint64_t cost = node->cost_ns > 0 ? node->cost_ns : 1;
    *call = (cebus_graph_call){.cost_ns = cost,
                               .workspace = node->workspace,
                               .ref = (uint32_t)graph->n_refs,
                               .pred = (uint32_t)graph->n_edges};
    uint32_t *readers = m->chain + m->source->n_refs;
    cebus_graph_verdict verdict = check_node(m->source, node);
    if (verdict == CEBUS_GRAPH_MADE)
        verdict = add_refs(m, node, call);
    if (verdict != CEBUS_GRAPH_MADE)
        return verdict;
    uint64_t need = node->workspace;
    graph->scratch = need > graph->scratch ? need : graph->scratch;
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        readers[i] = (uint32_t)graph->n_calls;
        need += graph->buffers[graph->refs[i].buffer].bytes;
    }
    if (need > graph->need) {
        graph->need = need;
        graph->neediest = (uint32_t)graph->n_calls;
    }
    add_edges(m, node, call);
    if (node->stateful) {
        add_edge(m, call, m->stateful);
        m->stateful = (uint32_t)graph->n_calls;
    }
    graph->ideal_ns += cost;
    graph->n_calls++;
    return CEBUS_GRAPH_MADE;
}

static void add_succs(cebus_graph *graph)
{
    uint32_t at = 0;
    for (size_t k = 0; k < graph->n_calls; k++) {
        graph->calls[k].succ = at;
        at += graph->calls[k].n_succs;
        graph->calls[k].n_succs = 0;
    }
    for (size_t k = 0; k < graph->n_calls; k++) {
        const cebus_graph_call *call = &graph->calls[k];
        for (uint32_t i = 0; i < call->n_preds; i++) {
            cebus_graph_call *before = &graph->calls[graph->preds[call->pred + i]];
            graph->succs[before->succ + before->n_succs++] = (uint32_t)k;
        }
    }
}

/** next: by buffer. */
static void find_overwriters(cebus_graph *graph, uint32_t *next)
{
    for (size_t i = 0; i < graph->n_buffers; i++)
        next[i] = CEBUS_GRAPH_NONE;
    for (size_t k = graph->n_calls; k-- > 0;) {
        const cebus_graph_call *call = &graph->calls[k];
        for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
            cebus_graph_ref *ref = &graph->refs[i];
            ref->over = next[ref->buffer];
            if (ref->writes)
                next[ref->buffer] = (uint32_t)k;
        }
    }
}

static bool is_too_large(const cebus_advise_program *source)
{
    uint64_t bytes = 0, ns = 0;
    if (source->n_calls > CEBUS_GRAPH_MAX_CALLS || source->n_refs > CEBUS_GRAPH_MAX_REFS ||
        source->n_values > CEBUS_GRAPH_MAX_REFS)
        return true;
    for (size_t i = 0; i < source->n_values; i++) {
        if (source->values[i].bytes > CEBUS_GRAPH_MAX_SUM - bytes)
            return true;
        bytes += source->values[i].bytes;
    }
    for (size_t i = 0; i < source->n_calls; i++) {
        const cebus_advise_call *call = &source->calls[i];
        if (call->cost_ns > CEBUS_GRAPH_MAX_SUM - ns || call->workspace > CEBUS_GRAPH_MAX_SUM)
            return true;
        ns += call->cost_ns;
    }
    return false;
}

static bool is_there(const cebus_advise_program *source)
{
    return source != NULL && (source->values != NULL || source->n_values == 0) &&
           (source->calls != NULL || source->n_calls == 0) &&
           (source->refs != NULL || source->n_refs == 0);
}

cebus_graph_verdict cebus_graph_make(const cebus_advise_program *source, cebus_shelf *shelf,
                                     cebus_graph *out, uint32_t *out_call)
{
    maker m = {.source = source, .graph = out, .shelf = shelf, .stateful = CEBUS_GRAPH_NONE};
    *out = (cebus_graph){0};
    *out_call = 0;
    if (!is_there(source))
        return CEBUS_GRAPH_NO_PROGRAM;
    if (is_too_large(source))
        return CEBUS_GRAPH_TOO_LARGE;
    /* Each read is the target of one edge from its writer and the source of one to the next; and
     * each call may follow the last that is stateful. */
    const size_t n_edges = 2 * source->n_refs + source->n_calls + 1;
    out->buffers = cebus_shelf_take(shelf, source->n_values, sizeof *out->buffers);
    out->calls = cebus_shelf_take(shelf, source->n_calls, sizeof *out->calls);
    out->refs = cebus_shelf_take(shelf, source->n_refs, sizeof *out->refs);
    out->home = cebus_shelf_take(shelf, source->n_values, sizeof *out->home);
    out->preds = cebus_shelf_take(shelf, n_edges, sizeof *out->preds);
    out->succs = cebus_shelf_take(shelf, n_edges, sizeof *out->succs);
    m.tracks = cebus_shelf_take(shelf, source->n_values, sizeof *m.tracks);
    m.chain = cebus_shelf_take(shelf, 2 * source->n_refs, sizeof *m.chain);
    uint32_t *next = cebus_shelf_take(shelf, source->n_values, sizeof *next);
    m.stamps = cebus_shelf_take(shelf, source->n_calls, sizeof *m.stamps);
    if (shelf->failed)
        return CEBUS_GRAPH_NO_HOST_MEMORY;
    add_outside(&m);
    for (size_t k = 0; k < source->n_calls; k++) {
        cebus_graph_verdict verdict = add_call(&m, &source->calls[k]);
        if (verdict != CEBUS_GRAPH_MADE) {
            *out_call = (uint32_t)k;
            return verdict;
        }
    }
    add_succs(out);
    find_overwriters(out, next);
    return CEBUS_GRAPH_MADE;
}
