#include "evict/advisor/thrift.h"

#include <string.h>

/** Of the calls that could run it looks at so many. */
#define MOST 512

/** What is on the device so far. */
typedef struct cache {
    const cebus_graph *graph;
    uint64_t large, room, held;
    uint32_t *left;    /**< by buffer: calls that still use it */
    uint32_t *used;    /**< by buffer: the last time it was used, plus 1; 0: it is not here */
    uint32_t *members; /**< who is here */
    uint32_t n_members, now;
} cache;

static void count_uses(cache *c)
{
    const cebus_graph *graph = c->graph;
    memset(c->left, 0, graph->n_buffers * sizeof *c->left);
    memset(c->used, 0, graph->n_buffers * sizeof *c->used);
    for (size_t i = 0; i < graph->n_refs; i++)
        c->left[graph->refs[i].buffer]++;
}

/** No call uses it after this one, and nobody wants to have it. */
static bool ends(const cache *c, uint32_t buffer)
{
    const cebus_buffer *b = &c->graph->buffers[buffer];
    return c->left[buffer] == 1 && !b->persistent && !b->kept;
}

/** Bytes that a call brings here, less what goes with it. */
static int64_t price(const cache *c, uint32_t call)
{
    const cebus_graph_call *node = &c->graph->calls[call];
    int64_t bytes = 0;
    for (uint32_t i = node->ref; i < node->ref + node->n_refs; i++) {
        const uint32_t buffer = c->graph->refs[i].buffer;
        const uint64_t size = c->graph->buffers[buffer].bytes;
        if (size < c->large)
            continue;
        bytes += c->used[buffer] == 0 ? (int64_t)size : 0;
        bytes -= ends(c, buffer) ? (int64_t)size : 0;
    }
    return bytes;
}

static void drop(cache *c, uint32_t member)
{
    const uint32_t buffer = c->members[member];
    c->held -= c->graph->buffers[buffer].bytes;
    c->used[buffer] = 0;
    c->members[member] = c->members[--c->n_members];
}

/** What was used least recently goes, until the rest fits. */
static void shrink(cache *c)
{
    while (c->held > c->room && c->n_members > 1) {
        uint32_t oldest = 0;
        for (uint32_t i = 1; i < c->n_members; i++) {
            if (c->used[c->members[i]] < c->used[c->members[oldest]])
                oldest = i;
        }
        drop(c, oldest);
    }
}

static void run(cache *c, uint32_t call)
{
    const cebus_graph_call *node = &c->graph->calls[call];
    c->now++;
    for (uint32_t i = node->ref; i < node->ref + node->n_refs; i++) {
        const uint32_t buffer = c->graph->refs[i].buffer;
        if (c->graph->buffers[buffer].bytes >= c->large) {
            if (c->used[buffer] == 0) {
                c->members[c->n_members++] = buffer;
                c->held += c->graph->buffers[buffer].bytes;
            }
            c->used[buffer] = c->now;
            for (uint32_t k = 0; ends(c, buffer) && k < c->n_members; k++) {
                if (c->members[k] == buffer)
                    drop(c, k);
            }
        }
        c->left[buffer]--;
    }
    shrink(c);
}

/** Index in the heap of those that could run. */
static size_t choose(const cache *c, const cebus_order *order)
{
    size_t best = 0;
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < order->n_heap && i < MOST; i++) {
        const int64_t bytes = price(c, order->heap[i]);
        if (bytes < least || (bytes == least && order->heap[i] < order->heap[best])) {
            least = bytes;
            best = i;
        }
    }
    return best;
}

void cebus_thrift_order(cebus_order *order, uint64_t large, uint64_t room, uint32_t *work,
                        uint32_t *out)
{
    const cebus_graph *graph = order->graph;
    cache c = {.graph = graph,
               .large = large,
               .room = room,
               .left = work,
               .used = work + graph->n_buffers,
               .members = work + 2 * graph->n_buffers};
    count_uses(&c);
    cebus_order_begin(order);
    for (size_t k = 0; k < graph->n_calls; k++) {
        out[k] = cebus_order_take(order, choose(&c, order));
        run(&c, out[k]);
    }
}
