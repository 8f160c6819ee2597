"""Recurrent networks: LSTM over text or features, RNN and BRNN unrolled in single operations,
TreeLSTM, whose shape is that of its data."""
from .. import _core, cat, nn


class SequenceLSTM(nn.Module):
    """LSTM layers over embedded symbols [N, L], the last state classified."""

    def __init__(self, vocabulary=64, width=256, depth=2, classes=10, two_way=False):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, depth, batch_first=True, bidirectional=two_way)
        self.head = nn.Linear(width * (2 if two_way else 1), classes)

    def forward(self, symbols):
        out, _ = self.lstm(self.table(symbols))
        return self.head(out[:, -1])


class Unrolled(nn.Module):
    """LSTM cells step by step: RNN-8-8K and BRNN-4-8K of SwapAdvisor (width 8192)."""

    def __init__(self, width=8192, depth=8, classes=1000, two_way=False):
        super().__init__()
        self.directions = 2 if two_way else 1
        self.cells = nn.ModuleList()
        for layer in range(depth):
            inputs = width if layer == 0 else width * self.directions
            self.cells.extend(nn.LSTMCell(inputs, width) for _ in range(self.directions))
        self.head = nn.Linear(width * self.directions, classes)

    def _run(self, cell, steps):
        state, outs = None, []
        for x in steps:
            state = cell(x, state)
            outs.append(state[0])
        return outs

    def forward(self, x):
        """x [T, N, width]"""
        steps = list(x.unbind(0))
        for i in range(0, len(self.cells), self.directions):
            forth = self._run(self.cells[i], steps)
            if self.directions == 2:
                back = self._run(self.cells[i + 1], steps[::-1])[::-1]
                forth = [cat(pair, 1) for pair in zip(forth, back)]
            steps = forth
        return self.head(steps[-1])


class TreeLSTM(nn.Module):
    """Child-Sum TreeLSTM (Tai, Socher and Manning 2015, section 3.1)."""

    def __init__(self, inputs=300, width=150, classes=5):
        super().__init__()
        self.input_gates = nn.Linear(inputs, 3 * width)
        self.state_gates = nn.Linear(width, 3 * width, bias=False)
        self.input_forget = nn.Linear(inputs, width)
        self.state_forget = nn.Linear(width, width, bias=False)
        self.head = nn.Linear(width, classes)

    def node(self, x, children):
        """(h, c) of a node from its input [N, inputs] and its children's (h, c)."""
        gates = self.input_gates(x)
        if children:
            total = children[0][0]
            for h, _ in children[1:]:
                total = total + h
            gates = gates + self.state_gates(total)
        i, o, u = gates.chunk(3, -1)
        c = i.sigmoid() * u.tanh()
        if children:
            forget = self.input_forget(x)
            for h, cell in children:
                c = c + (forget + self.state_forget(h)).sigmoid() * cell
        return o.sigmoid() * c.tanh(), c

    def forward(self, tree):
        """A tree is (x, [trees]); its root's state is classified. No recursion, any depth."""
        order, stack = [], [tree]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(node[1])
        states = {}
        for node in reversed(order):
            states[id(node)] = self.node(node[0], [states[id(child)] for child in node[1]])
        return self.head(states[id(tree)][0])


def complete_tree(depth, batch, inputs, device=None):
    """A complete binary tree with an input of its own at every node."""
    x = _core.randn(batch, inputs, device=device)
    children = [complete_tree(depth - 1, batch, inputs, device) for _ in range(2)] \
        if depth > 1 else []
    return (x, children)
