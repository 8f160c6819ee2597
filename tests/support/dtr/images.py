"""Convolutional networks for the recorder: the ops of images, and four models built of them."""
from ops import (add, add_, bce_with_logits, cat, cross_entropy, like, linear, pad, relu, relu_,
                 slice_of, view)
from engine import backward
from recorder import Out


class Params:
    """Parameters and buffers, in the order of their making."""

    def __init__(self, rec):
        self.rec = rec
        self.all = []

    def leaf(self, *shape):
        self.all.append(self.rec.parameter(*shape))
        return self.all[-1]

    def buffer(self, *shape, item=4):
        self.all.append(self.rec.parameter(*shape, item=item, leaf=False))
        return self.all[-1]


def conv_out(x, weight, stride, padding):
    size = [(n + 2 * p - k) // stride + 1
            for n, k, p in zip(x.shape[2:], weight.shape[2:], padding)]
    return (x.shape[0], weight.shape[0], *size)


def conv_op(x, weight, stride, padding):
    shape = conv_out(x, weight, stride, padding)
    flops = 2 * weight.bytes // 4 * shape[0] * shape[2] * shape[3]
    out, = x.rec.call("cudnn_convolution", [x, weight], [Out(shape)], flops)
    x_shape, x_grad = x.shape, x.link is not None

    def gradient(g, x0, w0):
        outs = [Out(x_shape if x_grad else (0,)), like(w0)]
        return g.rec.call("cudnn_convolution_backward", [x0, g, w0], outs,
                          flops * (2 if x_grad else 1))
    x.rec.track([x, weight], [out], gradient, [x, weight])
    return out


class Conv:
    def __init__(self, params, cin, cout, kernel, stride=1, padding=0, bias=False):
        kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        self.padding = padding if isinstance(padding, tuple) else (padding, padding)
        self.stride = stride
        self.weight = params.leaf(cout, cin, *kernel)
        self.bias = params.leaf(cout) if bias else None

    def __call__(self, x):
        out = conv_op(x, self.weight, self.stride, self.padding)
        if self.bias is not None:
            add_(out, view(self.bias, 1, self.bias.shape[0], 1, 1))
        return out


class BatchNorm:
    """In training: statistics are read as arguments, the count of batches is written in place."""

    def __init__(self, params, channels):
        self.weight, self.bias = params.leaf(channels), params.leaf(channels)
        self.mean, self.var = params.buffer(channels), params.buffer(channels)
        self.batches = params.buffer(item=8)

    def __call__(self, x):
        rec = x.rec
        rec.mutate("add_", [self.batches, rec.scalar()])
        channel = Out(self.weight.shape)
        outs = rec.call("cudnn_batch_norm", [x, self.weight, self.bias, self.mean, self.var],
                        [like(x), channel, channel, Out((0,), 1)])

        def gradient(g, _mean, _var, _reserve, x0, *saved):
            return g.rec.call("cudnn_batch_norm_backward", [x0, g, *saved],
                              [like(x0), channel, channel])
        rec.track([x, self.weight, self.bias], outs, gradient,
                  [x, self.weight, self.mean, self.var, *outs[1:]])
        return outs[0]


