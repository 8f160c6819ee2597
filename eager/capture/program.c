/**
 * program.c: captured calls as a program for cebus_advise().
 *
 * A write in place is one there, too, unless the program reads the old value later on (what a
 * gradient saved before the write): then a launch has both, and the new value has bytes of its own.
 */
#include "eager/capture/capture.h"
#include "eager/launch.h"

static bool take_room(cebus_capture *c)
{
    cebus_pool *pool = &c->rt->pool;
    c->most_in = 1;
    for (size_t k = 0; k < c->n_calls; k++) {
        if (c->calls[k].call->n_in > c->most_in)
            c->most_in = c->calls[k].call->n_in;
    }
    c->program_values = cebus_pool_alloc(pool, c->n_values * sizeof *c->program_values);
    c->program_calls = cebus_pool_alloc(pool, c->n_calls * sizeof *c->program_calls);
    c->program_refs = cebus_pool_alloc(pool, c->n_refs * sizeof *c->program_refs);
    c->order = cebus_pool_alloc(pool, c->n_calls * sizeof *c->order);
    c->views = cebus_pool_alloc(pool, c->most_in * sizeof *c->views);
    c->in = cebus_pool_alloc(pool, c->most_in * sizeof(cebus_tensor *));
    return c->program_values != NULL && c->program_calls != NULL && c->program_refs != NULL &&
           c->order != NULL && c->views != NULL && c->in != NULL;
}

void cebus_capture_strip(cebus_capture *c)
{
    cebus_pool *pool = &c->rt->pool;
    cebus_pool_free_object(pool, c->program_values, c->n_values * sizeof *c->program_values);
    cebus_pool_free_object(pool, c->program_calls, c->n_calls * sizeof *c->program_calls);
    cebus_pool_free_object(pool, c->program_refs, c->n_refs * sizeof *c->program_refs);
    cebus_pool_free_object(pool, c->order, c->n_calls * sizeof *c->order);
    cebus_pool_free_object(pool, c->views, c->most_in * sizeof *c->views);
    cebus_pool_free_object(pool, c->in, c->most_in * sizeof(cebus_tensor *));
    c->program_values = NULL;
    c->program_calls = NULL;
    c->program_refs = c->order = NULL;
    c->views = NULL;
    c->in = NULL;
}

static bool is_persistent(const cebus_storage *storage)
{
    return storage->persistent ||
           (storage->now->zone == CEBUS_ZONE_PERSISTENT && !storage->now->gradient);
}

void cebus_capture_label(cebus_capture *capture)
{
    for (size_t i = 0; i < capture->n_values; i++) {
        const cebus_captured_value *value = &capture->values[i];
        bool input = value->maker == CEBUS_CAPTURE_NONE;
        bool persistent = input && is_persistent(value->storage);
        capture->program_values[i] = (cebus_advise_value){
            .bytes = value->bytes,
            .persistent = persistent,
            .given = input && !persistent,
            .kept = value->held && value->under == CEBUS_CAPTURE_NONE && !persistent};
    }
}

/** The last call that reads each value, in `left`; how many do. */
static void count_reads(cebus_capture *capture)
{
    for (size_t i = 0; i < capture->n_values; i++)
        capture->values[i].reads = capture->values[i].left = 0;
    for (size_t k = 0; k < capture->n_calls; k++) {
        const cebus_captured_call *taken = &capture->calls[k];
        for (uint32_t i = 0; i < taken->call->n_in; i++) {
            uint32_t v = capture->refs[taken->refs + i];
            if (v == CEBUS_CAPTURE_NONE)
                continue;
            cebus_captured_value *value = &capture->values[v];
            value->reads += value->reads == 0 || value->left != k;
            value->left = (uint32_t)k;
        }
    }
}

/** In how many calls of an iteration the state of each step is written by steps: the last that it
 * writes tells them from those of other optimizers. Counts in `left` of a buffer's first value. */
static void count_turns(cebus_capture *capture)
{
    for (size_t i = 0; i < capture->n_values; i++)
        capture->values[i].left = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t k = 0; k < capture->n_calls; k++) {
            cebus_captured_call *taken = &capture->calls[k];
            const cebus_call *call = taken->call;
            if ((((const cebus_op *)call->op)->flags & CEBUS_OP_UPDATE) == 0)
                continue;
            uint32_t first = capture->refs[taken->refs + call->n_in + call->n_out - 1];
            while (capture->values[first].over != CEBUS_CAPTURE_NONE)
                first = capture->values[first].over;
            if (pass == 0)
                capture->values[first].left++;
            taken->turns = capture->values[first].left;
        }
    }
}

