"""How a function of both libraries is compared: random operands of every type, shape and layout,
results and gradients. Seeded: a case is its name and a number."""
import random
import zlib

import numpy

import cebus

FLOATS = ("float32", "float64")
NARROW = ("float16", "bfloat16")
WHOLE = ("int64", "int32", "uint8")
LAYOUTS = ("plain", "plain", "turned", "every second", "offset")

# Of the largest element. Narrow types are held to PyTorch's result in float32 of the same operands:
# a rounding on the way in, of every operation within, and one on the way out.
TOLERANCE = {"float32": 1e-5, "float64": 1e-9, "float16": 4e-3, "bfloat16": 3e-2}


class Operand:
    """An array that both libraries make a tensor of, which lies in memory in some way."""

    def __init__(self, array, kind, layout="plain", differentiable=True):
        self.array, self.kind, self.layout = numpy.asarray(array), kind, layout
        self.floats = differentiable and (kind in FLOATS or kind in NARROW)

    def leaf(self, lib, kind, grads):
        array = self.array
        if self.layout == "turned":
            array = array.transpose()
        elif self.layout == "every second":
            array = numpy.repeat(array, 2, 0)
        elif self.layout == "offset":
            array = numpy.concatenate([array[:1] * 0, array])
        array = numpy.ascontiguousarray(array).reshape(array.shape)
        out = lib.tensor(array).to(getattr(lib, self.kind))
        if kind is not None and self.floats:
            out = out.to(getattr(lib, kind))
        return out.requires_grad_() if grads and self.floats else out

    def view(self, leaf):
        if self.layout == "turned":
            return leaf.permute(tuple(range(leaf.ndim))[::-1])
        if self.layout == "every second":
            return leaf[::2]
        return leaf[1:] if self.layout == "offset" else leaf


class Draw:
    """A source of operands for one comparison; `kind` is the type under test."""

    def __init__(self, name, number, kind="float32"):
        seed = zlib.crc32(f"{name} {number}".encode())
        self.random, self.numpy = random.Random(seed), numpy.random.RandomState(seed)
        self.kind, self.layouts = kind, LAYOUTS

    def shape(self, low=0, high=4, least=0):
        """Lengths: short, 1, now and then 0."""
        ndim = self.random.randint(low, high)
        return tuple(max(self.random.choice((1, 2, 3, 3, 4, 5, 7, 0)), least)
                     if self.random.random() < 0.9 else max(1, least) for _ in range(ndim))

    def part_of(self, shape):
        """A shape that is broadcast to `shape`."""
        tail = shape[self.random.randint(0, len(shape)):]
        return tuple(n if self.random.random() < 0.7 else 1 for n in tail)

    def __call__(self, shape, low=-2.0, high=2.0, kind=None, distinct=False, constant=False):
        """Numbers in [low, high) of the type under test, or of `kind`."""
        kind = kind or self.kind
        if distinct:
            count = int(numpy.prod(shape))
            array = self.numpy.permutation(count).reshape(shape)
            if kind in FLOATS or kind in NARROW:
                array = low + (high - low) * (array + 0.5) / max(count, 1)
        else:
            array = self.numpy.uniform(low, high, shape)
        if kind in WHOLE:
            array = array if distinct else numpy.floor(array * 3)
            array = numpy.abs(array) if kind == "uint8" else array
            array = array.astype(kind)
        elif kind == "bool":
            array = array > (low + high) / 2
        layout = self.random.choice(self.layouts)
        if not shape or (layout != "turned" and shape[0] == 0):
            layout = "plain"
        return Operand(numpy.asarray(array), kind, layout, not constant)

    def indices(self, shape, length):
        """Positions in [0, length)."""
        return Operand(self.numpy.randint(0, length, shape), "int64")

    def different(self, count, length):
        """Positions in [0, length), each once."""
        return Operand(self.numpy.permutation(length)[:count], "int64")

    def mask(self, shape):
        return Operand(self.numpy.uniform(size=shape) > 0.5, "bool")


def tensors_of(result):
    """The tensors of a result, in order."""
    if result is None or isinstance(result, (bool, int, float, str)):
        return []
    if hasattr(result, "requires_grad_"):
        return [result]
    return [x for each in result for x in tensors_of(each)]


