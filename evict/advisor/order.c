#include "evict/advisor/order.h"

#include <string.h>

bool cebus_order_init(cebus_order *order, const cebus_graph *graph, cebus_shelf *shelf)
{
    const size_t n = graph->n_calls;
    *order = (cebus_order){.graph = graph};
    order->waits = cebus_shelf_take(shelf, n, sizeof *order->waits);
    order->place = cebus_shelf_take(shelf, n, sizeof *order->place);
    order->heap = cebus_shelf_take(shelf, n, sizeof *order->heap);
    order->index = cebus_shelf_take(shelf, n, sizeof *order->index);
    order->taken = cebus_shelf_take(shelf, n, sizeof *order->taken);
    return !shelf->failed;
}

uint64_t cebus_order_draw(uint64_t *random, uint64_t bound)
{
    uint64_t z = *random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % bound;
}

/* --- calls that could run, the earliest first ----------------------------------------------- */

static void put_at(cebus_order *order, size_t at, uint32_t call)
{
    order->heap[at] = call;
    order->index[call] = (uint32_t)at;
}

static void sift_up(cebus_order *order, size_t at, uint32_t call)
{
    while (at > 0 && order->place[order->heap[(at - 1) / 2]] > order->place[call]) {
        put_at(order, at, order->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    put_at(order, at, call);
}

static void sift_down(cebus_order *order, size_t at, uint32_t call)
{
    for (size_t child; (child = 2 * at + 1) < order->n_heap; at = child) {
        if (child + 1 < order->n_heap &&
            order->place[order->heap[child + 1]] < order->place[order->heap[child]])
            child++;
        if (order->place[order->heap[child]] >= order->place[call])
            break;
        put_at(order, at, order->heap[child]);
    }
    put_at(order, at, call);
}

static void push(cebus_order *order, uint32_t call)
{
    sift_up(order, order->n_heap++, call);
}

static uint32_t pull(cebus_order *order, size_t at)
{
    const uint32_t call = order->heap[at], last = order->heap[--order->n_heap];
    if (at == order->n_heap)
        return call;
    if (at > 0 && order->place[order->heap[(at - 1) / 2]] > order->place[last])
        sift_up(order, at, last);
    else
        sift_down(order, at, last);
    return call;
}

/** Nothing has run. `place` is set. */
static void begin(cebus_order *order)
{
    const cebus_graph *graph = order->graph;
    order->n_heap = 0;
    for (size_t k = 0; k < graph->n_calls; k++) {
        order->waits[k] = graph->calls[k].n_preds;
        if (order->waits[k] == 0)
            push(order, (uint32_t)k);
    }
}

static void ran(cebus_order *order, uint32_t call)
{
    const cebus_graph_call *c = &order->graph->calls[call];
    for (uint32_t i = 0; i < c->n_succs; i++) {
        const uint32_t next = order->graph->succs[c->succ + i];
        if (--order->waits[next] == 0)
            push(order, next);
    }
}

static void set_places(cebus_order *order, const uint32_t *calls)
{
    for (size_t k = 0; k < order->graph->n_calls; k++)
        order->place[calls[k]] = (uint32_t)k;
}

/* --- crossing, changing --------------------------------------------------------------------- */

bool cebus_order_is_valid(cebus_order *order, const uint32_t *calls)
{
    const cebus_graph *graph = order->graph;
    memset(order->taken, 0, graph->n_calls * sizeof *order->taken);
    for (size_t k = 0; k < graph->n_calls; k++) {
        if (calls[k] >= graph->n_calls || order->taken[calls[k]])
            return false;
        const cebus_graph_call *call = &graph->calls[calls[k]];
        for (uint32_t i = 0; i < call->n_preds; i++) {
            if (!order->taken[graph->preds[call->pred + i]])
                return false;
        }
        order->taken[calls[k]] = true;
    }
    return true;
}

void cebus_order_cross(cebus_order *order, const uint32_t *a, const uint32_t *b, size_t cut,
                       uint32_t *out)
{
    const size_t n = order->graph->n_calls;
    size_t at = 0;
    memset(order->taken, 0, n * sizeof *order->taken);
    for (; at < cut; at++) {
        out[at] = a[at];
        order->taken[a[at]] = true;
    }
    for (size_t k = 0; k < n; k++) {
        if (!order->taken[b[k]])
            out[at++] = b[k];
    }
}

void cebus_order_mutate(cebus_order *order, const uint32_t *old, uint32_t chance, uint64_t *random,
                        uint32_t *out)
{
    set_places(order, old);
    begin(order);
    for (size_t k = 0; k < order->graph->n_calls; k++) {
        size_t at = 0;
        if (cebus_order_draw(random, UINT64_C(1) << 32) < chance)
            at = (size_t)cebus_order_draw(random, order->n_heap);
        out[k] = pull(order, at);
        ran(order, out[k]);
    }
}

/* --- orders to start from ------------------------------------------------------------------- */

void cebus_order_program(const cebus_graph *graph, uint32_t *out)
{
    for (size_t k = 0; k < graph->n_calls; k++)
        out[k] = (uint32_t)k;
}

/** Whether all that a call writes was there before the iteration, and it writes something. */
static bool is_update(const cebus_graph *graph, size_t call)
{
    const cebus_graph_call *c = &graph->calls[call];
    bool writes = false;
    for (uint32_t i = c->ref; i < c->ref + c->n_refs; i++) {
        if (!graph->refs[i].writes)
            continue;
        if (!graph->buffers[graph->refs[i].buffer].persistent)
            return false;
        writes = true;
    }
    return writes;
}

/** A call waits for something: that is when it is prompt. What needs nothing keeps its time. */
static void run_prompt(cebus_order *order, uint32_t *out)
{
    begin(order);
    for (size_t k = 0; k < order->graph->n_calls; k++) {
        out[k] = pull(order, 0);
        ran(order, out[k]);
    }
}

void cebus_order_prompt(cebus_order *order, uint32_t *out)
{
    const cebus_graph *graph = order->graph;
    for (size_t k = 0; k < graph->n_calls; k++)
        order->place[k] = is_update(graph, k) && graph->calls[k].n_preds > 0 ? 0 : (uint32_t)k + 1;
    run_prompt(order, out);
}

/** The call at which most bytes of values that are no more than values live: before it is forward.
 */
static size_t find_turn(const cebus_graph *graph, uint32_t *last)
{
    uint64_t bytes = 0, most = 0;
    size_t turn = 0;
    for (size_t k = 0; k < graph->n_calls; k++) {
        const cebus_graph_call *call = &graph->calls[k];
        for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++)
            last[graph->refs[i].buffer] = (uint32_t)k;
    }
    for (size_t k = 0; k < graph->n_calls; k++) {
        const cebus_graph_call *call = &graph->calls[k];
        for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
            const cebus_graph_ref *ref = &graph->refs[i];
            const cebus_buffer *buffer = &graph->buffers[ref->buffer];
            const bool counts = !buffer->persistent && buffer->maker < k + 1;
            if (counts && buffer->maker == k)
                bytes += buffer->bytes;
            if (bytes > most) {
                most = bytes;
                turn = k;
            }
            if (counts && last[ref->buffer] == k)
                bytes -= buffer->bytes;
        }
    }
    return turn;
}

