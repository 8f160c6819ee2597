"""Networks of cells for the recorder: over steps, both ways, over trees, with attention."""
from draw import Draw
from engine import backward
from images import Params, blocks, train
from ops import (add, bmm, cat, cross_entropy, embedding, linear, mul, rsub_scalar, sigmoid,
                 softmax, split, tanh, total, transpose, view)
from optim import Momentum, descend, detach


class LstmCell:
    """The fused cell: four gates from one product of the input and one of the state."""

    def __init__(self, params, width_in, width):
        self.rec, self.width = params.rec, width
        self.input = params.leaf(4 * width, width_in), params.leaf(4 * width)
        self.state = params.leaf(4 * width, width)

    def start(self, batch):
        return tuple(self.rec.constant(batch, self.width) for _ in range(2))

    def __call__(self, x, state):
        h, c = state
        i, f, g, o = split(add(linear(x, *self.input), linear(h, self.state)), 4)
        c = add(mul(sigmoid(f), c), mul(sigmoid(i), tanh(g)))
        return mul(sigmoid(o), tanh(c)), c

    def run(self, steps):
        """The outputs of all steps."""
        state, outs = self.start(steps[0].shape[0]), []
        for x in steps:
            state = self(x, state)
            outs.append(state[0])
        return outs


class GruCell:
    def __init__(self, params, width_in, width):
        self.rec, self.width = params.rec, width
        self.input = params.leaf(3 * width, width_in), params.leaf(3 * width)
        self.state = params.leaf(3 * width, width), params.leaf(3 * width)

    def __call__(self, x, h):
        from_x, from_h = split(linear(x, *self.input), 3), split(linear(h, *self.state), 3)
        reset = sigmoid(add(from_x[0], from_h[0]))
        keep = sigmoid(add(from_x[1], from_h[1]))
        fresh = tanh(add(from_x[2], mul(reset, from_h[2])))
        return add(mul(rsub_scalar(keep), fresh), mul(keep, h))


def read_out(params, states, classes=200):
    """One linear layer over the states of all steps at once, and the loss."""
    head = params.leaf(classes, states[0].shape[1]), params.leaf(classes)
    rows = sum(s.shape[0] for s in states)
    return cross_entropy(linear(cat(states, 0), *head), params.rec.constant(rows, item=8))


def stackedlstm(rec, scale=1.0, batch=256):
    """Two layers, 60 steps of width 512; the inputs have gradients, too, which nobody reads."""
    params = Params(rec)
    layers = [LstmCell(params, 512, 512) for _ in range(2)]

    def forward(*steps):
        for step in steps:
            step.leaf = True
        outs = list(steps)
        for layer in layers:
            outs = layer.run(outs)
        return total(outs[-1])

    inputs = [rec.constant(batch, 512) for _ in range(blocks(60, scale))]
    kept = list(inputs)
    train(rec, forward, inputs)
    return params, kept


def gru(rec, scale=1.0, batch=128):
    """80 steps of width 512, every one of which is read out; then an update."""
    params = Params(rec)
    cell = GruCell(params, 256, 512)

    def forward(*steps):
        h, outs = rec.constant(batch, 512), []
        for x in steps:
            h = cell(x, h)
            outs.append(h)
        return read_out(params, outs)

    train(rec, forward, [rec.constant(batch, 256) for _ in range(blocks(80, scale))])
    descend(params)
    return params


def bilstm(rec, scale=1.0, batch=128):
    """Two layers, each over 48 steps forth and back, their outputs joined step by step."""
    params = Params(rec)
    layers = [[LstmCell(params, wide, 512) for _ in range(2)] for wide in (512, 1024)]

    def forward(*steps):
        outs = list(steps)
        for forth, back in layers:
            there, again = forth.run(outs), back.run(outs[::-1])
            outs = [cat([a, b]) for a, b in zip(there, again[::-1])]
        return read_out(params, outs)

    train(rec, forward, [rec.constant(batch, 512) for _ in range(blocks(48, scale))])
    descend(params)
    return params


