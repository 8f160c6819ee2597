"""Programs drawn by chance for the recorder: what no network looks like, and what one might."""
from draw import Draw
from images import Params, blocks, train
from ops import (add, cat, dropout, layer_norm, linear, mul, relu, relu_, sigmoid, tanh, total)
from optim import Momentum
from recorder import Out

KIB = 256  # elements


class Wild:
    """Calls, views and writes in place over what is held; most read what was made of late."""

    def __init__(self, rec, draw):
        self.rec, self.draw = rec, draw
        self.held = [rec.parameter(64 * KIB, leaf=False) for _ in range(8)]

    def size(self):
        """64 KiB to 16 MiB, each doubling as likely."""
        return KIB * 64 << self.draw.between(0, 8)

    def arguments(self, most):
        near = self.held[-24:] if self.draw.chance(0.85) else self.held
        return self.draw.some(near, self.draw.between(1, most))

    def call(self):
        """Half of the calls take as long as their bytes do, the others up to 2 ms."""
        outs = [Out((self.size(),)) for _ in range(2 if self.draw.chance(0.2) else 1)]
        flops = 0 if self.draw.chance(0.5) else int(1.4e10 * self.draw.random() ** 2)
        self.held += self.rec.call("f", self.arguments(3), outs, flops)

    def view(self):
        base = self.draw.pick(self.held[-24:])
        self.held += self.rec.call("view", [base], [Out(base.shape, alias=0)])

    def write(self):
        args = self.arguments(2)
        self.rec.mutate("f_", args, (self.draw.between(0, len(args) - 1),))

    def let_go(self):
        """The older, the likelier."""
        self.held.pop(int(len(self.held) * self.draw.random() ** 2))

    def step(self):
        kind = self.draw.random()
        (self.call if kind < 0.75 else self.view if kind < 0.87 else self.write)()
        while len(self.held) > 60 or (len(self.held) > 8 and self.draw.chance(0.3)):
            self.let_go()


def wild(rec, scale=1.0, seed=1):
    """1200 steps of calls, views and writes; the eight values of the end stay."""
    program = Wild(rec, Draw(seed))
    for _ in range(blocks(1200, scale)):
        program.step()
    del program.held[:-8]
    return program


class Net:
    """A graph of layers over rows of many widths; what nobody reads in the end is in the loss."""

    def __init__(self, params, draw, x):
        self.params, self.draw = params, draw
        self.values, self.unread = [x], {0}

    def near(self):
        """One of the last few, or sometimes any."""
        last = len(self.values) - 1
        first = 0 if self.draw.chance(0.1) else max(0, last - 8)
        index = self.draw.between(first, last)
        self.unread.discard(index)
        return self.values[index]

    def dense(self, x, width):
        return linear(x, self.params.leaf(width, x.shape[1]), self.params.leaf(width))

    def layer(self):
        x = self.near()
        kind = self.draw.between(0, 9)
        if kind < 3:
            x = relu_(self.dense(x, 64 << self.draw.between(0, 4)))
        elif kind < 6:
            x = self.draw.pick([relu, tanh, sigmoid, dropout])(x)
        elif kind < 8:
            other = self.near()
            other = other if other.shape == x.shape else self.dense(other, x.shape[1])
            x = self.draw.pick([add, mul])(x, other)
        elif kind < 9 and x.shape[1] <= 1024:
            x = cat([x, self.near()])
        else:
            x = layer_norm(x, self.params.leaf(x.shape[1]), self.params.leaf(x.shape[1]))
        self.unread.add(len(self.values))
        self.values.append(x)

    def loss(self):
        loss = None
        for index in sorted(self.unread):
            part = total(self.values[index])
            loss = part if loss is None else add(loss, part)
        return loss


def wildtrain(rec, scale=1.0, batch=2048, seed=1):
    """A graph of 150 layers drawn by chance: forward, backward, an update with momentum."""
    params = Params(rec)

    def forward(x):
        net = Net(params, Draw(seed), x)
        for _ in range(blocks(150, scale)):
            net.layer()
        return net.loss()

    train(rec, forward, [rec.constant(batch, 256)])
    optimizer = Momentum(params)
    optimizer.step()
    return params, optimizer
