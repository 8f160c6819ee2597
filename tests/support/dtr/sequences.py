"""Transformer, LSTM, TreeLSTM and an unrolled GAN for the recorder."""
import ops
from engine import backward
from images import Params, blocks, train
from ops import (add, add_, bmm, contiguous, dropout, layer_norm, linear, mul, mul_scalar, nll_loss,
                 relu, sigmoid, slice_of, softmax, split, tanh, total, transpose, view)


class Attention:
    """Multi-head attention over (steps, batch, width), as torch.nn.functional had it in 2020."""

    def __init__(self, params, width, heads):
        self.width, self.heads = width, heads
        self.in_weight, self.in_bias = params.leaf(3 * width, width), params.leaf(3 * width)
        self.out_weight, self.out_bias = params.leaf(width, width), params.leaf(width)

    def project(self, x, parts):
        """The first of three projections of x, the last two, or all three."""
        width = parts * self.width
        weight, bias = self.in_weight, self.in_bias
        if parts < 3:
            weight, bias = slice_of(weight, width, self.width), slice_of(bias, width)
        out = linear(x, weight, bias)
        return split(out, parts) if parts > 1 else [out]

    def by_head(self, x):
        steps, batch, width = x.shape
        x = view(contiguous(x), steps, batch * self.heads, width // self.heads)
        return transpose(x, 0, 1)

    def __call__(self, query, memory):
        if query is memory:
            q, k, v = self.project(query, 3)
        else:
            q, = self.project(query, 1)
            k, v = self.project(memory, 2)
        q, k, v = self.by_head(mul_scalar(q)), self.by_head(k), self.by_head(v)
        weights = dropout(softmax(bmm(q, transpose(k, 1, 2))))
        out = contiguous(transpose(bmm(weights, v), 0, 1))
        out = linear(view(out, *query.shape), self.out_weight, self.out_bias)
        self.average(weights, query.shape[1])
        return out

    def average(self, weights, batch):
        """The mean over heads, which nobody reads."""
        heads, steps = self.heads, weights.shape[1:]
        ops.div_scalar(ops.sum_dims(view(weights, batch, heads, *steps), (batch, *steps)))


class Layer:
    """Attention (to itself, then perhaps to a memory) and two linear layers, norms after."""

    def __init__(self, params, width, heads, memory):
        self.attend = [Attention(params, width, heads) for _ in range(2 if memory else 1)]
        self.inner = params.leaf(4 * width, width), params.leaf(4 * width)
        self.outer = params.leaf(width, 4 * width), params.leaf(width)
        self.norms = [(params.leaf(width), params.leaf(width)) for _ in range(3 if memory else 2)]

    def __call__(self, x, memory=None):
        norms = iter(self.norms)
        for attention, source in zip(self.attend, (None, memory)):
            x = add(x, dropout(attention(x, x if source is None else source)))
            x = layer_norm(x, *next(norms))
        inner = dropout(relu(linear(x, *self.inner)))
        return layer_norm(add(x, dropout(linear(inner, *self.outer))), *next(norms))


def transformer(rec, scale=1.0, batch=10):
    """12 encoder and 6 decoder layers of width 512, 16 heads; 512 steps in, 20 steps out."""
    params = Params(rec)
    width, heads = 512, 16
    encoder = [Layer(params, width, heads, False) for _ in range(blocks(12, scale))]
    encoder_norm = params.leaf(width), params.leaf(width)
    decoder = [Layer(params, width, heads, True) for _ in range(blocks(6, scale))]
    decoder_norm = params.leaf(width), params.leaf(width)

    def forward(source, x, labels):
        for layer in encoder:
            source = layer(source)
        source = layer_norm(source, *encoder_norm)
        for layer in decoder:
            x = layer(x, source)
        return nll_loss(layer_norm(x, *decoder_norm), labels, "nll_loss2d")

    train(rec, forward, [rec.constant(512, batch, width), rec.constant(20, batch, width),
                         rec.constant(20, width, item=8)])
    return params


class Cell:
    """The LSTM cell of the DTR experiments: any number of children, states summed in place."""

    def __init__(self, params, width_in, width):
        self.ioux = params.leaf(3 * width, width_in), params.leaf(3 * width)
        self.iouh = params.leaf(3 * width, width)
        self.fx = params.leaf(width, width_in), params.leaf(width)
        self.fh = params.leaf(width, width)

    def __call__(self, x, children):
        iou = linear(x, *self.ioux)
        if children:
            state = children[0][0]
            for c, _ in children[1:]:
                state = add(state, c)
            iou = add(iou, linear(state, self.iouh))
        i, o, u = split(iou, 3)
        i, o, u = sigmoid(i, hold=True), sigmoid(o, hold=True), tanh(u, hold=True)
        c = mul(i, u)
        fx = linear(x, *self.fx)
        for _, h in children:
            add_(c, sigmoid(mul(fx, linear(h, self.fh))))
        return c, mul(o, tanh(c))


def lstm(rec, scale=1.0, batch=512):
    """128 steps of width 1700 on inputs of width 512; the loss reads the last state."""
    params = Params(rec)
    cell = Cell(params, 512, 1700)

    def forward(*steps):
        c, h = rec.constant(1, 1700), rec.constant(1, 1700)
        states = []
        for x in steps:
            c, h = cell(x, [(c, h)])
            states.append(c)
        return total(states[-1])

    train(rec, forward, [rec.constant(batch, 512) for _ in range(blocks(128, scale))])
    return params


def treelstm(rec, scale=1.0, batch=100):
    """A full binary tree of 7 levels of nodes of width 300; the loss reads the root's state."""
    params = Params(rec)
    cell = Cell(params, 10, 300)
    levels = blocks(7, scale)

    def node(steps, level):
        children = [node(steps, level + 1) for _ in range(2)] if level < levels else []
        return cell(next(steps), children)

    def forward(*steps):
        return total(node(iter(steps), 1)[0])

    train(rec, forward, [rec.constant(batch, 10) for _ in range(2**levels - 1)])
    return params


class Net:
    """Three linear layers with relu between them; the weights may be others than its own."""

    def __init__(self, params, *widths, squash):
        self.squash = squash
        self.weights = []
        for n, m in zip(widths, widths[1:]):
            self.weights += [params.leaf(m, n), params.leaf(m)]

    def __call__(self, x, weights=None):
        w = self.weights if weights is None else weights
        x = relu(linear(x, w[0], w[1]))
        x = relu(linear(x, w[2], w[3]))
        x = linear(x, w[4], w[5])
        return sigmoid(x) if self.squash else x


def entropy(x, target):
    """Binary cross-entropy spelled out."""
    yes = mul(ops.log(x), target)
    no = mul(ops.log(ops.rsub_scalar(x)), ops.rsub_scalar(target))
    return ops.mean(ops.neg(add(yes, no)))


class Gan:
    """A discriminator trained on ahead, differentiably, before the generator's step."""

    def __init__(self, rec, batch):
        self.rec, self.batch = rec, batch
        self.params = Params(rec)
        self.g = Net(self.params, 256, 512, 512, 2, squash=False)
        self.d = Net(self.params, 2, 512, 512, 1, squash=True)

    def target(self, x, name):
        return self.rec.call(name, [x], [ops.like(x)])[0]

    def loss(self, weights, tracked):
        """On a batch of data and on a batch the generator made."""
        real = self.d(self.rec.constant(self.batch, 2), weights)
        real = entropy(real, self.target(real, "ones_like"))
        noise = self.rec.constant(self.batch, 256)
        self.rec.grad_on = tracked
        fake = self.g(noise)
        self.rec.grad_on = True
        fake = self.d(fake, weights)
        return add(real, entropy(fake, self.target(fake, "zeros_like")))

    def adam(self, leaves):
        """A step in place; the moments are new."""
        self.rec.grad_on = False
        for leaf in leaves:
            mean, square = (self.rec.call("zeros_like", [leaf], [ops.like(leaf)])[0]
                            for _ in range(2))
            self.rec.mutate("mul_", [mean, self.rec.scalar()])
            self.rec.mutate("add_", [mean, leaf.grad])
            self.rec.mutate("mul_", [square, self.rec.scalar()])
            self.rec.mutate("addcmul_", [square, leaf.grad, leaf.grad])
            root = ops.div_scalar(ops.sqrt(square))
            self.rec.mutate("add_", [root, self.rec.scalar()])
            self.rec.mutate("addcdiv_", [leaf, mean, root])
        self.rec.grad_on = True

    def look_ahead(self, weights, moments):
        """One differentiable step of the discriminator: new weights and moments."""
        grads = backward(self.loss(weights, True), weights, create_graph=True)
        out = []
        for i, (w, g) in enumerate(zip(weights, grads)):
            mean = add(mul_scalar(moments[i][0]), mul_scalar(g))
            square = ops.addcmul(mul_scalar(moments[i][1]), g, g)
            root = ops.add_scalar(ops.div_scalar(ops.sqrt(square)))
            out.append(ops.addcdiv(w, mean, root))
            moments[i] = mean, square
        return out

    def clone(self, x):
        out, = self.rec.call("clone", [x], [ops.like(x)])
        self.rec.track([x], [out], lambda g: [g])
        return out

    def train(self, steps):
        rec = self.rec
        backward(self.loss(None, False))
        self.adam(self.d.weights)
        for leaf in self.g.weights + self.d.weights:
            leaf.grad = None
        rec.grad_on = False
        backup = [self.clone(w) for w in self.d.weights]
        rec.grad_on = True
        weights = [self.clone(w) for w in self.d.weights]
        moments = [tuple(rec.call("zeros_like", [w], [ops.like(w)])[0] for _ in range(2))
                   for w in weights]
        noise = rec.constant(self.batch, 256)
        for _ in range(steps):
            weights = self.look_ahead(weights, moments)
        fake = self.d(self.g(noise), weights)
        loss = entropy(fake, self.target(fake, "ones_like"))
        rec.annotate("BACKWARD")
        backward(loss)
        self.adam(self.g.weights)
        rec.grad_on = False
        for weight, old in zip(self.d.weights, backup):
            rec.copy_from(weight, self.clone(old))
        rec.grad_on = True


def unrolled_gan(rec, scale=1.0, batch=512):
    gan = Gan(rec, batch)
    gan.train(blocks(10, scale))
    return gan