/** Roots of sets of calls, paths halved. */
static uint32_t root_of(uint32_t *parents, uint32_t i)
{
    while (parents[i] != i)
        i = parents[i] = parents[parents[i]];
    return i;
}

/** The call's largest persistent buffer of at least `large` bytes; NONE. */
static uint32_t weight_of(const cebus_graph *graph, size_t k, uint64_t large)
{
    const cebus_graph_call *call = &graph->calls[k];
    uint32_t best = CEBUS_GRAPH_NONE;
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        const cebus_buffer *buffer = &graph->buffers[graph->refs[i].buffer];
        if (buffer->persistent && buffer->bytes >= large &&
            (best == CEBUS_GRAPH_NONE || buffer->bytes > graph->buffers[best].bytes))
            best = graph->refs[i].buffer;
    }
    return best;
}

/** Which weights make a layer: those whose products meet at once before the turn, as those of a
 * cell's input and state do. parents: by buffer. */
static void join_weights(const cebus_graph *graph, uint64_t large, size_t turn, uint32_t *parents)
{
    for (size_t i = 0; i < graph->n_buffers; i++)
        parents[i] = (uint32_t)i;
    for (size_t k = 0; k <= turn && k < graph->n_calls; k++) {
        const cebus_graph_call *call = &graph->calls[k];
        uint32_t first = CEBUS_GRAPH_NONE;
        if (weight_of(graph, k, large) != CEBUS_GRAPH_NONE)
            continue;
        for (uint32_t i = 0; i < call->n_preds; i++) {
            const uint32_t theirs = weight_of(graph, graph->preds[call->pred + i], large);
            if (theirs != CEBUS_GRAPH_NONE && first != CEBUS_GRAPH_NONE)
                parents[root_of(parents, theirs)] = root_of(parents, first);
            if (theirs != CEBUS_GRAPH_NONE)
                first = theirs;
        }
    }
}

