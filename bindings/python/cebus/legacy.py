"""Older ways of PyTorch's to say the same: typed constructors, results written to `out`."""
import functools

from . import _core

TYPED = {"FloatTensor": _core.float32, "DoubleTensor": _core.float64, "HalfTensor": _core.float16,
         "BFloat16Tensor": _core.bfloat16, "LongTensor": _core.int64, "IntTensor": _core.int32,
         "ByteTensor": _core.uint8, "BoolTensor": _core.bool_}

# Functions of the module that take `out`. As methods they do not, in PyTorch either.
WITH_OUT = ("abs add bmm clamp cos cumprod cumsum div eq exp ge gt le log lt matmul maximum mean "
            "minimum mm mul ne neg pow reciprocal rsqrt sigmoid sign sin sqrt square sub sum tanh "
            "cat concat concatenate stack where").split()

SIZED = "zeros ones empty randn rand".split()


class Typed(type):
    """Types of tensors by their elements: they make them, and know them."""

    def __call__(cls, *arguments):
        if len(arguments) == 1 and not isinstance(arguments[0], int):
            return _core.tensor(arguments[0], dtype=cls.tensor_dtype)
        return _core.empty(*arguments, dtype=cls.tensor_dtype)

    def __instancecheck__(cls, x):
        return isinstance(x, _core.Tensor) and x.dtype is cls.tensor_dtype


def _typed(name, dtype):
    return Typed(name, (), {"tensor_dtype": dtype, "__module__": "cebus",
                            "__doc__": f"A tensor of {dtype}: of data, or of a size and zeros."})


def _sized(name, function):
    @functools.wraps(function, assigned=("__doc__",))
    def call(*lengths, size=None, **keywords):
        return function(*(lengths if size is None else (size,)), **keywords)
    call.__name__ = name
    return call


def _into(name, function):
    @functools.wraps(function, assigned=("__doc__",))
    def call(*arguments, out=None, **keywords):
        if "axis" in keywords:
            keywords["dim"] = keywords.pop("axis")
        result = function(*arguments, **keywords)
        if out is None:
            return result
        if out.shape != result.shape:
            raise _core.ShapeError(f"{name}: out has the shape {list(out.shape)}, but the result "
                                   f"has {list(result.shape)}")
        return out.copy_(result)
    call.__name__ = name
    return call


def attach(functions):
    """The typed constructors, and `functions` with those that take `out` in their place."""
    found = {name: _typed(name, dtype) for name, dtype in TYPED.items()}
    functions = dict(functions, concat=functions["cat"], concatenate=functions["cat"])
    found.update({name: _sized(name, functions[name]) for name in SIZED if name in functions})
    found.update({name: _into(name, functions[name]) for name in WITH_OUT if name in functions})
    return found
