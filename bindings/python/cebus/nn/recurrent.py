"""LSTM, GRU and RNN over sequences, and packed sequences of several lengths."""
import math

from .. import _core
from . import init
from .layers import _new
from .module import Module
from .utils.rnn import PackedSequence, pack_like, pad_packed_sequence


class _Recurrent(Module):
    gates, kind, projects = 1, "", False

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be greater than zero, got {num_layers}")
        if not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the "
                             "probability of an element being zeroed")
        if proj_size and not self.projects:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable "
                             "projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self.directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            for direction in range(self.directions):
                self._add(layer, direction, {"dtype": dtype, "device": device})
        bound = 1 / math.sqrt(hidden_size)
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def _add(self, layer, direction, kind):
        rows, out = self.gates * self.hidden_size, self.proj_size or self.hidden_size
        width = self.input_size if layer == 0 else out * self.directions
        end = self._end(layer, direction)
        setattr(self, "weight_ih" + end, _new(rows, width, **kind))
        setattr(self, "weight_hh" + end, _new(rows, out, **kind))
        if self.bias:
            setattr(self, "bias_ih" + end, _new(rows, **kind))
            setattr(self, "bias_hh" + end, _new(rows, **kind))
        if self.proj_size:
            setattr(self, "weight_hr" + end, _new(self.proj_size, self.hidden_size, **kind))

    def _end(self, layer, direction):
        return f"_l{layer}" + ("_reverse" if direction else "")

    def _weights(self, layer, direction):
        end = self._end(layer, direction)
        return tuple(getattr(self, name + end) if name.startswith("weight") or self.bias else None
                     for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))

    def _groups(self):
        return [self._weights(layer, direction) for layer in range(self.num_layers)
                for direction in range(self.directions)]

    def flatten_parameters(self):
        """Nothing to do: weights lie as the library wants them."""

    def _check(self, x):
        if x.ndim not in (2, 3):
            raise _core.ShapeError(f"{type(self).__name__}: Expected input to be 2-D or 3-D but "
                                   f"received {x.ndim}-D tensor")
        if x.size(-1) != self.input_size:
            raise _core.ShapeError("input.size(-1) must be equal to input_size. Expected "
                                   f"{self.input_size}, got {x.size(-1)}")

    def forward(self, x, state=None):
        """(output, last state); x [T, B, I], [B, T, I] if batch_first, [T, I], or packed."""
        if isinstance(x, PackedSequence):
            return self._packed(x, state)
        self._check(x)
        return self._run(x, state)

    def _run(self, x, state):
        h, c = state if isinstance(state, tuple) else (state, None)
        out, h, c = _core.recurrent(self.kind, x, h, c, self._groups(), self.num_layers,
                                    self.bidirectional, self.batch_first and x.ndim == 3,
                                    self.dropout, self.training)
        return out, (h if c is None else (h, c))

    # --- sequences of several lengths -----------------------------------------------------------

    def _packed(self, packed, state):
        """Runs of one length go together; each sequence is computed to its own end alone."""
        padded, lengths = pad_packed_sequence(packed)
        lengths = lengths.tolist()
        outs, states = [None] * len(lengths), [None] * len(lengths)
        for length in sorted(set(lengths)):
            at = [i for i, n in enumerate(lengths) if n == length]
            index = _core.tensor(at, device=padded.device)
            mine = _chosen(state, index)
            x = padded.narrow(0, 0, length).index_select(1, index)
            first, self.batch_first = self.batch_first, False
            try:
                out, last = self._run(x, mine)
            finally:
                self.batch_first = first
            for j, i in enumerate(at):
                outs[i] = out.narrow(1, j, 1).squeeze(1)
                states[i] = tuple(each.narrow(1, j, 1) for each in
                                  (last if isinstance(last, tuple) else (last,)))
        joined = tuple(_core.cat(each, 1) for each in zip(*states))
        return pack_like(outs, packed), joined if len(joined) > 1 else joined[0]

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("num_layers", 1), ("bias", True), ("batch_first", False),
                            ("dropout", 0.0), ("bidirectional", False), ("proj_size", 0)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


def _chosen(state, index):
    if state is None:
        return None
    if isinstance(state, tuple):
        return tuple(each.index_select(1, index) for each in state)
    return state.index_select(1, index)


