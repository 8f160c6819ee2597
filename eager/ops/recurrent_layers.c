/**
 * recurrent_layers.c: LSTM and GRU over time, as calls of public ops and of recurrent steps. What
 * is held between steps are handles, so that any step's values may be given up meanwhile.
 */
#include <stdio.h>
#include <string.h>

#include <cebus/ops/fill.h>
#include <cebus/ops/join.h>
#include <cebus/ops/matmul.h>
#include <cebus/ops/random.h>

#include "eager/composite.h"
#include "eager/ops/recurrent.h"
#include "eager/view.h"

/* One call of cebus_lstm() or cebus_gru(). */
typedef struct network {
    cebus_runtime *rt;
    const cebus_recurrent_kind *kind;
    const cebus_recurrent_weights *weights;
    cebus_recurrent_options options;
    int directions, cells; /* cells: layers x directions */
    int64_t steps;
    cebus_recurrent_state start;  /* [cells, .., H] */
    cebus_tensor **outputs;       /* h of every step, of the direction that runs */
    cebus_recurrent_state *final; /* of every cell */
} network;

static void release_all(cebus_tensor **tensors, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cebus_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

/* ---- checks ------------------------------------------------------------------------------ */

static cebus_status check_options(const network *net)
{
    const cebus_recurrent_options *o = &net->options;
    if (o->num_layers < 1 || o->num_layers > CEBUS_MAX_JOIN / 2)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, net->kind->name,
                          "num_layers is %d: give 1 to %d (0: one)", o->num_layers,
                          CEBUS_MAX_JOIN / 2);
    if (!(o->dropout >= 0 && o->dropout <= 1))
        return cebus_fail(CEBUS_INVALID_ARGUMENT, net->kind->name,
                          "dropout is %g: give a probability in [0, 1]", o->dropout);
    return CEBUS_OK;
}

static cebus_status check_x(const network *net, const cebus_view *x)
{
    if (x->ndim != 2 && x->ndim != 3)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, net->kind->name,
                          "x is %s, expected [steps, batch, features] or [steps, features]",
                          CEBUS_SHAPE(x));
    int64_t steps = x->shape[net->options.batch_first && x->ndim == 3 ? 1 : 0];
    if (steps < 1 || steps > CEBUS_MAX_JOIN)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, net->kind->name,
                          "x %s has %lld steps: give 1 to %d", CEBUS_SHAPE(x), (long long)steps,
                          CEBUS_MAX_JOIN);
    return CEBUS_OK;
}

/* All cells must have one hidden size, answered in *out_hidden. */
static cebus_status check_weights(const network *net, const cebus_view *x, int64_t *out_hidden)
{
    char where[48];
    cebus_recurrent_check check = {net->kind->name, where, net->kind, x->dtype,
                                   x->shape[x->ndim - 1]};
    for (int i = 0; i < net->cells; i++) {
        int64_t hidden;
        int layer = i / net->directions;
        snprintf(where, sizeof where, "layer %d%s: ", layer,
                 i % net->directions ? " backward" : "");
        if (layer > 0)
            check.inputs = net->directions * *out_hidden;
        cebus_status status = cebus_recurrent_check_weights(&check, &net->weights[i], &hidden);
        if (status != CEBUS_OK)
            return status;
        if (i == 0)
            *out_hidden = hidden;
        if (hidden != *out_hidden)
            return cebus_fail(CEBUS_SHAPE_MISMATCH, net->kind->name,
                              "%sthe hidden size is %lld, that of layer 0 is %lld", where,
                              (long long)hidden, (long long)*out_hidden);
    }
    return CEBUS_OK;
}

/* ---- state ------------------------------------------------------------------------------- */

/* The given state [cells, .., H] retained, or zeros. */
static cebus_status take_state(const network *net, const cebus_view *want, cebus_tensor *given,
                               cebus_tensor **out)
{
    if (given == NULL)
        return cebus_zeros(net->rt, want->dtype, want->ndim, want->shape, out);
    const cebus_view *got = cebus_tensor_view(given);
    if (got->dtype != want->dtype)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, net->kind->name,
                          "the state is %s, x is %s: cebus_cast() one of them",
                          cebus_dtype_name(got->dtype), cebus_dtype_name(want->dtype));
    if (!cebus_view_same_shape(got, want))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, net->kind->name, "the state is %s, expected %s",
                          CEBUS_SHAPE(got), CEBUS_SHAPE(want));
    *out = cebus_tensor_retain(given);
    return CEBUS_OK;
}

