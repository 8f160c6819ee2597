#include "eager/ops/recurrent.h"

#include <string.h>

#include <cebus/ops/fill.h>
#include <cebus/ops/matmul.h>

#include "eager/view.h"

/* ---- ops --------------------------------------------------------------------------------- */

/* The shape of `like` with `features` as its last dimension. */
static void with_features(const cebus_view *like, int64_t features, cebus_view *out)
{
    int64_t shape[CEBUS_MAX_DIMS];
    memcpy(shape, like->shape, sizeof shape);
    shape[like->ndim - 1] = features;
    cebus_view_contiguous(out, like->dtype, like->ndim, shape);
}

/* The entries below checked the weights; what remains is that x and the state go together. */
static cebus_status check_step(const cebus_infer *io, int gates)
{
    const cebus_view *x_part = io->in[0], *h_part = io->in[1], *state = io->in[2];
    cebus_view parts;
    if (state->ndim > 0) {
        with_features(state, gates * state->shape[state->ndim - 1], &parts);
        if (cebus_view_same_shape(&parts, x_part) && cebus_view_same_shape(&parts, h_part) &&
            state->dtype == x_part->dtype)
            return CEBUS_OK;
    }
    return cebus_fail(CEBUS_SHAPE_MISMATCH, io->op->name,
                      "gates %s from the input and %s from the state do not go with a state %s",
                      CEBUS_SHAPE(x_part), CEBUS_SHAPE(h_part), CEBUS_SHAPE(state));
}

static cebus_status lstm_infer(cebus_infer *io)
{
    const cebus_view *c = io->in[2];
    cebus_status status = check_step(io, 4);
    if (status != CEBUS_OK)
        return status;
    cebus_view_contiguous(&io->out[0], c->dtype, c->ndim, c->shape);
    io->out[1] = io->out[0];
    with_features(c, 4 * c->shape[c->ndim - 1], &io->out[2]);
    return CEBUS_OK;
}

static cebus_status gru_infer(cebus_infer *io)
{
    const cebus_view *h = io->in[2];
    cebus_status status = check_step(io, 3);
    if (status != CEBUS_OK)
        return status;
    cebus_view_contiguous(&io->out[0], h->dtype, h->ndim, h->shape);
    with_features(h, 4 * h->shape[h->ndim - 1], &io->out[1]);
    return CEBUS_OK;
}

/* Inputs come from a step that went well. */
static cebus_status lstm_backward_infer(cebus_infer *io)
{
    const cebus_view *gates = io->in[0], *c = io->in[1];
    cebus_view_contiguous(&io->out[0], gates->dtype, gates->ndim, gates->shape);
    cebus_view_contiguous(&io->out[1], c->dtype, c->ndim, c->shape);
    return CEBUS_OK;
}

static cebus_status gru_backward_infer(cebus_infer *io)
{
    const cebus_view *h = io->in[1];
    with_features(h, 3 * h->shape[h->ndim - 1], &io->out[0]);
    io->out[1] = io->out[0];
    cebus_view_contiguous(&io->out[2], h->dtype, h->ndim, h->shape);
    return CEBUS_OK;
}

static const cebus_op op_lstm_gates = {
    .name = "lstm_gates",
    .infer = lstm_infer,
    .saves = cebus_lstm_gates_saves,
    .gradient = cebus_lstm_gates_gradient,
};
static const cebus_op op_gru_gates = {
    .name = "gru_gates",
    .infer = gru_infer,
    .saves = cebus_gru_gates_saves,
    .gradient = cebus_gru_gates_gradient,
};

const cebus_op cebus_op_lstm_gates_backward = {
    .name = "lstm_gates_backward",
    .infer = lstm_backward_infer,
};
const cebus_op cebus_op_gru_gates_backward = {
    .name = "gru_gates_backward",
    .infer = gru_backward_infer,
};

const cebus_recurrent_kind cebus_recurrent_lstm = {
    .name = "lstm", .cell_name = "lstm_cell", .gates = 4, .has_c = true, .op = &op_lstm_gates};
const cebus_recurrent_kind cebus_recurrent_gru = {
    .name = "gru", .cell_name = "gru_cell", .gates = 3, .has_c = false, .op = &op_gru_gates};

/* ---- checks ------------------------------------------------------------------------------ */

static cebus_status check_weight(const cebus_recurrent_check *check, const char *name,
                                 const cebus_tensor *weight, const cebus_view *want)
{
    const cebus_view *got = cebus_tensor_view(weight);
    if (got->dtype != check->dtype)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, check->op,
                          "%s%s is %s, x is %s: cebus_cast() one of them", check->where, name,
                          cebus_dtype_name(got->dtype), cebus_dtype_name(check->dtype));
    if (!cebus_view_same_shape(got, want))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, check->op, "%s%s is %s, expected %s", check->where,
                          name, CEBUS_SHAPE(got), CEBUS_SHAPE(want));
    return CEBUS_OK;
}

cebus_status cebus_recurrent_check_weights(const cebus_recurrent_check *check,
                                           const cebus_recurrent_weights *w, int64_t *out_hidden)
{
    if (w->w_ih == NULL || w->w_hh == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, check->op, "%s%s is NULL: give a tensor",
                          check->where, w->w_ih == NULL ? "w_ih" : "w_hh");
    const cebus_view *hh = cebus_tensor_view(w->w_hh);
    const int64_t hidden = hh->ndim == 2 ? hh->shape[1] : 0, rows = check->kind->gates * hidden;
    cebus_view matrix, bias;
    cebus_view_contiguous(&matrix, check->dtype, 2, (int64_t[]){rows, hidden});
    cebus_view_contiguous(&bias, check->dtype, 1, &rows);
    cebus_status status = check_weight(check, "w_hh", w->w_hh, &matrix);
    matrix.shape[1] = check->inputs;
    if (status == CEBUS_OK)
        status = check_weight(check, "w_ih", w->w_ih, &matrix);
    if (status == CEBUS_OK && w->b_ih)
        status = check_weight(check, "b_ih", w->b_ih, &bias);
    if (status == CEBUS_OK && w->b_hh)
        status = check_weight(check, "b_hh", w->b_hh, &bias);
    *out_hidden = hidden;
    return status;
}