def _stepped(module, x, states):
    """(output, last states) of cells that are composed of ops: module._steps() is one direction
    of one layer."""
    batched = x.ndim == 3
    if not batched:
        x, states = x.unsqueeze(1), states and [each.unsqueeze(1) for each in states]
    if module.batch_first and batched:
        x = x.transpose(0, 1)
    for given, size in zip(states or (), (module.proj_size or module.hidden_size,
                                          module.hidden_size)):
        expected = (module.num_layers * module.directions, x.size(1), size)
        if tuple(given.shape) != expected:
            raise _core.ShapeError(f"Expected hidden size {expected}, got {tuple(given.shape)}")
    lasts = []
    for layer in range(module.num_layers):
        outs = []
        for direction in range(module.directions):
            at = layer * module.directions + direction
            out, last = module._steps(x, states and [each[at] for each in states], layer, direction)
            outs.append(out)
            lasts.append(last)
        x = outs[0] if len(outs) == 1 else _core.cat(outs, -1)
        if module.dropout and module.training and layer + 1 < module.num_layers:
            x = _core.dropout(x, module.dropout, True)
    lasts = [_core.stack(each, 0) for each in zip(*lasts)]
    if not batched:
        return x.squeeze(1), tuple(each.squeeze(1) for each in lasts)
    return (x.transpose(0, 1) if module.batch_first else x), tuple(lasts)


def _each_step(pre, direction, step):
    """step(pre[t]) for all t, to the end or, direction 1, to the beginning; stacked."""
    times = range(pre.size(0))
    outs = [None] * len(times)
    for t in reversed(times) if direction else times:
        outs[t] = step(pre[t])
    return _core.stack(outs, 0)


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), gates i, f, g, o; with proj_size,
    the output is projected (Sak et al. 2014)."""

    gates, kind, projects = 4, "lstm", True

    def _run(self, x, state):
        if not self.proj_size:
            return super()._run(x, state)
        if state is not None and not (isinstance(state, (tuple, list)) and len(state) == 2):
            raise TypeError("LSTM: Expected state to be a pair of tensors (h, c), got "
                            f"{type(state).__name__}")
        return _stepped(self, x, state)

    def _steps(self, x, state, layer, direction):
        w_ih, w_hh, b_ih, b_hh = self._weights(layer, direction)
        w_hr = getattr(self, "weight_hr" + self._end(layer, direction))
        h, c = state or [_core.zeros((x.size(1), size), dtype=x.dtype, device=x.device)
                         for size in (self.proj_size, self.hidden_size)]

        def step(pre):
            nonlocal h, c
            i, f, g, o = (pre + _core.linear(h, w_hh, b_hh)).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = _core.linear(o.sigmoid() * c.tanh(), w_hr)
            return h

        return _each_step(_core.linear(x, w_ih, b_ih), direction, step), (h, c)


class GRU(_Recurrent):
    """Gated recurrent unit (Cho et al. 2014), gates r, z, n."""

    gates, kind = 3, "gru"


class RNN(_Recurrent):
    """h' = tanh(w_ih x + w_hh h + b), or relu."""

    gates = 1

    def __init__(self, *sizes, nonlinearity="tanh", **options):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'")
        super().__init__(*sizes, **options)
        self.nonlinearity = nonlinearity

    def _run(self, x, state):
        out, (last,) = _stepped(self, x, None if state is None else (state,))
        return out, last

    def _steps(self, x, state, layer, direction):
        w_ih, w_hh, b_ih, b_hh = self._weights(layer, direction)
        act = _core.Tensor.tanh if self.nonlinearity == "tanh" else _core.Tensor.relu
        (h,) = state or [_core.zeros((x.size(1), self.hidden_size), dtype=x.dtype,
                                     device=x.device)]

        def step(pre):
            nonlocal h
            h = act(pre + _core.linear(h, w_hh, b_hh))
            return h

        return _each_step(_core.linear(x, w_ih, b_ih), direction, step), (h,)


# --- one step ---------------------------------------------------------------------------------

class _Cell(Module):
    gates = 1

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        rows, kind = self.gates * hidden_size, {"dtype": dtype, "device": device}
        self.weight_ih = _new(rows, input_size, **kind)
        self.weight_hh = _new(rows, hidden_size, **kind)
        self.register_parameter("bias_ih", _new(rows, **kind) if bias else None)
        self.register_parameter("bias_hh", _new(rows, **kind) if bias else None)
        bound = 1 / math.sqrt(hidden_size)
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


class LSTMCell(_Cell):
    """One step of an LSTM: (h, c)."""

    gates = 4

    def forward(self, x, state=None):
        h, c = state if state is not None else (None, None)
        return _core.lstm_cell(x, h, c, self._weights())


class GRUCell(_Cell):
    """One step of a GRU: h."""

    gates = 3

    def forward(self, x, h=None):
        return _core.gru_cell(x, h, self._weights())


class RNNCell(_Cell):
    """One step of an RNN: h."""

    def forward(self, x, h=None):
        w_ih, w_hh, b_ih, b_hh = self._weights()
        if h is None:
            h = _core.zeros(tuple(x.shape[:-1]) + (self.hidden_size,), dtype=x.dtype,
                            device=x.device)
        return (_core.linear(x, w_ih, b_ih) + _core.linear(h, w_hh, b_hh)).tanh()
