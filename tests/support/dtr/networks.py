"""Networks of layers for the recorder: other shapes than those of the published logs."""
from draw import Draw
from engine import backward
from images import BatchNorm, Conv, Params, blocks, classify, pool, train, upsample
from ops import (add, add_, bce_with_logits, cat, cross_entropy, index_add_, layer_norm, like,
                 linear, relu, relu_, rows_of, scale_rows, sigmoid, softmax, tanh, total, view)
from optim import Momentum, descend
from recorder import Out


def dense_layer(params, wide, narrow):
    return params.leaf(narrow, wide), params.leaf(narrow)


def mlp(rec, scale=1.0, batch=4096):
    """24 layers of width 512, and an update with momentum."""
    params = Params(rec)
    layers = [dense_layer(params, 512, 512) for _ in range(blocks(24, scale))]
    head = dense_layer(params, 512, 10)
    optimizer = Momentum(params)

    def forward(x, target):
        for layer in layers:
            x = relu(linear(x, *layer))
        return cross_entropy(linear(x, *head), target)

    train(rec, forward, [rec.constant(batch, 512), rec.constant(batch, item=8)])
    optimizer.step()
    return params, optimizer


def dense(rec, scale=1.0, batch=4096):
    """20 linear layers, each of which reads what all before it made, joined."""
    params = Params(rec)

    def forward(x, target):
        features = [x]
        for _ in range(blocks(20, scale)):
            wide = cat(features) if len(features) > 1 else x
            features.append(tanh(linear(wide, *dense_layer(params, wide.shape[1], 128))))
        joined = cat(features)
        return cross_entropy(linear(joined, *dense_layer(params, joined.shape[1], 10)), target)

    train(rec, forward, [rec.constant(batch, 256), rec.constant(batch, item=8)])
    descend(params)
    return params


def unit(params, x, cout, stride=1):
    """Convolution, norm and relu in place."""
    conv = Conv(params, x.shape[1], cout, 3, stride, 1)
    return relu_(BatchNorm(params, cout)(conv(x)))


def multitask(rec, scale=1.0, batch=32):
    """A trunk of convolutions, five heads of which each has a loss; their sum goes backward."""
    params = Params(rec)

    def trunk(x):
        for width, stride in ((32, 1), (64, 2), (128, 2)):
            x = unit(params, x, width, stride)
            for _ in range(blocks(4, scale)):
                x = add(x, unit(params, x, width))
        return x

    def head(x):
        for _ in range(blocks(3, scale)):
            x = unit(params, x, 64)
        return classify(params, x, 100, rec.constant(batch, item=8))

    def forward(x):
        x = trunk(x)
        loss = head(x)
        for _ in range(4):
            loss = add(loss, head(x))
        return loss

    train(rec, forward, [rec.constant(batch, 3, 128, 128)])
    descend(params)
    return params


class Experts:
    """A router sends each row to one of the experts; their answers are added where they belong."""

    def __init__(self, params, width, count, draw):
        self.rec, self.width, self.draw = params.rec, width, draw
        self.router = params.leaf(count, width)
        self.experts = [(dense_layer(params, width, 2 * width),
                         dense_layer(params, 2 * width, width)) for _ in range(count)]
        self.norm = params.leaf(width), params.leaf(width)

    def shares(self, rows):
        """How many rows each expert gets: uneven, all in all as many as there are."""
        weights = [0.2 + self.draw.random() for _ in self.experts]
        return [max(1, int(rows * w / sum(weights))) for w in weights]

    def __call__(self, x):
        gates = softmax(linear(x, self.router))
        out = self.rec.call("zeros_like", [x], [like(x)])[0]
        for (inner, outer), rows in zip(self.experts, self.shares(x.shape[0])):
            index = self.rec.call("nonzero", [gates], [Out((rows,), 8)])[0]
            y = linear(relu(linear(rows_of(x, index), *inner)), *outer)
            gate = view(rows_of(gates, index, 1), rows, 1)
            index_add_(out, index, scale_rows(y, gate))
        return layer_norm(add(x, out), *self.norm)


def moe(rec, scale=1.0, batch=16384, seed=1):
    """Six layers of eight experts of width 256 between linear layers."""
    params = Params(rec)
    draw = Draw(seed)
    layers = [Experts(params, 256, 8, draw) for _ in range(blocks(6, scale))]
    mixes = [dense_layer(params, 256, 256) for _ in layers]
    head = dense_layer(params, 256, 100)

    def forward(x, target):
        for layer, mix in zip(layers, mixes):
            x = layer(relu(linear(x, *mix)))
        return cross_entropy(linear(x, *head), target)

    train(rec, forward, [rec.constant(batch, 256), rec.constant(batch, item=8)])
    descend(params)
    return params


