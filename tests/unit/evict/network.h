/**
 * network.h: programs for the advisor: a network of layers forward and backward, and calls drawn at
 * random from `state`. For inclusion by one test program.
 */
#ifndef CEBUS_TESTS_UNIT_EVICT_NETWORK_H
#define CEBUS_TESTS_UNIT_EVICT_NETWORK_H

#include <string.h>

#include <cebus/advise.h>

#include "evict/advisor/order.h"

enum {
    MAX_CALLS = 256,
    MAX_VALUES = 1024,
    MAX_REFS = 4096
};

typedef struct network {
    cebus_advise_value values[MAX_VALUES];
    cebus_advise_call calls[MAX_CALLS];
    uint32_t refs[MAX_REFS];
    cebus_advise_program program;
} network;

static inline void begin(network *n)
{
    memset(n, 0, sizeof *n);
    n->program = (cebus_advise_program){.values = n->values, .calls = n->calls, .refs = n->refs};
}

static inline uint32_t add_value(network *n, uint64_t bytes, bool persistent)
{
    n->values[n->program.n_values] = (cebus_advise_value){.bytes = bytes, .persistent = persistent};
    return (uint32_t)n->program.n_values++;
}

static inline void add_ref(network *n, uint32_t value)
{
    n->refs[n->program.n_refs++] = value;
}

/** A call whose refs were added last. */
static inline void add_call(network *n, uint64_t cost, uint32_t n_in, uint32_t n_out,
                            uint32_t n_written)
{
    n->calls[n->program.n_calls++] = (cebus_advise_call){.cost_ns = cost,
                                                         .refs = n->program.n_refs - n_in - n_out,
                                                         .n_in = n_in,
                                                         .n_out = n_out,
                                                         .n_written = n_written,
                                                         .replayable = true};
}

/** A network of `depth` layers that trains: x' = f(x, w), then gradients back and w updated. */
static inline void make_network(network *n, uint32_t depth, uint64_t bytes, uint64_t cost)
{
    uint32_t x[32], w[32], g;
    begin(n);
    for (uint32_t i = 0; i < depth; i++)
        w[i] = add_value(n, bytes / 2, true);
    x[0] = add_value(n, bytes, false);
    n->values[x[0]].given = true;
    for (uint32_t i = 0; i < depth; i++) {
        x[i + 1] = add_value(n, bytes, false);
        add_ref(n, x[i]);
        add_ref(n, w[i]);
        add_ref(n, x[i + 1]);
        add_call(n, cost, 2, 1, 0);
    }
    g = add_value(n, bytes, false);
    add_ref(n, x[depth]);
    add_ref(n, g);
    add_call(n, cost, 1, 1, 0);
    for (uint32_t i = depth; i-- > 0;) {
        const uint32_t dw = add_value(n, bytes / 2, false), next = add_value(n, bytes, false);
        const uint32_t in[] = {g, x[i], w[i], next, dw};
        for (size_t k = 0; k < 5; k++)
            add_ref(n, in[k]);
        add_call(n, 2 * cost, 3, 2, 0);
        const uint32_t update[] = {w[i], dw, w[i]};
        for (size_t k = 0; k < 3; k++)
            add_ref(n, update[k]);
        add_call(n, cost / 4, 2, 1, 1);
        g = next;
    }
}

static uint64_t state;

static inline uint32_t draw(uint32_t bound)
{
    return (uint32_t)cebus_order_draw(&state, bound);
}

/** Calls that read what lives, write some of it in place, make something. */
static inline void make_random(network *n, uint32_t n_calls)
{
    uint32_t live[MAX_VALUES], n_live = 0;
    begin(n);
    for (uint32_t i = 0; i < 4; i++) {
        live[n_live++] = add_value(n, 1000000 * (1 + draw(8)), i < 2);
        n->values[i].given = i >= 2;
    }
    for (uint32_t k = 0; k < n_calls; k++) {
        const uint32_t n_in = 1 + draw(n_live < 3 ? n_live : 3),
                       first = (uint32_t)n->program.n_refs;
        for (uint32_t i = 0; i < n_in; i++) { /* distinct: moved to the end of those that live */
            const uint32_t at = draw(n_live - i), last = n_live - 1 - i, value = live[at];
            live[at] = live[last];
            live[last] = value;
            add_ref(n, value);
        }
        const bool writes = draw(4) == 0;
        uint32_t n_out = 0;
        if (writes) {
            const uint32_t old = n->refs[first];
            uint32_t fresh = old;
            if (!n->values[old].persistent) {
                fresh = add_value(n, n->values[old].bytes, false);
                live[n_live - 1] = fresh;
            }
            add_ref(n, fresh);
            n_out++;
        }
        if (!writes || draw(2) == 0) {
            const uint32_t made = add_value(n, 1000000 * (1 + draw(8)), false);
            add_ref(n, made);
            live[n_live++] = made;
            n_out++;
        }
        add_call(n, 50000 + draw(400000), n_in, n_out, writes);
        n->calls[k].replayable = draw(5) != 0;
        n->calls[k].workspace = draw(6) == 0 ? 500000 : 0;
        while (n_live > 24) /* forgotten: never read again */
        {
            n_live--;
            live[draw(n_live + 1)] = live[n_live];
        }
    }
    for (uint32_t i = 0; i < n_live; i++)
        n->values[live[i]].kept = draw(8) == 0;
}

#endif
