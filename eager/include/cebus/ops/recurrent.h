/**
 * @file recurrent.h
 * LSTM and GRU, cells and layers, with PyTorch's weights, gate order (LSTM i, f, g, o; GRU r, z,
 * n) and formulas.
 *
 * A layer multiplies the inputs of all steps at once; each step then is a product with the state
 * and one fused op for the gates. Every step is recorded on its own, so that under a budget each
 * can be given up and computed again. The gradient of a step saves its activated gates ([.., 4 H])
 * and its states.
 *
 * H is the hidden size, I the input size, G the number of gates: 4 for LSTM, 3 for GRU. f32 and
 * f64. Errors of all: CEBUS_INVALID_ARGUMENT for NULL or options out of range,
 * CEBUS_SHAPE_MISMATCH, CEBUS_DTYPE_MISMATCH.
 */
#ifndef CEBUS_OPS_RECURRENT_H
#define CEBUS_OPS_RECURRENT_H

#include <cebus/tensor.h>

CEBUS_BEGIN_DECLS

/** Of one layer and direction; borrowed. */
typedef struct cebus_recurrent_weights {
    cebus_tensor *w_ih; /**< [G H, I] */
    cebus_tensor *w_hh; /**< [G H, H] */
    cebus_tensor *b_ih; /**< [G H] or NULL */
    cebus_tensor *b_hh; /**< [G H] or NULL */
} cebus_recurrent_weights;

/** Hidden state and cell state, of one shape. */
typedef struct cebus_lstm_state {
    cebus_tensor *h; /**< hidden */
    cebus_tensor *c; /**< cell */
} cebus_lstm_state;

/**
 * One step: x [.., I] and state [.., H] to a new state, two new references in `out`. `state` NULL
 * is zero.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_lstm_cell(cebus_runtime *rt, cebus_tensor *x,
                                                        const cebus_lstm_state *state,
                                                        const cebus_recurrent_weights *weights,
                                                        cebus_lstm_state *out);

/** One step: x [.., I] and h [.., H] (NULL: zero) to the new h. */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_gru_cell(cebus_runtime *rt, cebus_tensor *x,
                                                       cebus_tensor *h,
                                                       const cebus_recurrent_weights *weights,
                                                       cebus_tensor **out);

/** Options of cebus_lstm() and cebus_gru(); zero means default. */
typedef struct cebus_recurrent_options {
    int num_layers;     /**< 0: one */
    bool bidirectional; /**< a second pass from the end; the results side by side */
    bool batch_first;   /**< x and the result are [B, T, ..] instead of [T, B, ..]; states never */
    double dropout;     /**< in [0, 1]: on what one layer hands to the next, in training */
    bool training;      /**< dropout is on */
} cebus_recurrent_options;

/** What a layer answers: new references. */
typedef struct cebus_recurrent_result {
    cebus_tensor *out; /**< the last layer's h of every step: [T, B, H] or, in two directions,
                          [T, B, 2 H] */
    cebus_tensor *h;   /**< the last h of each layer and direction */
    cebus_tensor *c;   /**< likewise c; NULL of a GRU */
} cebus_recurrent_result;

/**
 * x [T, B, I], or [T, I] without a batch, T from 1 to CEBUS_MAX_JOIN. `weights` holds
 * num_layers * D entries, D being 1 or, in two directions, 2: layer 0 forward, layer 0 backward,
 * layer 1 forward, ... (from layer 1 on I is D H). The states are [num_layers * D, B, H] in the
 * same order; `state` NULL is zero. `options` may be NULL.
 */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_lstm(cebus_runtime *rt, cebus_tensor *x,
                                                   const cebus_lstm_state *state,
                                                   const cebus_recurrent_weights *weights,
                                                   const cebus_recurrent_options *options,
                                                   cebus_recurrent_result *out);

/** As cebus_lstm() with a state of `h` alone (NULL: zero). */
CEBUS_API CEBUS_MUST_CHECK cebus_status cebus_gru(cebus_runtime *rt, cebus_tensor *x,
                                                  cebus_tensor *h,
                                                  const cebus_recurrent_weights *weights,
                                                  const cebus_recurrent_options *options,
                                                  cebus_recurrent_result *out);

CEBUS_END_DECLS

#endif