def pool(x, size, stride, padding=0, kind="avg"):
    """Average pooling, or maximum pooling, which keeps the places of the maxima."""
    sides = [(n + 2 * padding - size) // stride + 1 for n in x.shape[2:]]
    shape = (*x.shape[:2], *sides)
    if kind == "avg":
        outs = x.rec.call("avg_pool2d", [x], [Out(shape)])
        x.rec.track([x], outs, lambda g, x0: g.rec.call(
            "avg_pool2d_backward", [g, x0], [like(x0)]), [x])
    else:
        outs = x.rec.call("max_pool2d_with_indices", [x], [Out(shape), Out(shape, 8)])
        x.rec.track([x], outs, lambda g, _, x0, i0: g.rec.call(
            "max_pool2d_with_indices_backward", [g, x0, i0], [like(x0)]), [x, outs[1]])
    return outs[0]


def upsample(x):
    shape = x.shape
    larger = Out((*shape[:2], *[2 * n for n in shape[2:]]))
    outs = x.rec.call("upsample_bilinear2d", [x], [larger])
    x.rec.track([x], outs, lambda g: g.rec.call("upsample_bilinear2d_backward", [g], [Out(shape)]))
    return outs[0]


def classify(params, x, classes, target):
    """Global average, one linear layer, the loss."""
    weight, bias = params.leaf(classes, x.shape[1]), params.leaf(classes)
    x = pool(x, x.shape[2], 1)
    return cross_entropy(linear(view(x, *x.shape[:2]), weight, bias), target)


def train(rec, forward, inputs):
    """One step: what the loss and the inputs hold is gone at its end, gradients stay."""
    loss = forward(*inputs)
    rec.annotate("BACKWARD")
    backward(loss)
    inputs.clear()


def blocks(count, scale):
    return max(1, round(count * scale))


def resnet32(rec, scale=1.0, batch=56):
    """The CIFAR ResNet of 3 stages, on images of 224 x 224; relu out of place."""
    params = Params(rec)

    def unit(x, cin, cout, stride):
        conv1, bn1 = Conv(params, cin, cout, 3, stride, 1), BatchNorm(params, cout)
        conv2, bn2 = Conv(params, cout, cout, 3, 1, 1), BatchNorm(params, cout)
        out = bn2(conv2(relu(bn1(conv1(x)))))
        if cin != cout:
            half = [(n + 1) // 2 for n in x.shape[2:]]
            x = slice_of(slice_of(x, *x.shape[:2], half[0], x.shape[3]), *x.shape[:2], *half)
            x = pad(x, x.shape[0], cout, *half)
        return relu(add(out, x))

    def forward(x, target):
        conv, bn = Conv(params, 3, 16, 3, 1, 1), BatchNorm(params, 16)
        x = relu(bn(conv(x)))
        for cin, cout in ((16, 16), (16, 32), (32, 64)):
            for i in range(blocks(5, scale)):
                x = unit(x, cin if i == 0 else cout, cout, 2 if i == 0 and cin != cout else 1)
        return classify(params, x, 10, target)

    train(rec, forward, [rec.constant(batch, 3, 224, 224), rec.constant(batch, item=8)])
    return params


def densenet121(rec, scale=1.0, batch=84):
    """Every layer reads the concatenation of all before it; relu in place."""
    params = Params(rec)

    def norm_conv(x, cout, kernel, padding=0):
        bn, conv = BatchNorm(params, x.shape[1]), Conv(params, x.shape[1], cout, kernel, 1, padding)
        return conv(relu_(bn(x)))

    def dense(x, layers):
        features = [x]
        for _ in range(layers):
            features.append(norm_conv(norm_conv(cat(features), 128, 1), 32, 3, 1))
        return cat(features)

    def forward(x, target):
        conv, bn = Conv(params, 3, 64, 7, 2, 3), BatchNorm(params, 64)
        x = pool(relu_(bn(conv(x))), 3, 2, 1, "max")
        for i, layers in enumerate((6, 12, 24, 16)):
            x = dense(x, blocks(layers, scale))
            if i < 3:
                x = pool(norm_conv(x, x.shape[1] // 2, 1), 2, 2)
        return classify(params, relu_(BatchNorm(params, x.shape[1])(x)), 1000, target)

    train(rec, forward, [rec.constant(batch, 3, 224, 224), rec.constant(batch, item=8)])
    return params


def unet(rec, scale=1.0, batch=6):
    """Four halvings and back, with bilinear upsampling; convolutions have biases added in place."""
    params = Params(rec)
    base = max(8, int(64 * scale))

    def double(x, mid, cout):
        for width in (mid, cout):
            conv = Conv(params, x.shape[1], width, 3, 1, 1, bias=True)
            x = relu_(BatchNorm(params, width)(conv(x)))
        return x

    def up(x, skip, cout):
        x = upsample(x)
        x = pad(x, *x.shape[:2], *skip.shape[2:])
        x = cat([skip, x])
        return double(x, x.shape[1] // 2, cout)

    def forward(x, target):
        skips = [double(x, base, base)]
        for times in (2, 4, 8, 8):
            skips.append(double(pool(skips[-1], 2, 2, 0, "max"), base * times, base * times))
        x = skips.pop()
        for times in (4, 2, 1, 1):
            x = up(x, skips.pop(), base * times)
        return bce_with_logits(Conv(params, x.shape[1], 1, 1, bias=True)(x), target)

    train(rec, forward, [rec.constant(batch, 3, 416, 608), rec.constant(batch, 1, 416, 608)])
    return params


class Inception:
    """The parts of InceptionV4: convolution + norm + relu in place, in branches."""

    def __init__(self, params):
        self.params = params

    def conv(self, x, cout, kernel, stride=1, padding=0):
        conv = Conv(self.params, x.shape[1], cout, kernel, stride, padding)
        return relu_(BatchNorm(self.params, cout)(conv(x)))

    def chain(self, x, *steps):
        for step in steps:
            x = self.conv(x, *step)
        return x

    def mixed(self, x, *branches, last=()):
        """Branches side by side; those of `last` read a pooled x ("avg" or "max")."""
        outs = [self.chain(x, *steps) for steps in branches]
        for kind, steps in last:
            pooled = pool(x, 3, 1, 1) if kind == "avg" else pool(x, 3, 2, 0, "max")
            outs.append(self.chain(pooled, *steps))
        return cat(outs)

    def stem(self, x):
        x = self.chain(x, (32, 3, 2), (32, 3), (64, 3, 1, 1))
        x = self.mixed(x, [(96, 3, 2)], last=[("max", [])])
        x = self.mixed(x, [(64, 1), (96, 3)],
                       [(64, 1), (64, (1, 7), 1, (0, 3)), (64, (7, 1), 1, (3, 0)), (96, 3)])
        return self.mixed(x, [(192, 3, 2)], last=[("max", [])])

    def a(self, x):
        return self.mixed(x, [(96, 1)], [(64, 1), (96, 3, 1, 1)],
                          [(64, 1), (96, 3, 1, 1), (96, 3, 1, 1)], last=[("avg", [(96, 1)])])

    def b(self, x):
        flat, tall = ((1, 7), 1, (0, 3)), ((7, 1), 1, (3, 0))
        return self.mixed(x, [(384, 1)], [(192, 1), (224, *flat), (256, *tall)],
                          [(192, 1), (192, *tall), (224, *flat), (224, *tall), (256, *flat)],
                          last=[("avg", [(128, 1)])])

    def c(self, x):
        flat, tall = ((1, 3), 1, (0, 1)), ((3, 1), 1, (1, 0))
        first = self.chain(x, (256, 1))
        second = self.chain(x, (384, 1))
        second = cat([self.conv(second, 256, *flat), self.conv(second, 256, *tall)])
        third = self.chain(x, (384, 1), (448, *tall), (512, *flat))
        third = cat([self.conv(third, 256, *flat), self.conv(third, 256, *tall)])
        return cat([first, second, third, self.chain(pool(x, 3, 1, 1), (256, 1))])

    def smaller(self, x, deep):
        if not deep:
            return self.mixed(x, [(384, 3, 2)], [(192, 1), (224, 3, 1, 1), (256, 3, 2)],
                              last=[("max", [])])
        return self.mixed(x, [(192, 1), (192, 3, 2)],
                          [(256, 1), (256, (1, 7), 1, (0, 3)), (320, (7, 1), 1, (3, 0)),
                           (320, 3, 2)], last=[("max", [])])


def inception_v4(rec, scale=1.0, batch=64):
    params = Params(rec)
    net = Inception(params)

    def forward(x, target):
        x = net.stem(x)
        for _ in range(blocks(4, scale)):
            x = net.a(x)
        x = net.smaller(x, deep=False)
        for _ in range(blocks(7, scale)):
            x = net.b(x)
        x = net.smaller(x, deep=True)
        for _ in range(blocks(3, scale)):
            x = net.c(x)
        return classify(params, x, 1001, target)

    train(rec, forward, [rec.constant(batch, 3, 299, 299), rec.constant(batch, item=8)])
    return params
