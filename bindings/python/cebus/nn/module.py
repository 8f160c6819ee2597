"""The base of all layers and networks."""
import collections
import collections.abc
import itertools

from .. import missing
from .._core import Error, Tensor, UnsupportedError
from .gradient_hooks import Gates
from .parameter import Buffer, Parameter


class _IncompatibleKeys(collections.namedtuple("IncompatibleKeys", "missing_keys unexpected_keys")):
    """What load_state_dict() did not find, and what it found beyond."""

    def __repr__(self):
        return super().__repr__() if any(self) else "<All keys matched successfully>"

    __str__ = __repr__


class Handle:
    """A hook in place."""

    ids = itertools.count()

    def __init__(self, hooks):
        self.hooks, self.id = hooks, next(Handle.ids)

    def remove(self):
        """Takes the hook away."""
        self.hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


def zero_gradients(params, set_to_none):
    """Drops the gradients, or else fills those there are with zeros."""
    for param in params:
        if set_to_none:
            param.grad = None
        elif param.grad is not None:
            param.grad.zero_()


def _refuse_keywords(with_kwargs):
    if with_kwargs:
        raise UnsupportedError("hooks do not see keyword arguments: leave with_kwargs out")


class Module:
    """Parameters, buffers and modules under names, and a `forward` that uses them."""

    training = True

    def __init__(self):
        put = object.__setattr__
        put(self, "training", True)
        for name in ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks",
                     "_backward_hooks", "_backward_pre_hooks"):
            put(self, name, collections.OrderedDict())
        put(self, "_transient", set())

    def forward(self, *inputs):
        """What the module computes."""
        raise NotImplementedError(f"Module [{type(self).__name__}] is missing the required "
                                  '"forward" function')

    def __call__(self, *inputs, **keywords):
        if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks
                or self._backward_pre_hooks):
            return self.forward(*inputs, **keywords)
        for hook in list(self._forward_pre_hooks.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        gates = None
        if self._backward_hooks or self._backward_pre_hooks:
            gates = Gates(self, self._backward_pre_hooks, self._backward_hooks)
            inputs = gates.enter(inputs)
        result = self.forward(*inputs, **keywords)
        for hook in list(self._forward_hooks.values()):
            changed = hook(self, inputs, result)
            result = result if changed is None else changed
        return result if gates is None else gates.leave(result)

    # --- names ----------------------------------------------------------------------------------

    def __getattr__(self, name):
        state = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules"):
            found = state.get(kind)
            if found is not None and name in found:
                return found[name]
        if name.startswith("__") or "_modules" not in state:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        raise missing.explain(type(self).__name__, name, dir(self))

    def __setattr__(self, name, value):
        state = self.__dict__
        if isinstance(value, (Parameter, Module)):
            kind = "_parameters" if isinstance(value, Parameter) else "_modules"
            if kind not in state:
                raise AttributeError("cannot assign parameters or modules before "
                                     "Module.__init__() call")
            if name not in state[kind]:  # else in the place of the former one: order is meaning
                self._forget(name)
            state[kind][name] = value
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise TypeError(f"cannot assign '{type(value).__name__}' as parameter '{name}' "
                                "(nn.Parameter or None expected)")
            state["_parameters"][name] = None
        elif isinstance(value, Buffer):
            if "_buffers" not in state:
                raise AttributeError("cannot assign buffers before Module.__init__() call")
            if name not in state["_buffers"]:
                self._forget(name)
            self.register_buffer(name, value, value.persistent)
        elif name in state.get("_buffers", ()) and (value is None or isinstance(value, Tensor)):
            state["_buffers"][name] = value
        elif name in state.get("_modules", ()) and value is None:
            state["_modules"][name] = None
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name):
        if not self._forget(name):
            object.__delattr__(self, name)

    def _forget(self, name):
        state = self.__dict__
        for kind in ("_parameters", "_buffers", "_modules", None):
            place = state if kind is None else state[kind]
            if name in place:
                del place[name]
                return True
        return False

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._parameters, *self._buffers, *self._modules})

    def register_parameter(self, name, param):
        """Adds a parameter, or None under its name."""
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                            "(nn.Parameter or None required)")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is state but not learned; `persistent`: it is in the state_dict."""
        if tensor is not None:
            tensor.persist_()
        self._buffers[name] = tensor
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name, module):
        """Adds a module under a name."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    def type(self, dtype):
        """All parameters and buffers of floats in `dtype`."""
        return self.to(dtype)

    def share_memory(self):
        """Itself: tensors are not shared between processes."""
        return self

    # --- hooks ----------------------------------------------------------------------------------

    def _hook(self, hooks, hook, prepend=False):
        handle = Handle(hooks)
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls hook(module, inputs, output) after forward; its result replaces the output."""
        _refuse_keywords(with_kwargs)
        return self._hook(self._forward_hooks, hook, prepend)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls hook(module, inputs) before forward; its result replaces the inputs."""
        _refuse_keywords(with_kwargs)
        return self._hook(self._forward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls hook(module, grad_input, grad_output), tuples, in backward; what it returns takes
        the place of grad_input."""
        return self._hook(self._backward_hooks, hook)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls hook(module, grad_output) before; what it returns takes grad_output's place."""
        return self._hook(self._backward_pre_hooks, hook)

    # --- walks ----------------------------------------------------------------------------------

    def named_children(self):
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self):
        return (module for _, module in self.named_children())

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(name, module) of itself and all below it."""
        memo = set() if memo is None else memo
        if remove_duplicate and id(self) in memo:
            return
        memo.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name,
                                                remove_duplicate)

    def modules(self):
        return (module for _, module in self.named_modules())

    def _named(self, kind, prefix, recurse):
        seen = set()
        for path, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, value in getattr(module, kind).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield path + ("." if path else "") + name, value

    def named_parameters(self, prefix="", recurse=True):
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse=True):
        return (value for _, value in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True):
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse=True):
        return (value for _, value in self.named_buffers(recurse=recurse))

    def get_submodule(self, target):
        """The module of a dotted name."""
        module = self
        for name in target.split(".") if target else ():
            module = getattr(module, name)
        return module

    def get_parameter(self, target):
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    def get_buffer(self, target):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    def apply(self, fn):
        """Calls fn(module) for all below and for itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # --- modes and places -----------------------------------------------------------------------

    def train(self, mode=True):
        """Training mode, or not: of dropout and batch normalization."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops the gradients, or else fills those there are with zeros."""
        zero_gradients(self.parameters(), set_to_none)

    def _convert(self, change):
        for module in self.modules():
            for param in module._parameters.values():
                if param is not None:
                    fresh = change(param.detach())
                    if fresh.dtype is not param.dtype or fresh.device != param.device:
                        param.data = fresh.persist_()
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = change(buffer).persist_()
        return self

    def to(self, *arguments, **keywords):
        """Parameters and buffers on another device; floating-point ones of another type."""
        def change(x):
            moved = x.to(*arguments, **keywords)
            if moved.dtype is not x.dtype and not (x.is_floating_point()
                                                   and moved.is_floating_point()):
                return x.to(moved.device)
            return moved
        return self._convert(change)

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device=None):
        return self.to("cuda:0" if device is None else device)

    def float(self):
        return self._convert(lambda x: x.float() if x.is_floating_point() else x)

    def double(self):
        return self._convert(lambda x: x.double() if x.is_floating_point() else x)

    def half(self):
        return self._convert(lambda x: x.half() if x.is_floating_point() else x)

    def bfloat16(self):
        return self._convert(lambda x: x.bfloat16() if x.is_floating_point() else x)

    def to_empty(self, *, device):
        """Itself on another device."""
        return self.to(device)

    # --- state ----------------------------------------------------------------------------------

    def state_dict(self, destination=None, prefix="", keep_vars=False):
        """{name: tensor} of parameters and buffers; the tensors share their bytes."""
        out = collections.OrderedDict() if destination is None else destination
        for path, module in self.named_modules(prefix=prefix.rstrip("."), remove_duplicate=False):
            start = path + "." if path else ""
            for name, value in module._parameters.items():
                if value is not None:
                    out[start + name] = value if keep_vars else value.detach()
            for name, value in module._buffers.items():
                if value is not None and name not in module._transient:
                    out[start + name] = value
        return out

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Overwrites parameters and buffers by those of a state_dict. All names and shapes are
        checked before the first write."""
        if not isinstance(state_dict, collections.abc.Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        own = self.state_dict(keep_vars=True)
        absent = [name for name in own if name not in state_dict]
        extra = [name for name in state_dict if name not in own]
        problems = []
        for what, names in (("Missing", absent), ("Unexpected", extra)):
            if strict and names:
                names = ", ".join(f'"{name}"' for name in names)
                problems.append(f"{what} key(s) in state_dict: {names}. ")
        for name, value in state_dict.items():
            if name in own and tuple(own[name].shape) != tuple(value.shape):
                problems.append(f"size mismatch for {name}: copying a param with shape "
                                f"{value.shape} from checkpoint, the shape in current model "
                                f"is {own[name].shape}.")
        if problems:
            raise Error(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                        + "\n\t".join(problems))
        for name, value in state_dict.items():
            if name in own:
                own[name].detach().copy_(value)
        return _IncompatibleKeys(absent, extra)

    # --- as text --------------------------------------------------------------------------------

    def extra_repr(self):
        """What stands between the parentheses."""
        return ""

    def _shown(self):
        """Names and texts of the modules in it."""
        return [(name, repr(module)) for name, module in self._modules.items()]

    def __repr__(self):
        lines = [f"({name}): " + text.replace("\n", "\n  ") for name, text in self._shown()]
        extra = self.extra_repr().splitlines()
        if not lines and len(extra) <= 1:
            return f"{type(self).__name__}({''.join(extra)})"
        return "\n  ".join([f"{type(self).__name__}(", *extra, *lines]) + "\n)"
