"""What Python adds to Tensor, and the functions of the module that are its methods."""
import copy as _copy
import functools as _functools
import inspect as _inspect

from . import (_core, arranging, creation, elementwise, linalg, positions, products, reductions,
               shaping, special, statistics)
from ._core import Tensor, extend
from .grad_mode import enable_grad

FAMILIES = (elementwise, special, reductions, statistics, shaping, arranging, positions, products,
            creation)

# Methods of the extension that are functions of the module, too.
AS_FUNCTIONS = (
    "add sub mul div pow matmul mm bmm maximum minimum eq ne lt le gt ge neg abs sign square "
    "exp log sqrt rsqrt reciprocal sin cos erf tanh sigmoid relu clamp clone softmax "
    "log_softmax sum mean amax amin argmax argmin logsumexp max min var gather index_select "
    "scatter_add roll reshape permute transpose t squeeze unsqueeze select narrow unbind "
    "flatten diagonal as_strided numel is_floating_point is_complex detach").split()

# Methods that have a form which writes: x.name_() is x.copy_(x.name()).
IN_PLACE = (
    "neg abs sign square exp log sqrt rsqrt reciprocal sin cos erf tanh sigmoid relu clamp "
    "pow floor ceil round trunc fix frac log2 log10 log1p expm1 exp2 tan clamp_min clamp_max clip "
    "masked_fill addcmul addcdiv fmod remainder floor_divide true_divide divide multiply "
    "subtract negative scatter scatter_add index_add index_fill index_copy index_put tril "
    "triu cumsum cumprod logical_not logical_and logical_or logical_xor addmm addmv addbmm addr "
    "baddbmm nan_to_num eq ne lt le gt ge not_equal greater less greater_equal less_equal "
    "absolute acos arccos acosh arccosh asin arcsin asinh arcsinh atan arctan atanh arctanh atan2 "
    "arctan2 bitwise_and bitwise_or bitwise_xor bitwise_not "
    "bitwise_left_shift bitwise_right_shift copysign cosh sinh deg2rad rad2deg "
    "digamma erfc erfinv float_power heaviside hypot ldexp lgamma logit masked_scatter put renorm "
    "scatter_reduce sgn sinc xlogy gcd lcm nextafter").split()

# Functions of the module that write, as in PyTorch.
WRITING = (
    "abs_ acos_ acosh_ asin_ asinh_ atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ cos_ "
    "cosh_ deg2rad_ erf_ erfc_ exp_ exp2_ expm1_ fill_ floor_ frac_ index_put_ log_ log10_ log1p_ "
    "log2_ logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_ rsqrt_ sigmoid_ "
    "sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ zero_ detach_").split()

# Methods of Tensor that linear algebra has.
LINEAR = {"det": "det", "logdet": "logdet", "slogdet": "slogdet", "inverse": "inv", "qr": "qr",
          "pinverse": "pinv", "cholesky": "cholesky_", "matrix_exp": "matrix_exp",
          "svd": "svd_"}


def _in_place(name):
    def method(self, *arguments, **keywords):
        value = getattr(self, name)(*arguments, **keywords)
        if value.is_floating_point() and not self.is_floating_point():
            raise _core.DtypeError(f"result type {value.dtype} can't be cast to the desired output "
                                   f"type {self.dtype}")
        return self.copy_(value)
    method.__name__ = name + "_"
    method.__doc__ = f"Writes {name}() into the tensor."
    return method


def _cpu(self):
    """On the CPU."""
    return self.to("cpu")


def _cuda(self, device=None, non_blocking=False):
    """On a CUDA device."""
    return self.to("cuda:0" if device is None else device)


def _same(self, *arguments, **keywords):
    """Itself."""
    return self


def _reshape_in_place(name):
    def method(self, *arguments):
        if self.requires_grad and self.is_leaf:
            if _core.is_grad_enabled():
                raise _core.Error("a leaf Variable that requires grad is being used in an in-place "
                                  "operation.")
            self.data = getattr(self.detach(), name)(*arguments)
            return self
        with enable_grad():
            return _core._adopt(self, getattr(self, name)(*arguments))
    method.__name__ = name + "_"
    return method