static cebus_status take_states(network *net, const cebus_view *x, int64_t hidden,
                                const cebus_recurrent_state *given)
{
    int64_t shape[3] = {net->cells, x->shape[net->options.batch_first ? 0 : 1], hidden};
    cebus_view want;
    if (x->ndim == 2)
        shape[1] = hidden;
    cebus_view_contiguous(&want, x->dtype, x->ndim, shape);
    cebus_status status = take_state(net, &want, given->h, &net->start.h);
    if (status == CEBUS_OK && net->kind->has_c)
        status = take_state(net, &want, given->c, &net->start.c);
    return status;
}

static cebus_status first_state(const network *net, int cell, cebus_recurrent_state *out)
{
    cebus_status status = cebus_select(net->rt, net->start.h, 0, cell, &out->h);
    if (status == CEBUS_OK && net->kind->has_c)
        status = cebus_select(net->rt, net->start.c, 0, cell, &out->c);
    return status;
}

/* ---- time -------------------------------------------------------------------------------- */

/* Step t: the state moves on and its h is kept. */
static cebus_status run_step(network *net, int cell, cebus_tensor *x_parts, int64_t t,
                             cebus_recurrent_state *state)
{
    cebus_tensor *x_part;
    cebus_recurrent_state next;
    cebus_status status = cebus_select(net->rt, x_parts, 0, t, &x_part);
    if (status != CEBUS_OK)
        return status;
    status = cebus_recurrent_step(net->rt, net->kind, x_part, state, &net->weights[cell], &next);
    cebus_tensor_release(x_part);
    if (status != CEBUS_OK)
        return status;
    cebus_recurrent_state_release(state);
    *state = next;
    net->outputs[t] = cebus_tensor_retain(next.h);
    return CEBUS_OK;
}

/* One cell over all of x [T, .., I]: its h of every step, [T, .., H]. */
static cebus_status run_cell(network *net, int cell, cebus_tensor *x, cebus_tensor **out)
{
    const cebus_recurrent_weights *w = &net->weights[cell];
    const bool backward = cell % net->directions;
    cebus_recurrent_state *state = &net->final[cell];
    cebus_tensor *x_parts = NULL;
    cebus_status status = first_state(net, cell, state);
    if (status == CEBUS_OK)
        status = cebus_linear(net->rt, x, w->w_ih, w->b_ih, &x_parts);
    for (int64_t i = 0; i < net->steps && status == CEBUS_OK; i++)
        status = run_step(net, cell, x_parts, backward ? net->steps - 1 - i : i, state);
    cebus_tensor_release(x_parts);
    if (status == CEBUS_OK)
        status = cebus_stack(net->rt, net->outputs, (size_t)net->steps, 0, out);
    release_all(net->outputs, (size_t)net->steps);
    return status;
}

static cebus_status run_layer(network *net, int layer, cebus_tensor *x, cebus_tensor **out)
{
    cebus_tensor *both[2] = {NULL, NULL};
    cebus_status status = CEBUS_OK;
    for (int d = 0; d < net->directions && status == CEBUS_OK; d++)
        status = run_cell(net, layer * net->directions + d, x, &both[d]);
    if (status == CEBUS_OK && net->directions == 2)
        status = cebus_cat(net->rt, both, 2, -1, out);
    else if (status == CEBUS_OK)
        *out = cebus_tensor_retain(both[0]);
    release_all(both, 2);
    return status;
}

/* Replaces *x, a reference, by what the layers make of it. */
static cebus_status run_layers(network *net, cebus_tensor **x)
{
    for (int layer = 0; layer < net->options.num_layers; layer++) {
        cebus_tensor *input = *x, *dropped = NULL;
        cebus_status status = CEBUS_OK;
        *x = NULL;
        if (layer > 0)
            status = cebus_dropout(net->rt, input, net->options.dropout, net->options.training,
                                   &dropped);
        if (status == CEBUS_OK)
            status = run_layer(net, layer, layer > 0 ? dropped : input, x);
        cebus_tensor_release(dropped);
        cebus_tensor_release(input);
        if (status != CEBUS_OK)
            return status;
    }
    return CEBUS_OK;
}

/* ---- the whole --------------------------------------------------------------------------- */

/* x with its steps first, and back. */
static cebus_status turn(const network *net, cebus_tensor *x, cebus_tensor **out)
{
    if (net->options.batch_first && cebus_tensor_ndim(x) == 3)
        return cebus_transpose(net->rt, x, 0, 1, out);
    *out = cebus_tensor_retain(x);
    return CEBUS_OK;
}