def numbers(x):
    return x.detach().double().numpy() if x.ndim else numpy.asarray(float(x))


def size_of(expected):
    finite = expected[numpy.isfinite(expected)]
    return max(float(numpy.abs(finite).max(initial=0.0)), 1e-3)


def near(found, expected, tolerance):
    return found.shape == expected.shape and numpy.allclose(
        found, expected, rtol=tolerance, atol=tolerance * size_of(expected), equal_nan=True)


def run(lib, call, operands, kind, grads):
    """(results, gradients of the leaves)"""
    leaves = [each.leaf(lib, kind, grads) for each in operands]
    results = tensors_of(call(lib, *[each.view(leaf) for each, leaf in zip(operands, leaves)]))
    found = [(i, y) for i, y in enumerate(results)
             if grads and y.requires_grad and y.is_floating_point()]
    if found:
        seeds = [numpy.random.RandomState(i).uniform(0.5, 1.5, tuple(y.shape)) for i, y in found]
        lib.autograd.backward([y for _, y in found],
                              [lib.tensor(s).to(y.dtype).reshape(y.shape)
                               for s, (_, y) in zip(seeds, found)])
    return results, [leaf.grad if each.floats and grads else None
                     for each, leaf in zip(operands, leaves)]


def refused(lib, call, operands, kind, grads):
    """What run() answers, or the exception."""
    try:
        return run(lib, call, operands, kind, grads)
    except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError) as error:
        return error


def check(torch, call, operands, kind, grads, scale=1.0):
    """None when both agree, else what differs; "refused" when PyTorch does not have it either."""
    narrow = kind in NARROW
    theirs = refused(torch, call, operands, "float32" if narrow else None, grads)
    if isinstance(theirs, Exception):
        return "refused"
    ours = refused(cebus, call, operands, kind if narrow else None, grads)
    if isinstance(ours, Exception):
        return f"{type(ours).__name__}: {ours}"
    if len(ours[0]) != len(theirs[0]):
        return f"{len(ours[0])} results instead of {len(theirs[0])}"
    truth = None
    tolerance = TOLERANCE.get(kind, 1e-5) * scale
    for what, left, right in (("result", ours[0], theirs[0]), ("gradient", ours[1], theirs[1])):
        for i, (a, b) in enumerate(zip(left, right)):
            if b is None:
                continue
            if a is None:
                if not numbers(b).any():
                    continue  # a gradient of zeros may be none
                return f"{what} {i} is missing"
            wrong = differs(a, b, narrow, kind, tolerance)
            if wrong and kind == "float32" and b.is_floating_point():
                # PyTorch rounds, too: float64 of the same operands decides.
                truth = truth or refused(torch, call, operands, "float64", grads)
                if not isinstance(truth, Exception):
                    exact = truth[what == "gradient"][i]
                    if exact is not None and near(numbers(a), numbers(exact), tolerance):
                        continue
            if wrong:
                return f"{what} {i}: {wrong}"
    return None


def differs(a, b, narrow, kind, tolerance):
    """How a differs from PyTorch's b; None when it does not."""
    if tuple(a.shape) != tuple(b.shape):
        return f"shape {tuple(a.shape)} instead of {tuple(b.shape)}"
    wanted = str(b.dtype).split(".")[1]
    wanted = kind if narrow and wanted == "float32" else wanted
    if a.dtype.name != wanted:
        return f"{a.dtype.name} instead of {wanted}"
    found, expected = numbers(a), numbers(b)
    if wanted in TOLERANCE:
        if narrow:  # what is larger than the type holds is infinite there
            limit = cebus.finfo(a.dtype).max
            expected = numpy.where(numpy.abs(expected) > limit, numpy.sign(expected) * numpy.inf,
                                   expected)
        if near(found, expected, tolerance):
            return None
        with numpy.errstate(invalid="ignore"):
            worst = numpy.nanmax(numpy.abs(found - expected), initial=0.0)
        return f"off by {worst:.3g} of {size_of(expected):.3g}: {found.ravel()[:6]} instead of " \
               f"{expected.ravel()[:6]}"
    if not numpy.array_equal(found, expected):
        return f"{found.ravel()[:8]} instead of {expected.ravel()[:8]}"
    return None