/**
 * Each call's layer: its weight's. Else, before the turn, that of the latest call it needs; after
 * it, that of the first call that needs it: what a cell's gradients are added up for is the product
 * with its weights, whereas they come from two layers.
 */
static void find_layers(const cebus_graph *graph, uint64_t large, uint32_t *parents, size_t turn,
                        uint32_t *groups)
{
    join_weights(graph, large, turn, parents);
    for (size_t k = 0; k < graph->n_calls; k++) {
        const cebus_graph_call *call = &graph->calls[k];
        const uint32_t weight = weight_of(graph, k, large);
        uint32_t latest = 0;
        groups[k] = weight != CEBUS_GRAPH_NONE ? root_of(parents, weight) : CEBUS_GRAPH_NONE;
        for (uint32_t i = 0; i < call->n_preds && weight == CEBUS_GRAPH_NONE && k <= turn; i++) {
            const uint32_t before = graph->preds[call->pred + i];
            if (groups[before] != CEBUS_GRAPH_NONE && before >= latest) {
                latest = before;
                groups[k] = groups[before];
            }
        }
    }
    for (size_t k = graph->n_calls; k-- > turn + 1;) {
        const cebus_graph_call *call = &graph->calls[k];
        for (uint32_t i = 0; i < call->n_succs && groups[k] == CEBUS_GRAPH_NONE; i++)
            groups[k] = groups[graph->succs[call->succ + i]];
    }
}

/** The first call of the layer under way that could run; else the first at all. Looks at most at
 * some: beyond these an order is as good as another. */
static size_t choose(const cebus_order *order, const uint32_t *groups, uint32_t layer)
{
    enum {
        MOST = 512
    };
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < order->n_heap && i < MOST; i++) {
        const uint32_t call = order->heap[i];
        const bool is_here = groups[call] == layer || order->place[call] == 0;
        if (is_here && (best == SIZE_MAX || order->place[call] < order->place[order->heap[best]]))
            best = i;
    }
    return best != SIZE_MAX ? best : 0;
}

void cebus_order_layers(cebus_order *order, uint64_t large, uint32_t *groups, uint32_t *out)
{
    const cebus_graph *graph = order->graph;
    uint32_t layer = CEBUS_GRAPH_NONE, *parents = groups + graph->n_calls;
    find_layers(graph, large, parents, find_turn(graph, parents), groups);
    for (size_t k = 0; k < graph->n_calls; k++)
        order->place[k] = is_update(graph, k) && graph->calls[k].n_preds > 0 ? 0 : (uint32_t)k + 1;
    begin(order);
    for (size_t k = 0; k < graph->n_calls; k++) {
        out[k] = pull(order, choose(order, groups, layer));
        layer = groups[out[k]];
        ran(order, out[k]);
    }
}

void cebus_order_begin(cebus_order *order)
{
    for (size_t k = 0; k < order->graph->n_calls; k++)
        order->place[k] = (uint32_t)k;
    begin(order);
}

uint32_t cebus_order_take(cebus_order *order, size_t at)
{
    const uint32_t call = pull(order, at);
    ran(order, call);
    return call;
}
