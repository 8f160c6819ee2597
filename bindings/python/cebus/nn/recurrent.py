"""LSTM, GRU and RNN over sequences, and packed sequences of several lengths."""
import math

from .. import _core
from . import init
from .layers import _new
from .module import Module
from .utils.rnn import PackedSequence, pack_like, pad_packed_sequence


class _Recurrent(Module):
    gates, kind = 1, ""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, device=None, dtype=None):
        super().__init__()
        if num_layers < 1:
            raise ValueError(f"num_layers must be greater than zero, got {num_layers}")
        if not 0 <= dropout <= 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the "
                             "probability of an element being zeroed")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional = bidirectional
        self.directions = 2 if bidirectional else 1
        for layer in range(num_layers):
            for direction in range(self.directions):
                self._add(layer, direction, {"dtype": dtype, "device": device})
        bound = 1 / math.sqrt(hidden_size)
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def _add(self, layer, direction, kind):
        rows = self.gates * self.hidden_size
        width = self.input_size if layer == 0 else self.hidden_size * self.directions
        end = self._end(layer, direction)
        setattr(self, "weight_ih" + end, _new(rows, width, **kind))
        setattr(self, "weight_hh" + end, _new(rows, self.hidden_size, **kind))
        if self.bias:
            setattr(self, "bias_ih" + end, _new(rows, **kind))
            setattr(self, "bias_hh" + end, _new(rows, **kind))

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
                            ("dropout", 0.0), ("bidirectional", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


def _chosen(state, index):
    if state is None:
        return None
    if isinstance(state, tuple):
        return tuple(each.index_select(1, index) for each in state)
    return state.index_select(1, index)


class LSTM(_Recurrent):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), gates i, f, g, o."""

    gates, kind = 4, "lstm"


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
        batched = x.ndim == 3
        if not batched:
            x, state = x.unsqueeze(1), None if state is None else state.unsqueeze(1)
        if self.batch_first and batched:
            x = x.transpose(0, 1)
        lasts = []
        for layer in range(self.num_layers):
            runs = [self._direction(x, state, layer, d) for d in range(self.directions)]
            lasts += [last for _, last in runs]
            x = runs[0][0] if self.directions == 1 else _core.cat([run[0] for run in runs], -1)
            if self.dropout and self.training and layer + 1 < self.num_layers:
                x = _core.dropout(x, self.dropout, True)
        last = _core.stack(lasts, 0)
        if not batched:
            return x.squeeze(1), last.squeeze(1)
        return (x.transpose(0, 1) if self.batch_first else x), last

    def _direction(self, x, state, layer, direction):
        w_ih, w_hh, b_ih, b_hh = self._weights(layer, direction)
        pre = _core.linear(x, w_ih, b_ih)
        h = _core.zeros((x.size(1), self.hidden_size), dtype=x.dtype, device=x.device) \
            if state is None else state[layer * self.directions + direction]
        act = _core.Tensor.tanh if self.nonlinearity == "tanh" else _core.Tensor.relu
        steps = range(x.size(0))
        outs = [None] * x.size(0)
        for t in reversed(steps) if direction else steps:
            h = outs[t] = act(pre[t] + _core.linear(h, w_hh, b_hh))
        return _core.stack(outs, 0), h


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