static bool has(const uint32_t *values, uint32_t n, uint32_t value)
{
    for (uint32_t i = 0; i < n; i++) {
        if (values[i] == value)
            return true;
    }
    return false;
}

/** Whether the call ends the value it overwrites. */
static bool writes_over(const cebus_capture *capture, size_t k, uint32_t made)
{
    uint32_t over = capture->values[made].over;
    return over != CEBUS_CAPTURE_NONE && capture->values[over].left == k;
}

static uint64_t workspace_of(cebus_runtime *rt, const cebus_call *call)
{
    cebus_prepared prepared;
    cebus_op_entry *entry;
    if (cebus_op_entry_find(rt, call->op, &entry) != CEBUS_OK || entry->kernel->workspace == NULL)
        return 0;
    cebus_launch_prepare(rt, call, &prepared);
    return entry->kernel->workspace(&prepared.launch);
}

static void describe_call(cebus_capture *capture, size_t k, size_t *at)
{
    const cebus_call *call = capture->calls[k].call;
    const cebus_op *op = call->op;
    const uint32_t *refs = capture->refs + capture->calls[k].refs, *made = refs + call->n_in;
    uint32_t *in = capture->program_refs + *at, n_in = 0, n_out = 0, n_written = 0;
    for (uint32_t j = 0; j < call->n_out; j++) {
        if (writes_over(capture, k, made[j]))
            in[n_in++] = capture->values[made[j]].over;
    }
    n_written = n_in;
    for (uint32_t i = 0; i < call->n_in; i++) {
        if (refs[i] != CEBUS_CAPTURE_NONE && !has(in, n_in, refs[i]))
            in[n_in++] = refs[i];
    }
    for (uint32_t turn = 0; turn < 2; turn++) { /* what is written over comes first */
        for (uint32_t j = 0; j < call->n_out; j++) {
            if (writes_over(capture, k, made[j]) == (turn == 0))
                in[n_in + n_out++] = made[j];
        }
    }
    capture->program_calls[k] =
        (cebus_advise_call){.cost_ns = call->cost_ns,
                            .workspace = workspace_of(capture->rt, call),
                            .refs = *at,
                            .n_in = n_in,
                            .n_out = n_out,
                            .n_written = n_written,
                            .replayable = op->mutates == 0 && !(op->flags & CEBUS_OP_NONREPLAYABLE),
                            .stateful = (op->flags & CEBUS_OP_NONREPLAYABLE) != 0};
    capture->calls[k].costs[0] = capture->calls[k].costs[1] = call->cost_ns;
    *at += n_in + n_out;
}

bool cebus_capture_describe(cebus_capture *capture)
{
    size_t at = 0;
    if (!take_room(capture)) {
        cebus_capture_strip(capture);
        return false;
    }
    count_turns(capture);
    count_reads(capture);
    for (size_t k = 0; k < capture->n_calls; k++) {
        describe_call(capture, k, &at);
        capture->order[k] = (uint32_t)k;
    }
    capture->program = (cebus_advise_program){.values = capture->program_values,
                                              .calls = capture->program_calls,
                                              .refs = capture->program_refs,
                                              .n_values = capture->n_values,
                                              .n_calls = capture->n_calls,
                                              .n_refs = at};
    return true;
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

void cebus_capture_learn(cebus_capture *capture, uint32_t k, uint64_t ns)
{
    uint64_t *costs = capture->calls[k].costs;
    capture->program_calls[k].cost_ns = median(costs[0], costs[1], ns);
    costs[0] = costs[1];
    costs[1] = ns;
}

const cebus_advise_program *cebus_capture_program(const cebus_capture *capture)
{
    return capture != NULL ? &capture->program : NULL;
}

const char *cebus_capture_call_name(const cebus_capture *capture, size_t i)
{
    if (capture == NULL || i >= capture->n_calls)
        return "";
    return ((const cebus_op *)capture->calls[i].call->op)->name;
}
