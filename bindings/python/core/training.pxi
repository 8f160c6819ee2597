# What training needs besides operations: recurrent layers, optimizer steps, clipping.

cdef class Weights:
    """Weights of recurrent layers and directions: (w_ih, w_hh, b_ih, b_hh) each."""

    cdef cebus_recurrent_weights *items
    cdef list tensors

    def __cinit__(self, groups):
        self.tensors = [list(group) for group in groups]
        self.items = <cebus_recurrent_weights *>PyMem_Malloc(
            max(len(self.tensors), 1) * sizeof(cebus_recurrent_weights))
        if self.items == NULL:
            raise MemoryError()
        for i, (w_ih, w_hh, b_ih, b_hh) in enumerate(self.tensors):
            self.items[i].w_ih, self.items[i].w_hh = handle_of(w_ih), handle_of(w_hh)
            self.items[i].b_ih, self.items[i].b_hh = handle_of(b_ih), handle_of(b_hh)

    def __dealloc__(self):
        PyMem_Free(self.items)


cdef object beside_weights(object x, Weights weights):
    """In a block of autocast the recurrent layers read the type of their weights."""
    if autocast_blocks == 0 or x is None or not weights.tensors:
        return x
    return cast(x, (<Tensor>weights.tensors[0][0]).code())


def recurrent(str kind, Tensor x, h, c, groups, int num_layers, bint bidirectional,
              bint batch_first, double dropout, bint training):
    """An "lstm" (out, h, c) or a "gru" (out, h, None) over a sequence."""
    cdef Weights weights = Weights(groups)
    cdef cebus_recurrent_options options
    cdef cebus_recurrent_result result
    cdef cebus_lstm_state state
    cdef cebus_lstm_state *given = &state if h is not None else NULL
    cdef bint lstm = kind == "lstm"
    cdef cebus_status status
    if num_layers < 1 or len(weights.tensors) != num_layers * (2 if bidirectional else 1):
        raise InvalidArgumentError(f"{kind}: weights of {len(weights.tensors)} cells for "
                                   f"{num_layers} layers")
    x, h, c = [beside_weights(each, weights) for each in (x, h, c)]
    state.h, state.c = handle_of(h), handle_of(c)
    options.num_layers, options.bidirectional = num_layers, bidirectional
    options.batch_first, options.dropout, options.training = batch_first, dropout, training
    memset(&result, 0, sizeof(result))
    with nogil:
        if lstm:
            status = cebus_lstm(x.rt, x.handle, given, weights.items, &options, &result)
        else:
            status = cebus_gru(x.rt, x.handle, state.h, weights.items, &options, &result)
    if status:
        fail(status)
    return (wrap(result.out, x.rt), wrap(result.h, x.rt), wrap(result.c, x.rt) if lstm else None)


def lstm_cell(Tensor x, h, c, weights):
    """One step of an LSTM: (h, c)."""
    cdef Weights w = Weights([weights])
    cdef cebus_lstm_state state, out
    cdef cebus_lstm_state *given = &state if h is not None else NULL
    cdef cebus_status status
    x, h, c = [beside_weights(each, w) for each in (x, h, c)]
    state.h, state.c = handle_of(h), handle_of(c)
    memset(&out, 0, sizeof(out))
    with nogil:
        status = cebus_lstm_cell(x.rt, x.handle, given, w.items, &out)
    if status:
        fail(status)
    return wrap(out.h, x.rt), wrap(out.c, x.rt)


def gru_cell(Tensor x, h, weights):
    """One step of a GRU: h."""
    cdef Weights w = Weights([weights])
    cdef cebus_tensor *out = NULL
    cdef cebus_tensor *state
    cdef cebus_status status
    x, h = beside_weights(x, w), beside_weights(h, w)
    state = handle_of(h)
    with nogil:
        status = cebus_gru_cell(x.rt, x.handle, state, w.items, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


# --- optimizers -------------------------------------------------------------------------------

def restore(tensors):
    """Brings back what was given up of these tensors: all resident at once."""
    cdef Handles handles = Handles(tensors)
    cdef cebus_status status
    with nogil:
        status = cebus_tensors_restore(handles.items, handles.n)
    if status:
        fail(status)


def sgd_step(Tensor param, Tensor grad not None, Tensor momentum_buffer, int64_t step, double lr,
             double momentum, double dampening, double weight_decay, bint nesterov):
    """One fused step; `step` counts from 1."""
    cdef cebus_sgd_options options
    cdef cebus_sgd_tensors tensors
    cdef cebus_status status
    memset(&options, 0, sizeof(options))
    memset(&tensors, 0, sizeof(tensors))
    options.struct_size = sizeof(options)
    options.lr, options.momentum, options.dampening = lr, momentum, dampening
    options.weight_decay, options.nesterov = weight_decay, nesterov
    tensors.param, tensors.grad = param.handle, grad.handle
    tensors.momentum = handle_of(momentum_buffer)
    with nogil:
        status = cebus_sgd_step(param.rt, &tensors, step, &options)
    if status:
        fail(status)


def adam_step(Tensor param, Tensor grad not None, Tensor exp_avg not None,
              Tensor exp_avg_sq not None, int64_t step, double lr, double beta1, double beta2,
              double eps, double weight_decay, bint decoupled):
    """One fused step of Adam, or of AdamW when `decoupled`; `step` counts from 1."""
    cdef cebus_adam_options options
    cdef cebus_adam_tensors tensors
    cdef cebus_status status
    memset(&options, 0, sizeof(options))
    memset(&tensors, 0, sizeof(tensors))
    options.struct_size = sizeof(options)
    options.lr, options.beta1, options.beta2, options.eps = lr, beta1, beta2, eps
    options.weight_decay, options.decoupled = weight_decay, decoupled
    tensors.param, tensors.grad = param.handle, grad.handle
    tensors.exp_avg, tensors.exp_avg_sq = exp_avg.handle, exp_avg_sq.handle
    with nogil:
        status = cebus_adam_step(param.rt, &tensors, step, &options)
    if status:
        fail(status)


def clip_grad_norm(parameters, double max_norm):
    """Scales gradients to a common 2-norm of at most `max_norm`; the norm before that."""
    cdef Handles handles = Handles(parameters)
    cdef double norm = 0.0
    cdef cebus_status status
    if handles.n == 0:
        return 0.0
    with nogil:
        status = cebus_clip_grad_norm(handles.rt, handles.items, handles.n, max_norm, &norm)
    if status:
        fail(status)
    return norm