/* ---- a step ------------------------------------------------------------------------------ */

void cebus_recurrent_state_release(cebus_recurrent_state *state)
{
    cebus_tensor_release(state->h);
    cebus_tensor_release(state->c);
    *state = (cebus_recurrent_state){NULL, NULL};
}

cebus_status cebus_recurrent_step(cebus_runtime *rt, const cebus_recurrent_kind *kind,
                                  cebus_tensor *x_part, const cebus_recurrent_state *state,
                                  const cebus_recurrent_weights *weights,
                                  cebus_recurrent_state *out)
{
    cebus_tensor *h_part, *made[3];
    const uint32_t n_out = kind->has_c ? 3 : 2;
    cebus_status status = cebus_linear(rt, state->h, weights->w_hh, weights->b_hh, &h_part);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor *in[] = {x_part, h_part, kind->has_c ? state->c : state->h};
    cebus_call_spec spec = {.op = kind->op, .in = in, .n_in = 3, .n_out = n_out};
    status = cebus_call_run(rt, &spec, made);
    cebus_tensor_release(h_part);
    if (status != CEBUS_OK)
        return status;
    cebus_tensor_release(made[n_out - 1]); /* the gates: the graph keeps them when it needs them */
    *out = (cebus_recurrent_state){.h = made[0], .c = kind->has_c ? made[1] : NULL};
    return CEBUS_OK;
}

/* ---- cells ------------------------------------------------------------------------------- */

/* `given`, which must have the shape of x but for H features, or zeros. */
static cebus_status take_state(cebus_runtime *rt, const char *op, const cebus_view *want,
                               cebus_tensor *given, cebus_tensor **out)
{
    if (given == NULL)
        return cebus_zeros(rt, want->dtype, want->ndim, want->shape, out);
    const cebus_view *got = cebus_tensor_view(given);
    if (got->dtype != want->dtype)
        return cebus_fail(CEBUS_DTYPE_MISMATCH, op,
                          "the state is %s, x is %s: cebus_cast() one of them",
                          cebus_dtype_name(got->dtype), cebus_dtype_name(want->dtype));
    if (!cebus_view_same_shape(got, want))
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op, "the state is %s, expected %s",
                          CEBUS_SHAPE(got), CEBUS_SHAPE(want));
    *out = cebus_tensor_retain(given);
    return CEBUS_OK;
}

static cebus_status check_x(const char *op, const cebus_tensor *x,
                            const cebus_recurrent_weights *weights)
{
    if (x == NULL || weights == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, op, "%s is NULL", x == NULL ? "x" : "weights");
    const cebus_view *view = cebus_tensor_view(x);
    if (view->ndim == 0)
        return cebus_fail(CEBUS_SHAPE_MISMATCH, op, "x has no dimensions, expected [.., features]");
    return CEBUS_OK;
}

static cebus_status run_cell(cebus_runtime *rt, const cebus_recurrent_kind *kind, cebus_tensor *x,
                             const cebus_recurrent_state *state,
                             const cebus_recurrent_weights *weights, cebus_recurrent_state *out)
{
    cebus_recurrent_state start = {NULL, NULL};
    cebus_tensor *x_part = NULL;
    cebus_status status = check_x(kind->cell_name, x, weights);
    if (status != CEBUS_OK)
        return status;
    cebus_view want = *cebus_tensor_view(x);
    cebus_recurrent_check check = {kind->cell_name, "", kind, want.dtype,
                                   want.shape[want.ndim - 1]};
    status = cebus_recurrent_check_weights(&check, weights, &want.shape[want.ndim - 1]);
    if (status == CEBUS_OK)
        status = take_state(rt, kind->cell_name, &want, state->h, &start.h);
    if (status == CEBUS_OK && kind->has_c)
        status = take_state(rt, kind->cell_name, &want, state->c, &start.c);
    if (status == CEBUS_OK)
        status = cebus_linear(rt, x, weights->w_ih, weights->b_ih, &x_part);
    if (status == CEBUS_OK)
        status = cebus_recurrent_step(rt, kind, x_part, &start, weights, out);
    cebus_tensor_release(x_part);
    cebus_recurrent_state_release(&start);
    return status;
}

cebus_status cebus_lstm_cell(cebus_runtime *rt, cebus_tensor *x, const cebus_lstm_state *state,
                             const cebus_recurrent_weights *weights, cebus_lstm_state *out)
{
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "lstm_cell",
                          "out is NULL: give a place for the result");
    *out = (cebus_lstm_state){NULL, NULL};
    cebus_recurrent_state start = state ? *state : (cebus_recurrent_state){NULL, NULL};
    return run_cell(rt, &cebus_recurrent_lstm, x, &start, weights, out);
}

cebus_status cebus_gru_cell(cebus_runtime *rt, cebus_tensor *x, cebus_tensor *h,
                            const cebus_recurrent_weights *weights, cebus_tensor **out)
{
    cebus_recurrent_state start = {.h = h}, made = {NULL, NULL};
    if (out == NULL)
        return cebus_fail(CEBUS_INVALID_ARGUMENT, "gru_cell",
                          "out is NULL: give a place for the result");
    *out = NULL;
    cebus_status status = run_cell(rt, &cebus_recurrent_gru, x, &start, weights, &made);
    *out = made.h;
    return status;
}
