"""Parameters made of others: a name of a module answers what modules make of its original."""
import collections.abc
import contextlib
import copy

from ..._core import Tensor
from ...grad_mode import no_grad
from ..containers import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

_cache, _blocks = {}, 0


@contextlib.contextmanager
def cached():
    """In the block, each value is made once, however often it is read. Blocks may nest."""
    global _blocks
    _blocks += 1
    try:
        yield
    finally:
        _blocks -= 1
        if not _blocks:
            _cache.clear()


def _check_alike(made, value):
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    if made.dtype is not value.dtype or made.shape != value.shape:
        raise ValueError("Registering a parametrization may not change the dtype or the shape of "
                         f"the tensor, unless `unsafe` flag is enabled: {value.dtype} of "
                         f"{tuple(value.shape)} became {made.dtype} of {tuple(made.shape)}")


class ParametrizationList(ModuleList):
    """The modules that make a value, one after the other, and what they make it of: `original`, or
    original0, original1 ... where the first of them takes several."""

    def __init__(self, modules, original, unsafe=False):
        super().__init__(modules)
        if not len(self):
            raise ValueError("ParametrizationList requires one or more modules.")
        self.unsafe = unsafe
        with no_grad():
            parts = self._inverse(original)
        self.is_tensor = isinstance(parts, Tensor)
        self.ntensors = 1 if self.is_tensor else len(parts)
        value = original.detach().clone()
        for name, part in zip(self._names(), [parts] if self.is_tensor else parts):
            self._own(name, part, original)
        if not unsafe:
            with no_grad():
                _check_alike(self(), value)

    def _own(self, name, part, original):
        if not isinstance(part, Tensor):
            raise ValueError("'right_inverse' must return a Tensor or a sequence of Tensors, got "
                             f"{type(part).__name__}")
        if self.is_tensor and part.shape == original.shape and part.dtype is original.dtype:
            with no_grad():  # the tensor stays what it is: optimizers may know it
                part = original if part is original else original.copy_(part)
        elif isinstance(original, Parameter):
            part = Parameter(part, original.requires_grad)
        if isinstance(part, Parameter):
            self.register_parameter(name, part)
        else:
            self.register_buffer(name, part)

    def _names(self):
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def _inverse(self, value):
        """What the modules would make `value` of; those that cannot say take it as it is."""
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                value = module.right_inverse(value)
        if not isinstance(value, (Tensor, collections.abc.Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a sequence of tensors, got "
                             f"{type(value).__name__}")
        return value

    def forward(self):
        """The value."""
        first, *others = self
        value = first(*[getattr(self, name) for name in self._names()])
        for module in others:
            value = module(value)
        return value

    def right_inverse(self, value):
        """Writes to the originals so that the value becomes `value`."""
        with no_grad():
            for module in self:
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not "
                                       "implement right_inverse.")
            parts = self._inverse(value)
            if self.is_tensor != isinstance(parts, Tensor):
                raise ValueError("'right_inverse' returned a Tensor at one time and a sequence at "
                                 "another")
            parts = [parts] if self.is_tensor else parts
            if len(parts) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of {self.ntensors} "
                                 f"tensors. Got a sequence of length {len(parts)}.")
            for name, part in zip(self._names(), parts):
                getattr(self, name).copy_(part)


def _property(name):
    def get(module):
        if not _blocks:
            return module.parametrizations[name]()
        key = id(module), name
        if key not in _cache:
            _cache[key] = module, module.parametrizations[name]()
        return _cache[key][1]

    def put(module, value):
        _cache.pop((id(module), name), None)
        module.parametrizations[name].right_inverse(value)

    return property(get, put)


def _subclass(module):
    """Gives the module a class of its own, so that it can have properties."""
    base = type(module)

    def refuse(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through "
                           "state_dict().")

    def put(self, name, value):
        if is_parametrized(self, name) and isinstance(value, (Parameter, Module)):
            raise KeyError(f"attribute '{name}' already exists")
        base.__setattr__(self, name, value)

    def copied(self, memo):
        out = memo[id(self)] = base.__new__(base)
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        _subclass(out)
        return out

    methods = {"__getstate__": refuse, "__setattr__": put, "__deepcopy__": copied}
    values = {name: _property(name) for name in module.parametrizations}
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), {**methods, **values})


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """module.tensor_name becomes parametrization(original), and so on with each further one;
    answers the module. `unsafe`: it may have another type or shape."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        _append(module.parametrizations[tensor_name], parametrization, unsafe)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a "
                         f"parametrized element with name '{tensor_name}'")
    made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
        _subclass(module)
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def _append(parts, parametrization, unsafe):
    """A further module, which takes what the last one makes."""
    if not unsafe:
        with no_grad():
            value = parts()
            made = parametrization(value)
            _check_alike(made, value)
            if hasattr(parametrization, "right_inverse"):
                _check_alike(parametrization.right_inverse(made), value)
    parts.append(parametrization)
    parts.unsafe = parts.unsafe or unsafe


def is_parametrized(module, tensor_name=None):
    """Whether a module, or one name of it, is parametrized."""
    found = module._modules.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def type_before_parametrizations(module):
    """The class that the module was made by."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """The name is a tensor again: the value at hand, or the original; answers the module."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = module.parametrizations[tensor_name]
    if not leave_parametrized and not parts.is_tensor:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that "
                         "is parametrized in terms of a sequence of tensors.")
    first = getattr(parts, parts._names()[0])
    with no_grad():
        value = parts() if leave_parametrized else first
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        base = type(module).__bases__[0]
        delattr(module, "parametrizations")
        module.__class__ = base
    if not isinstance(first, Parameter):
        module.register_buffer(tensor_name, value)
    elif parts.is_tensor:  # optimizers know the original
        with no_grad():
            first.copy_(value)
        module.register_parameter(tensor_name, first)
    else:
        module.register_parameter(tensor_name, Parameter(value))
    return module
