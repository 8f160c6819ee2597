/**
 * recurrent.h: the inside of the recurrent cells: one fused op for the gates of a step, and what
 * LSTM and GRU differ in for the layers.
 *
 * lstm_gates: (x part, h part, c) -> (h', c', gates), the parts being [.., 4 H] products with their
 * biases, gates the activated i, f, g, o. gru_gates: (x part, h part, h) -> (h', gates), gates
 * being r, z, n and the h part of n before r. The backward ops: (gates, c, c', dh' or absent, dc'
 * or absent) -> (d parts, dc), and (gates, h, dh') -> (d x part, d h part, dh).
 */
#ifndef CEBUS_EAGER_OPS_RECURRENT_H
#define CEBUS_EAGER_OPS_RECURRENT_H

#include <cebus/ops/recurrent.h>

#include "eager/op.h"

/** Of lstm_gates_backward; the other ops have none. */
typedef struct cebus_lstm_backward_attrs {
    uint32_t has_dh, has_dc;
} cebus_lstm_backward_attrs;

extern const cebus_op cebus_op_lstm_gates_backward;
extern const cebus_op cebus_op_gru_gates_backward;

/** The state of a step; c is NULL in a GRU. */
typedef cebus_lstm_state cebus_recurrent_state;

/** LSTM or GRU. */
typedef struct cebus_recurrent_kind {
    const char *name, *cell_name;
    int gates;
    bool has_c;
    const cebus_op *op;
} cebus_recurrent_kind;

extern const cebus_recurrent_kind cebus_recurrent_lstm;
extern const cebus_recurrent_kind cebus_recurrent_gru;

/** A step from the x part of the gates: h product, then gates. `out` holds new references. */
CEBUS_MUST_CHECK cebus_status cebus_recurrent_step(cebus_runtime *rt,
                                                   const cebus_recurrent_kind *kind,
                                                   cebus_tensor *x_part,
                                                   const cebus_recurrent_state *state,
                                                   const cebus_recurrent_weights *weights,
                                                   cebus_recurrent_state *out);

/**
 * Checks the weights of one cell for `inputs` features of `dtype` in the name of `op`; `where` (may
 * be "") is put before the messages. Answers H.
 */
typedef struct cebus_recurrent_check {
    const char *op, *where;
    const cebus_recurrent_kind *kind;
    cebus_dtype dtype;
    int64_t inputs;
} cebus_recurrent_check;
CEBUS_MUST_CHECK cebus_status cebus_recurrent_check_weights(const cebus_recurrent_check *check,
                                                            const cebus_recurrent_weights *weights,
                                                            int64_t *out_hidden);

void cebus_recurrent_state_release(cebus_recurrent_state *state);

/** @name Gradients (eager/autograd/recurrent.c) */
/** @{ */
cebus_saves cebus_lstm_gates_saves(const void *attrs, uint64_t needs);
cebus_status cebus_lstm_gates_gradient(const cebus_gradient *io);
cebus_saves cebus_gru_gates_saves(const void *attrs, uint64_t needs);
cebus_status cebus_gru_gates_gradient(const cebus_gradient *io);
/** @} */

#endif