def _deepcopy(self, memo):
    if not self.is_leaf:
        raise _core.Error("Only Tensors created explicitly by the user (graph leaves) support the "
                          "deepcopy protocol at the moment")
    if id(self) not in memo:
        out = Tensor.__new__(type(self))
        _core._adopt(out, self.detach().clone())
        if self.is_persistent:
            out.persist_()
        out.requires_grad_(self.requires_grad)
        if type(self) is Tensor and self.grad is not None:  # as PyTorch: not of a parameter
            out.grad = self.grad.clone()
        out.__dict__.update(_copy.deepcopy(self.__dict__, memo))
        memo[id(self)] = out
    return memo[id(self)]


def _apply(self, function):
    raise _core.UnsupportedError("apply_() would call Python for every element")


def _bound(function):
    """Functions of the extension do not bind to a tensor by themselves."""
    def method(self, *arguments, **keywords):
        return function(self, *arguments, **keywords)
    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


EXTRA = {
    "cpu": _cpu, "cuda": _cuda, "pin_memory": _same, "share_memory_": _same, "apply_": _apply,
    "__deepcopy__": _deepcopy, "nonzero": _bound(_core.nonzero), "floor": _bound(_core.floor),
    "trunc": _bound(_core.trunc), "fix": _bound(_core.trunc),
    "where": lambda self, condition, other: _core.where(condition, self, other),
    "get_device": lambda self: -1 if self.device.index is None else self.device.index,
    "dense_dim": Tensor.dim, "to_dense": _same, "conj": _same, "resolve_conj": _same,
    "real": property(_same), "is_quantized": False, "layout": "strided", "is_meta": False,
    "H": property(lambda self: self.t()), "mH": property(lambda self: self.mT),
    "squeeze_": _reshape_in_place("squeeze"), "unsqueeze_": _reshape_in_place("unsqueeze"),
    "t_": _reshape_in_place("t"), "transpose_": _reshape_in_place("transpose"),
}


NUMPY_WORDS = {"axis": "dim", "keepdims": "keepdim"}


def _by_either_name(function):
    """NumPy's words for a dimension are taken, and `input` for the first operand, as in PyTorch."""
    try:
        parameters = list(_inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return function
    words = dict(NUMPY_WORDS) if "dim" in parameters else {}
    if parameters[:1] == ["x"]:
        words["input"] = "x"
    if not words:
        return function

    @_functools.wraps(function)
    def call(*arguments, **keywords):
        for word in words.keys() & keywords.keys():
            keywords[words[word]] = keywords.pop(word)
        return function(*arguments, **keywords)
    return call


def _of_input(name):
    """A method of the extension as a function, whose operand may be named."""
    method = getattr(Tensor, name)

    def function(*arguments, **keywords):
        if "input" in keywords:
            arguments = (keywords.pop("input"), *arguments)
        return method(*arguments, **keywords)
    function.__name__, function.__doc__ = name, method.__doc__
    return function


def _pow(*arguments, **keywords):
    """input ** exponent, of which one may be a number."""
    base, exponent = [*arguments, *(keywords[name] for name in ("input", "self", "exponent")
                                    if name in keywords)]
    return base ** exponent


def attach():
    """Completes Tensor; returns the functions of the module."""
    functions = {name: _of_input(name) for name in AS_FUNCTIONS}
    functions["pow"] = _pow
    functions.update({name: getattr(_core, name) for name in ("zeros", "ones", "empty")})
    functions.update(floor=_core.floor, trunc=_core.trunc, where=_core.where,
                     nonzero=_core.nonzero)
    for name, function in EXTRA.items():
        extend(name, function)
    for family in FAMILIES:
        for name in family.METHODS:
            functions[name] = _by_either_name(getattr(family, name))
            extend(name, functions[name])
        for name in getattr(family, "FUNCTIONS", ()):
            functions[name] = _by_either_name(getattr(family, name))
    for name in IN_PLACE:
        extend(name + "_", _in_place(name))
    for name, its in LINEAR.items():
        extend(name, getattr(linalg, its))
        functions[name] = getattr(linalg, its)
    found = {name: function for name, function in functions.items() if not name.endswith("_")}
    found.update({name: getattr(Tensor, name) for name in WRITING})
    return found