def tbptt(rec, scale=1.0, batch=256):
    """Six stretches of 20 steps: each has its own backward and update, and hands on its state."""
    params = Params(rec)
    cell = LstmCell(params, 256, 512)
    head = params.leaf(256, 512), params.leaf(256)
    optimizer = Momentum(params)

    def stretch(state):
        outs = []
        for _ in range(blocks(20, scale)):
            state = cell(rec.constant(batch, 256), state)
            outs.append(state[0])
        rows = batch * len(outs)
        loss = cross_entropy(linear(cat(outs, 0), *head), rec.constant(rows, item=8))
        return loss, tuple(map(detach, state))

    state = cell.start(batch)
    for _ in range(6):
        loss, state = stretch(state)
        backward(loss)
        del loss
        optimizer.step()
    return params, optimizer, state


def encdec(rec, scale=1.0, batch=128):
    """A recurrent encoder of 40 words and a decoder of 30 that looks back at all of them."""
    params = Params(rec)
    width, words = 512, 1000
    table = params.leaf(words, width)
    encoder, decoder = LstmCell(params, width, width), LstmCell(params, 2 * width, width)
    steps, steps_out = blocks(40, scale), blocks(30, scale)

    def look(h, memory):
        """Attention: the states of the encoder, weighted by how like they are to h."""
        query = view(h, batch, width, 1)
        weights = softmax(view(bmm(memory, query), batch, steps))
        return view(bmm(view(weights, batch, 1, steps), memory), batch, width)

    def forward():
        outs = encoder.run([embedding(table, rec.constant(batch, item=8)) for _ in range(steps)])
        memory = transpose(view(cat(outs, 0), steps, batch, width), 0, 1)
        state, read = (outs[-1], rec.constant(batch, width)), []
        for _ in range(steps_out):
            word = embedding(table, rec.constant(batch, item=8))
            state = decoder(cat([word, look(state[0], memory)]), state)
            read.append(state[0])
        return read_out(params, read, words)

    train(rec, forward, [])
    descend(params)
    return params


class TreeCell:
    """Two children of one state each make their parent's."""

    def __init__(self, params, width):
        self.leaf = params.leaf(width, width), params.leaf(width)
        self.left, self.right = params.leaf(3 * width, width), params.leaf(3 * width, width)
        self.bias = params.leaf(3 * width)

    def read(self, x):
        return tanh(linear(x, *self.leaf))

    def join(self, a, b):
        i, f, u = split(add(linear(a, self.left, self.bias), linear(b, self.right)), 3)
        return add(mul(sigmoid(i), tanh(u)), mul(sigmoid(f), add(a, b)))


def tree(rec, scale=1.0, batch=256):
    """A full tree of 64 leaves of width 512, walked level by level from the leaves."""
    params = Params(rec)
    cell = TreeCell(params, 512)

    def forward(*leaves):
        level = [cell.read(x) for x in leaves]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2])
            level = [cell.join(a, b) for a, b in pairs]
        return total(level[0])

    levels = blocks(6, scale)
    train(rec, forward, [rec.constant(batch, 512) for _ in range(2**levels)])
    descend(params)
    return params


def randomtree(rec, scale=1.0, batch=256, seed=1):
    """48 leaves of width 512 joined in an order drawn by chance: deep here, flat there."""
    params = Params(rec)
    cell = TreeCell(params, 512)
    draw = Draw(seed)

    def node(leaves):
        """A subtree over these leaves, the left part first."""
        if len(leaves) == 1:
            return cell.read(leaves[0])
        cut = draw.between(1, len(leaves) - 1)
        left = node(leaves[:cut])
        return cell.join(left, node(leaves[cut:]))

    train(rec, lambda *leaves: total(node(leaves)),
          [rec.constant(batch, 512) for _ in range(max(2, blocks(48, scale)))])
    descend(params)
    return params
