#include "evict/advisor/unfold.h"

#include <string.h>

/** Of a buffer, while steps are laid out; then, from the end: whether its next use makes it. */
enum {
    DROPPED = 1
};

bool cebus_unfold_init(cebus_unfold *unfold, const cebus_graph *graph, cebus_shelf *shelf)
{
    const size_t n = graph->n_buffers;
    *unfold = (cebus_unfold){.graph = graph};
    unfold->steps_room = graph->n_calls + n;
    unfold->uses_room = 3 * graph->n_refs;
    unfold->steps = cebus_shelf_take(shelf, unfold->steps_room, sizeof *unfold->steps);
    unfold->uses = cebus_shelf_take(shelf, unfold->uses_room, sizeof *unfold->uses);
    unfold->first = cebus_shelf_take(shelf, n, sizeof *unfold->first);
    unfold->drop = cebus_shelf_take(shelf, n, sizeof *unfold->drop);
    unfold->version = cebus_shelf_take(shelf, n, sizeof *unfold->version);
    unfold->stack = cebus_shelf_take(shelf, n, sizeof *unfold->stack);
    unfold->back = cebus_shelf_take(shelf, n, sizeof *unfold->back);
    unfold->place = cebus_shelf_take(shelf, graph->n_calls, sizeof *unfold->place);
    unfold->idle = cebus_shelf_take(shelf, n, sizeof *unfold->idle);
    unfold->seen = cebus_shelf_take(shelf, n, sizeof *unfold->seen);
    unfold->state = cebus_shelf_take(shelf, n, sizeof *unfold->state);
    return !shelf->failed;
}

/** drop: the position in the order after which each buffer to be remade lies idle longest; back:
 * that of the use which ends this. `first` is the last use so far, here. */
static void find_drops(cebus_unfold *unfold, const uint32_t *order, const uint8_t *remakes)
{
    const cebus_graph *graph = unfold->graph;
    uint64_t now = 0;
    memset(unfold->first, 0xff, graph->n_buffers * sizeof *unfold->first);
    memset(unfold->drop, 0xff, graph->n_buffers * sizeof *unfold->drop);
    memset(unfold->idle, 0, graph->n_buffers * sizeof *unfold->idle);
    if (remakes == NULL)
        return;
    for (uint32_t k = 0; k < graph->n_calls; k++) {
        const cebus_graph_call *call = &graph->calls[order[k]];
        unfold->place[order[k]] = k;
        for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
            const uint32_t b = graph->refs[i].buffer;
            if (!remakes[b])
                continue;
            if (unfold->first[b] != CEBUS_GRAPH_NONE && now - unfold->seen[b] > unfold->idle[b]) {
                unfold->idle[b] = now - unfold->seen[b];
                unfold->drop[b] = unfold->first[b];
                unfold->back[b] = k;
            }
            unfold->first[b] = k;
            unfold->seen[b] = now + call->cost_ns;
        }
        now += call->cost_ns;
    }
}

/** Those whose calls could not run again by then, as something they read is overwritten. */
static void clear_lost(cebus_unfold *unfold, uint8_t *remakes)
{
    const cebus_graph *graph = unfold->graph;
    for (size_t b = 0; remakes != NULL && b < graph->n_buffers; b++) {
        if (!remakes[b] || unfold->drop[b] == CEBUS_GRAPH_NONE)
            continue;
        const cebus_graph_call *call = &graph->calls[graph->buffers[b].maker];
        for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
            const cebus_graph_ref *ref = &graph->refs[i];
            if (!ref->reads || ref->over == CEBUS_GRAPH_NONE ||
                unfold->place[ref->over] > unfold->back[b])
                continue;
            remakes[b] = 0;
            unfold->drop[b] = CEBUS_GRAPH_NONE;
            break;
        }
    }
}

static void add_use(cebus_unfold *unfold, cebus_step *step, uint32_t buffer, uint32_t flags)
{
    unfold->uses[unfold->n_uses++] = (cebus_use){.buffer = buffer, .flags = flags};
    step->n_uses++;
}

static cebus_step *add_step(cebus_unfold *unfold, uint32_t k, bool again)
{
    const cebus_graph_call *call = &unfold->graph->calls[k];
    cebus_step *step = &unfold->steps[unfold->n_steps++];
    *step = (cebus_step){.cost_ns = call->cost_ns,
                         .scratch = call->workspace,
                         .call = k,
                         .use = (uint32_t)unfold->n_uses,
                         .again = again};
    return step;
}

/** The call again: makes what is dropped of its outputs; the others go to scratch. */
static void add_again(cebus_unfold *unfold, uint32_t k)
{
    const cebus_graph *graph = unfold->graph;
    const cebus_graph_call *call = &graph->calls[k];
    cebus_step *step = add_step(unfold, k, true);
    unfold->n_again += call->n_refs;
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        const cebus_graph_ref *ref = &graph->refs[i];
        if (!ref->writes) {
            add_use(unfold, step, ref->buffer, CEBUS_USE_READS);
        } else if (unfold->state[ref->buffer] == DROPPED) {
            unfold->state[ref->buffer] = 0;
            add_use(unfold, step, ref->buffer, CEBUS_USE_MAKES | CEBUS_USE_WRITES);
        } else {
            step->scratch += graph->buffers[ref->buffer].bytes;
        }
    }
}

/** Something that the call reads and that is dropped; NONE: nothing is. False in *out_ok: something
 * was overwritten since. */
