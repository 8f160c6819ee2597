"""Ops of PyTorch 1.6 with the calls they and their derivatives made, for recorder.Recorder.

Only structure matters: which values an op reads, makes, views, writes over and saves. Which of
them a derivative needs is as in PyTorch's derivatives.yaml of that time (relu saves its input,
relu_ its output; softmax's derivative reads its input as well).
"""
import math

from recorder import Out


def like(t):
    return Out(t.shape, t.item)


def view(x, *shape, name="view", back=None):
    """A view of the whole of x; `back`: the shape's way back, by the same op."""
    out, = x.rec.call(name, [x], [Out(shape, x.item, 0)])
    before = x.shape
    x.rec.track([x], [out], lambda g: [back(g) if back else view(g, *before, name=name)])
    return out


def t(x):
    return view(x, *x.shape[::-1], name="t", back=t)


def transpose(x, a, b):
    shape = list(x.shape)
    shape[a], shape[b] = shape[b], shape[a]
    return view(x, *shape, name="transpose", back=lambda g: transpose(g, a, b))


def expand(x, *shape):
    """A value repeated without bytes of its own."""
    out, = x.rec.call("expand", [x], [Out(shape, x.item, 0)])
    before = x.shape
    x.rec.track([x], [out], lambda g: [sum_to(g, before)])
    return out


def sum_to(g, shape):
    """The gradient of what was broadcast."""
    if g.shape == tuple(shape):
        return g
    return view(sum_dims(g, shape), *shape)


def sum_dims(x, shape, name="sum"):
    out, = x.rec.call(name, [x], [Out(shape, x.item)])
    before = x.shape
    x.rec.track([x], [out], lambda g: [expand(g, *before)])
    return out


def total(x, name="sum"):
    return sum_dims(x, (), name)


def mean(x):
    out, = x.rec.call("mean", [x], [Out((), x.item)])
    before = x.shape
    x.rec.track([x], [out], lambda g: [div_scalar(expand(g, *before))])
    return out


def contiguous(x):
    out, = x.rec.call("contiguous", [x], [like(x)])
    x.rec.track([x], [out], lambda g: [g])
    return out


def slice_of(x, *shape):
    """A part of x, as a view."""
    out, = x.rec.call("slice", [x], [Out(shape, x.item, 0)])
    before = x.shape
    x.rec.track([x], [out], lambda g: [g.rec.call("slice_backward", [g], [Out(before)])[0]])
    return out


def pad(x, *shape):
    out, = x.rec.call("constant_pad_nd", [x], [Out(shape, x.item)])
    before = x.shape
    x.rec.track([x], [out], lambda g: [pad(g, *before)])
    return out


def zeros(rec, shape):
    """A value made of nothing: a call without arguments."""
    return rec.call("zeros", [], [Out(shape)])[0]