static cebus_status join_states(const network *net, cebus_tensor **out_h, cebus_tensor **out_c)
{
    /* The steps are over: their array is at least as long as the cells' need be. */
    cebus_status status = CEBUS_OK;
    for (int part = 0; part < (net->kind->has_c ? 2 : 1) && status == CEBUS_OK; part++) {
        for (int i = 0; i < net->cells; i++)
            net->outputs[i] = part ? net->final[i].c : net->final[i].h;
        status = cebus_stack(net->rt, net->outputs, (size_t)net->cells, 0, part ? out_c : out_h);
    }
    memset(net->outputs, 0, (size_t)net->cells * sizeof(cebus_tensor *));
    return status;
}

static cebus_status run_network(network *net, cebus_tensor *x, cebus_recurrent_result *out)
{
    cebus_tensor *sequence = NULL;
    cebus_recurrent_result result = {NULL, NULL, NULL};
    cebus_status status = turn(net, x, &sequence);
    if (status == CEBUS_OK)
        status = run_layers(net, &sequence);
    if (status == CEBUS_OK)
        status = turn(net, sequence, &result.out);
    if (status == CEBUS_OK)
        status = join_states(net, &result.h, &result.c);
    cebus_tensor_release(sequence);
    if (status == CEBUS_OK) {
        *out = result;
        return CEBUS_OK;
    }
    cebus_tensor_release(result.out);
    cebus_tensor_release(result.h);
    cebus_tensor_release(result.c);
    return status;
}

static cebus_status check(network *net, cebus_tensor *x, const cebus_recurrent_state *given)
{
    const cebus_view *view = cebus_tensor_view(x);
    int64_t hidden = 0;
    cebus_status status = check_options(net);
    if (status != CEBUS_OK)
        return status;
    net->directions = net->options.bidirectional ? 2 : 1;
    net->cells = net->options.num_layers * net->directions;
    status = check_x(net, view);
    if (status == CEBUS_OK)
        status = check_weights(net, view, &hidden);
    if (status != CEBUS_OK)
        return status;
    net->steps = view->shape[net->options.batch_first && view->ndim == 3 ? 1 : 0];
    return take_states(net, view, hidden, given);
}

/* Room for the handles held over the call, in one piece. */
static cebus_status run_with_room(network *net, cebus_tensor *x, cebus_recurrent_result *out)
{
    const cebus_host_allocator *host = &net->rt->host;
    const size_t cells = (size_t)net->cells, steps = (size_t)net->steps;
    const size_t outputs = steps > cells ? steps : cells;
    const size_t bytes = cells * sizeof *net->final + outputs * sizeof *net->outputs;
    net->final = host->alloc(host->context, bytes);
    if (net->final == NULL)
        return cebus_fail(CEBUS_OUT_OF_HOST_MEMORY, net->kind->name,
                          "no host memory for the handles of %zu steps", steps);
    memset(net->final, 0, bytes);
    net->outputs = (cebus_tensor **)(net->final + cells);
    cebus_status status = run_network(net, x, out);
    for (size_t i = 0; i < cells; i++)
        cebus_recurrent_state_release(&net->final[i]);
    host->free(host->context, net->final);
    return status;
}

static cebus_status run(network *net, cebus_tensor *x, const cebus_recurrent_state *given,
                        const cebus_recurrent_options *options, cebus_recurrent_result *out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, net->kind->name,
                          "out is NULL: give a place for the result");
    *out = (cebus_recurrent_result){NULL, NULL, NULL};
    if (net->rt == NULL || x == NULL || net->weights == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, net->kind->name, "%s is NULL",
                          net->rt == NULL ? "the runtime"
                          : x == NULL     ? "x"
                                          : "weights");
    if (options)
        net->options = *options;
    if (net->options.num_layers == 0)
        net->options.num_layers = 1;
    cebus_composite composite;
    cebus_status status = cebus_composite_begin(&composite, net->rt, net->kind->name);
    if (status != CEBUS_OK)
        return status;
    status = check(net, x, given);
    if (status == CEBUS_OK)
        status = run_with_room(net, x, out);
    cebus_recurrent_state_release(&net->start);
    return cebus_composite_end(&composite, status);
}

cebus_status cebus_lstm(cebus_runtime *rt, cebus_tensor *x, const cebus_lstm_state *state,
                        const cebus_recurrent_weights *weights,
                        const cebus_recurrent_options *options, cebus_recurrent_result *out)
{
    cebus_recurrent_state given = state ? *state : (cebus_recurrent_state){NULL, NULL};
    network net = {.rt = rt, .kind = &cebus_recurrent_lstm, .weights = weights};
    return run(&net, x, &given, options, out);
}

cebus_status cebus_gru(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *h,
                       const cebus_recurrent_weights *weights,
                       const cebus_recurrent_options *options, cebus_recurrent_result *out)
{
    cebus_recurrent_state given = {.h = h};
    network net = {.rt = rt, .kind = &cebus_recurrent_gru, .weights = weights};
    return run(&net, x, &given, options, out);
}