static uint32_t missing(const cebus_unfold *unfold, uint32_t k, bool *out_ok)
{
    const cebus_graph *graph = unfold->graph;
    const cebus_graph_call *call = &graph->calls[k];
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        const cebus_graph_ref *ref = &graph->refs[i];
        if (!ref->reads)
            continue;
        if (unfold->version[ref->buffer] != ref->version)
            *out_ok = false;
        else if (unfold->state[ref->buffer] == DROPPED)
            return ref->buffer;
    }
    return CEBUS_GRAPH_NONE;
}

/** Makes a dropped buffer again, after what it is made from. */
static bool remake(cebus_unfold *unfold, uint32_t buffer)
{
    const cebus_graph *graph = unfold->graph;
    size_t n = 0;
    unfold->stack[n++] = buffer;
    while (n > 0) {
        const uint32_t b = unfold->stack[n - 1], k = graph->buffers[b].maker;
        bool ok = true;
        uint32_t before = unfold->state[b] == DROPPED ? missing(unfold, k, &ok) : CEBUS_GRAPH_NONE;
        if (!ok || unfold->n_again + graph->calls[k].n_refs > 2 * graph->n_refs) {
            unfold->failed = b;
            return false;
        }
        if (before != CEBUS_GRAPH_NONE) {
            unfold->stack[n++] = before;
            continue;
        }
        if (unfold->state[b] == DROPPED)
            add_again(unfold, k);
        n--;
    }
    return true;
}

/** The call at a position of the order, after all that has to be made again for it. */
static bool add_call(cebus_unfold *unfold, uint32_t k, uint32_t position)
{
    const cebus_graph *graph = unfold->graph;
    const cebus_graph_call *call = &graph->calls[k];
    bool ok = true;
    for (uint32_t b; (b = missing(unfold, k, &ok)) != CEBUS_GRAPH_NONE;) {
        if (!remake(unfold, b))
            return false;
    }
    cebus_step *step = add_step(unfold, k, false);
    for (uint32_t i = call->ref; i < call->ref + call->n_refs; i++) {
        const cebus_graph_ref *ref = &graph->refs[i];
        const cebus_buffer *buffer = &graph->buffers[ref->buffer];
        const bool makes =
            ref->writes && buffer->maker == k && !buffer->persistent && !buffer->given;
        add_use(unfold, step, ref->buffer,
                (ref->reads ? CEBUS_USE_READS : 0u) | (makes ? CEBUS_USE_MAKES : 0u) |
                    (ref->writes ? CEBUS_USE_WRITES : 0u));
        unfold->version[ref->buffer] += ref->writes;
        if (unfold->drop[ref->buffer] == position)
            unfold->state[ref->buffer] = DROPPED;
    }
    return true;
}

static bool lay_out(cebus_unfold *unfold, const uint32_t *order)
{
    const cebus_graph *graph = unfold->graph;
    unfold->n_steps = unfold->n_uses = unfold->n_again = 0;
    memset(unfold->version, 0, graph->n_buffers * sizeof *unfold->version);
    memset(unfold->state, 0, graph->n_buffers * sizeof *unfold->state);
    for (size_t k = 0; k < graph->n_calls; k++) {
        if (!add_call(unfold, order[k], (uint32_t)k))
            return false;
    }
    return true;
}

/** Each use's next one, from the end; `drop` is the next use so far, `state` whether it makes. */
static void link_uses(cebus_unfold *unfold)
{
    const cebus_graph *graph = unfold->graph;
    const uint32_t n = (uint32_t)unfold->n_steps;
    memset(unfold->first, 0xff, graph->n_buffers * sizeof *unfold->first);
    memset(unfold->drop, 0xff, graph->n_buffers * sizeof *unfold->drop);
    for (uint32_t k = n; k-- > 0;) {
        for (uint32_t i = 0; i < unfold->steps[k].n_uses; i++)
            unfold->first[unfold->uses[unfold->steps[k].use + i].buffer] = k;
    }
    unfold->run_ns = 0;
    for (uint32_t k = n; k-- > 0;) {
        unfold->run_ns += unfold->steps[k].cost_ns;
        for (uint32_t i = 0; i < unfold->steps[k].n_uses; i++) {
            cebus_use *use = &unfold->uses[unfold->steps[k].use + i];
            const cebus_buffer *buffer = &graph->buffers[use->buffer];
            use->next = unfold->drop[use->buffer];
            if (use->next == CEBUS_GRAPH_NONE && buffer->persistent)
                use->next = n + unfold->first[use->buffer];
            else if (use->next == CEBUS_GRAPH_NONE && buffer->kept)
                use->next = 2 * n;
            else if (use->next == CEBUS_GRAPH_NONE || unfold->state[use->buffer])
                use->flags |= CEBUS_USE_LAST;
            unfold->drop[use->buffer] = k;
            unfold->state[use->buffer] = (use->flags & CEBUS_USE_MAKES) != 0;
        }
    }
}

void cebus_unfold_make(cebus_unfold *unfold, const uint32_t *order, uint8_t *remakes)
{
    enum {
        TRIES = 64
    };
    const cebus_graph *graph = unfold->graph;
    if (remakes != NULL && memchr(remakes, 1, graph->n_buffers) == NULL)
        remakes = NULL;
    for (int tries = 0;; tries++) {
        find_drops(unfold, order, remakes);
        clear_lost(unfold, remakes);
        if (lay_out(unfold, order))
            break;
        remakes[unfold->failed] = 0;
        if (tries == TRIES)
            memset(remakes, 0, graph->n_buffers);
    }
    link_uses(unfold);
}