def split(x, parts):
    """Equal parts along the last axis, all of them views of x; a part unused counts as zeros."""
    rec, shape = x.rec, x.shape[:-1] + (x.shape[-1] // parts,)
    outs = rec.call("split", [x], [Out(shape, x.item, 0)] * parts)
    rec.track([x], outs, lambda *grads: [
        cat([zeros(rec, shape) if g is None else g for g in grads], len(shape) - 1)])
    return outs


def cat(parts, axis=1):
    shape = list(parts[0].shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    rec = parts[0].rec
    out, = rec.call("cat", parts, [Out(tuple(shape), parts[0].item)])
    shapes = [p.shape for p in parts]
    rec.track(parts, [out], lambda g: [narrow(g, s) for s in shapes])
    return out


def narrow(g, shape):
    return lambda: g.rec.call("narrow", [g], [Out(shape, g.item, 0)])[0]


def broadcast(a, b):
    return a if math.prod(a.shape) >= math.prod(b.shape) else b


def add(a, b):
    out, = a.rec.call("add", [a, b], [like(broadcast(a, b))])
    sa, sb = a.shape, b.shape
    a.rec.track([a, b], [out], lambda g: [lambda: sum_to(g, sa), lambda: sum_to(g, sb)])
    return out


def sub(a, b):
    out, = a.rec.call("sub", [a, b], [like(a)])
    a.rec.track([a, b], [out], lambda g: [g, lambda: neg(g)])
    return out


def add_(a, b):
    """a += b"""
    inputs, sb = [a, b], b.shape
    a.rec.mutate("add_", inputs)
    a.rec.track(inputs, [a], lambda g: [g, lambda: sum_to(g, sb)])
    return a


def mul(a, b):
    out, = a.rec.call("mul", [a, b], [like(broadcast(a, b))])
    a.rec.track([a, b], [out], lambda g, x, y: [lambda: mul(g, y), lambda: mul(g, x)],
                [a if b.link else None, b if a.link else None])
    return out


def div(a, b):
    out, = a.rec.call("div", [a, b], [like(a)])
    a.rec.track([a, b], [out], lambda g, x, y: [
        lambda: div(g, y), lambda: neg(mul(g, div(div(x, y), y)))], [a, b])
    return out


def scalar_op(name, back):
    """x and a number: the number is a constant that lives as long as the call."""
    def op(x):
        out, = x.rec.call(name, [x, x.rec.scalar()], [like(x)])
        x.rec.track([x], [out], lambda g: [lambda: back(g)])
        return out
    return op


def neg(x):
    out, = x.rec.call("neg", [x], [like(x)])
    x.rec.track([x], [out], lambda g: [lambda: neg(g)])
    return out


add_scalar = scalar_op("add", lambda g: g)
mul_scalar = scalar_op("mul", lambda g: mul_scalar(g))
div_scalar = scalar_op("div", lambda g: div_scalar(g))
rsub_scalar = scalar_op("rsub", neg)


def log(x):
    out, = x.rec.call("log", [x], [like(x)])
    x.rec.track([x], [out], lambda g, saved: [lambda: div(g, saved)], [x])
    return out


def sqrt(x):
    out, = x.rec.call("sqrt", [x], [like(x)])
    x.rec.track([x], [out], lambda g, root: [lambda: div(g, mul_scalar(root))], [out])
    return out


def addcmul(x, a, b, name="addcmul"):
    out, = x.rec.call(name, [x, a, b], [like(x)])
    x.rec.track([x, a, b], [out], lambda g, u, v: [
        g, lambda: mul(g, mul_scalar(v)), lambda: mul(g, mul_scalar(u))], [a, b])
    return out


def addcdiv(x, a, b):
    out, = x.rec.call("addcdiv", [x, a, b], [like(x)])
    x.rec.track([x, a, b], [out], lambda g, u, v: [
        g, lambda: mul(g, div(g, v)), lambda: neg(mul(g, div(mul_scalar(u), mul(v, v))))], [a, b])
    return out


def unary(name):
    """A function whose derivative is an op of its own that reads the result; `hold` keeps x, too,
    until then, unread."""
    def op(x, hold=False):
        out, = x.rec.call(name, [x], [like(x)])
        x.rec.track([x], [out], lambda g, y, _: [lambda: gradient(g, y)],
                    [out, x if hold else None])
        return out

    def gradient(g, y):
        out, = g.rec.call(name + "_backward", [g, y], [like(g)])
        g.rec.track([g, y], [out], lambda gg, g0, y0: [
            lambda: gradient(gg, y0), lambda: mul(mul(gg, g0), mul_scalar(y0))], [g, y])
        return out
    return op


sigmoid = unary("sigmoid")
tanh = unary("tanh")


def threshold_backward(g, x):
    out, = g.rec.call("threshold_backward", [g, x], [like(g)])
    g.rec.track([g], [out], lambda gg, x0: [lambda: threshold_backward(gg, x0)], [x])
    return out


def relu(x):
    out, = x.rec.call("relu", [x], [like(x)])
    x.rec.track([x], [out], lambda g, saved: [threshold_backward(g, saved)], [x])
    return out


def relu_(x):
    """Writes over x, and saves what it wrote."""
    inputs = [x]
    x.rec.mutate("relu_", inputs)
    x.rec.track(inputs, [x], lambda g, saved: [threshold_backward(g, saved)], [x])
    return x


def dropout(x):
    """With its mask, a byte an element, as a second result."""
    outs = x.rec.call("_fused_dropout", [x], [like(x), Out(x.shape, 1)])
    x.rec.track([x], outs, lambda g, _, mask: g.rec.call("_masked_scale", [g, mask], [like(g)]),
                [outs[1]])
    return outs[0]


def mm(a, b):
    n, k, m = a.shape[0], a.shape[1], b.shape[1]
    out, = a.rec.call("mm", [a, b], [Out((n, m))], flops=2 * n * k * m)
    a.rec.track([a, b], [out], lambda g, x, y: [lambda: mm(g, t(y)), lambda: mm(t(x), g)],
                [a if b.link else None, b if a.link else None])
    return out


def addmm(bias, a, b):
    n, k, m = a.shape[0], a.shape[1], b.shape[1]
    out, = a.rec.call("addmm", [bias, a, b], [Out((n, m))], flops=2 * n * k * m)
    shape = bias.shape
    a.rec.track([bias, a, b], [out], lambda g, x, y: [
        lambda: sum_to(g, shape), lambda: mm(g, t(y)), lambda: mm(t(x), g)],
                [a if b.link else None, b if a.link else None])
    return out


def bmm(a, b):
    batch, n, k = a.shape
    m = b.shape[2]
    out, = a.rec.call("bmm", [a, b], [Out((batch, n, m))], flops=2 * batch * n * k * m)
    a.rec.track([a, b], [out], lambda g, x, y: [
        lambda: bmm(g, transpose(y, 1, 2)), lambda: bmm(transpose(x, 1, 2), g)], [a, b])
    return out


def linear(x, weight, bias=None):
    """Rows through a matrix kept (out, in); more than two axes are folded into rows."""
    if len(x.shape) == 2:
        return addmm(bias, x, t(weight)) if bias is not None else mm(x, t(weight))
    rows = math.prod(x.shape[:-1])
    out = mm(view(x, rows, x.shape[-1]), t(weight))
    out = view(out, *x.shape[:-1], weight.shape[0], name="_unsafe_view")
    return add_(out, bias) if bias is not None else out


def softmax(x, name="_softmax"):
    out, = x.rec.call(name, [x], [like(x)])
    x.rec.track([x], [out], lambda g, y, saved: g.rec.call(
        name + "_backward_data", [g, y, saved], [like(g)]), [out, x])
    return out


def embedding(table, index):
    """Rows of a table; the gradient is as large as all of it."""
    width, shape = table.shape[1], table.shape
    out, = table.rec.call("embedding", [table, index], [Out((*index.shape, width))])
    table.rec.track([table], [out], lambda g, i: g.rec.call(
        "embedding_dense_backward", [g, i], [Out(shape)]), [index])
    return out


def rows_of(x, index, width=None):
    """Chosen rows, or the first `width` numbers of each."""
    shape = x.shape
    out, = x.rec.call("index", [x, index], [Out((index.shape[0], width or shape[1]))])
    x.rec.track([x], [out], lambda g, i: g.rec.call("index_backward", [g, i], [Out(shape)]),
                [index])
    return out


def index_add_(x, index, rows):
    """Adds rows to chosen rows of x."""
    inputs = [x, rows]
    x.rec.mutate("index_add_", [x, index, rows])
    x.rec.track(inputs, [x], lambda g, i: [g, lambda: rows_of(g, i)], [index])
    return x


def scale_rows(x, by):
    """Each row times a number of its own."""
    out, = x.rec.call("mul", [x, by], [like(x)])
    x.rec.track([x, by], [out], lambda g, x0, by0: [
        lambda: mul(g, by0), lambda: sum_to(mul(g, x0), by0.shape)], [x, by])
    return out


def layer_norm(x, weight, bias):
    rows, channel = math.prod(x.shape) // weight.shape[0], Out(weight.shape)
    outs = x.rec.call("native_layer_norm", [x, weight, bias], [like(x), Out((rows,)), Out((rows,))])
    x.rec.track([x, weight, bias], outs, lambda g, _1, _2, *saved: g.rec.call(
        "native_layer_norm_backward", [g, *saved], [like(g), channel, channel]),
                [x, outs[1], outs[2], weight])
    return outs[0]


def nll_loss(x, target, name="nll_loss"):
    """Of log-probabilities; returns the mean."""
    absent = x.rec.undefined()
    loss, weight = x.rec.call(name + "_forward", [x, target, absent], [Out(()), Out(())])
    x.rec.track([x], [loss, weight], lambda g, _, *saved: g.rec.call(
        name + "_backward", [g, *saved], [like(saved[0])]), [x, target, absent, weight])
    return loss


def cross_entropy(x, target):
    return nll_loss(softmax(x, "_log_softmax"), target)


def bce_with_logits(x, target):
    outs = x.rec.call("binary_cross_entropy_with_logits", [x, target], [Out(())])
    x.rec.track([x], outs, lambda g, *saved: g.rec.call(
        "binary_cross_entropy_with_logits_backward", [g, *saved], [like(saved[0])]), [x, target])
    return outs[0]