def bottleneck(params, x, mid, stride):
    """Three convolutions beside a shortcut, as in ResNet-50."""
    skip = x
    for kernel, width, step in ((1, mid, 1), (3, mid, stride)):
        conv = Conv(params, x.shape[1], width, kernel, step, kernel // 2)
        x = relu_(BatchNorm(params, width)(conv(x)))
    x = BatchNorm(params, 4 * mid)(Conv(params, mid, 4 * mid, 1)(x))
    if skip.shape != x.shape:
        conv = Conv(params, skip.shape[1], 4 * mid, 1, stride)
        skip = BatchNorm(params, 4 * mid)(conv(skip))
    return relu_(add_(x, skip))


def resnet(rec, scale=1.0, batch=32):
    """ResNet-50 on images of 224 x 224, relu in place, and an update with momentum."""
    params = Params(rec)

    def forward(x, target):
        x = relu_(BatchNorm(params, 64)(Conv(params, 3, 64, 7, 2, 3)(x)))
        x = pool(x, 3, 2, 1, "max")
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(blocks(count, scale)):
                x = bottleneck(params, x, 64 << stage, 2 if stage and i == 0 else 1)
        return classify(params, x, 1000, target)

    train(rec, forward, [rec.constant(batch, 3, 224, 224), rec.constant(batch, item=8)])
    optimizer = Momentum(params)
    optimizer.step()
    return params, optimizer


def skips(rec, scale=1.0, batch=16, seed=1):
    """120 convolutions, each over up to five of the last twenty maps, joined."""
    params = Params(rec)
    draw = Draw(seed)

    def forward(x, target):
        maps = [unit(params, x, 32)]
        for _ in range(blocks(120, scale)):
            x = cat(draw.some(maps[:-1], draw.between(0, 4)) + maps[-1:])
            maps = maps[-19:] + [relu(Conv(params, x.shape[1], 32, 3, 1, 1)(x))]
        return classify(params, maps[-1], 10, target)

    train(rec, forward, [rec.constant(batch, 3, 56, 56), rec.constant(batch, item=8)])
    descend(params)
    return params


class Unit:
    """Convolution, norm and relu in place, to be used more than once."""

    def __init__(self, params, cin, cout):
        self.conv, self.norm = Conv(params, cin, cout, 3, 1, 1), BatchNorm(params, cout)

    def __call__(self, x):
        return relu_(self.norm(self.conv(x)))


def inference(rec, scale=1.0, batch=8):
    """Three batches through 24 convolutions and back over all of their maps, without gradients; the
    answers are kept."""
    params = Params(rec)
    rec.grad_on = False
    count = blocks(24, scale)
    there = [Unit(params, 32 if i else 3, 32) for i in range(count)]
    again = [Unit(params, 32, 32) for _ in range(count)]
    answers = []
    for _ in range(3):
        maps = [rec.constant(batch, 3, 96, 96)]
        for layer in there:
            maps.append(layer(maps[-1]))
        x = maps.pop()
        for layer in again[1:]:
            x = add(layer(x), maps.pop())
        answers.append(total(again[0](x)))
        del maps
    return params, answers


def accumulate(rec, scale=1.0, batch=16):
    """Gradients of eight small batches are added up before one update."""
    params = Params(rec)
    convs = [Conv(params, wide, 64, 3, 1, 1) for wide in [3] + [64] * blocks(11, scale)]
    norms = [BatchNorm(params, 64) for _ in convs]
    head = dense_layer(params, 64, 100)
    optimizer = Momentum(params)

    def forward():
        x = rec.constant(batch, 3, 64, 64)
        for conv, norm in zip(convs, norms):
            x = relu(norm(conv(x)))
        x = view(pool(x, 64, 1), batch, 64)
        return cross_entropy(linear(x, *head), rec.constant(batch, item=8))

    for _ in range(8):
        backward(forward())
    optimizer.step()
    return params, optimizer


class Pair:
    """A generator of images from noise, and a discriminator that halves them down to one number."""

    def __init__(self, rec, batch, scale):
        self.rec, self.batch = rec, batch
        self.base = max(8, int(32 * scale))
        self.made, self.judge = Params(rec), Params(rec)
        self.start = dense_layer(self.made, 128, 8 * self.base * 16)
        self.up = [[Conv(self.made, a * self.base // 2, b * self.base // 2, 3, 1, 1)
                    for a, b in ((2 * wide, wide), (wide, wide), (wide, wide))]
                   for wide in (8, 4, 2)]
        self.norms = [[BatchNorm(self.made, conv.weight.shape[0]) for conv in stage]
                      for stage in self.up]
        self.last = Conv(self.made, self.base, 3, 3, 1, 1, bias=True)
        widths = [3] + [self.base << i for i in range(4)]
        self.down = [Conv(self.judge, a, b, 3, 1 + (a != b), 1)
                     for wide, b in zip(widths, widths[1:]) for a in (wide, b)]
        self.head = dense_layer(self.judge, 16 * widths[-1], 1)

    def generate(self):
        x = linear(self.rec.constant(self.batch, 128), *self.start)
        x = view(x, self.batch, 8 * self.base, 4, 4)
        for convs, norms in zip(self.up, self.norms):
            x = upsample(x)
            for conv, norm in zip(convs, norms):
                x = relu(norm(conv(x)))
        return tanh(upsample(self.last(x)))

    def loss(self, x):
        for conv in self.down:
            x = relu(conv(x))
        x = linear(view(x, self.batch, x.shape[1] * 16), *self.head)
        return bce_with_logits(sigmoid(x), self.rec.constant(self.batch, 1))


def gan(rec, scale=1.0, batch=64):
    """Three rounds: the discriminator on true and on made images, then the generator through it."""
    pair = Pair(rec, batch, scale)
    optimizers = Momentum(pair.judge), Momentum(pair.made)
    for _ in range(3):
        fake = pair.generate()
        real = pair.loss(rec.constant(batch, 3, 64, 64))
        backward(add(real, pair.loss(rec.copy(fake))))
        del real
        optimizers[0].step()
        backward(pair.loss(fake))
        del fake
        for leaf in pair.judge.all:
            leaf.grad = None
        optimizers[1].step()
    return pair, optimizers
