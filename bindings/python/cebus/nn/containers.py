"""Modules of modules."""
import collections
import itertools
import operator

from .module import Module
from .parameter import Parameter


class Sequential(Module):
    """One module after the other."""

    def __init__(self, *modules):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], collections.OrderedDict):
            named = modules[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(modules))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, x):
        for module in self._modules.values():
            x = module(x)
        return x

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, key):
        if isinstance(key, slice):
            return type(self)(collections.OrderedDict(list(self._modules.items())[key]))
        return list(self._modules.values())[operator.index(key)]

    def __setitem__(self, key, module):
        setattr(self, list(self._modules)[key], module)

    def __delitem__(self, key):
        _without(self, key)

    def __add__(self, other):
        return Sequential(*self, *other)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        _with(self, index, module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def pop(self, key):
        module = self[key]
        del self[key]
        return module


def _numbered(container, modules):
    """The modules under 0, 1, ..."""
    container._modules.clear()
    for i, module in enumerate(modules):
        container.add_module(str(i), module)


def _without(container, key):
    gone = list(container._modules.values())[key]
    gone = gone if isinstance(key, slice) else [gone]
    _numbered(container, [module for module in container._modules.values()
                          if not any(module is each for each in gone)])


def _with(container, index, module):
    modules = list(container._modules.values())
    modules.insert(index, module)
    _numbered(container, modules)


class ModuleList(Module):
    """A list of modules."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, key):
        found = list(self._modules.values())[key]
        return ModuleList(found) if isinstance(key, slice) else found

    def __setitem__(self, key, module):
        setattr(self, list(self._modules)[key], module)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, modules):
        return ModuleList([*self, *modules])

    def __delitem__(self, key):
        _without(self, key)

    def insert(self, index, module):
        _with(self, index, module)

    def pop(self, key=-1):
        module = self[key]
        del self[key]
        return module

    def _shown(self):
        """Equal neighbours as one line."""
        shown, at = [], 0
        for text, equal in itertools.groupby(map(repr, self)):
            count = len(list(equal))
            shown.append((str(at), text) if count == 1
                         else (f"{at}-{at + count - 1}", f"{count} x {text}"))
            at += count
        return shown


class ModuleDict(Module):
    """Modules by names."""

    def __init__(self, modules=()):
        super().__init__()
        self.update(modules or ())

    def update(self, modules):
        """Adds the modules of a dictionary or of pairs."""
        for name, module in dict(modules).items():
            self.add_module(name, module)

    def pop(self, name):
        return self._modules.pop(name)

    def clear(self):
        self._modules.clear()

    def __delitem__(self, name):
        del self._modules[name]

    def __getitem__(self, name):
        return self._modules[name]

    def __setitem__(self, name, module):
        self.add_module(name, module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, name):
        return name in self._modules

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()


class _Parameters(Module):
    """Holds nothing but parameters."""

    def __repr__(self):
        lines = [f"({name}): Parameter containing: [{value.dtype} of size "
                 f"{'x'.join(map(str, value.shape))}]" for name, value in self._parameters.items()]
        return "\n    ".join([f"{type(self).__name__}(", *lines]) + "\n)" if lines \
            else f"{type(self).__name__}()"


class ParameterList(_Parameters):
    """A list of parameters."""

    def __init__(self, values=()):
        super().__init__()
        self.extend(values or ())

    def extend(self, values):
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def __setitem__(self, key, value):
        name = list(self._parameters)[key]
        self.register_parameter(name, value if isinstance(value, Parameter) else Parameter(value))

    def append(self, value):
        self.register_parameter(str(len(self)),
                                value if isinstance(value, Parameter) else Parameter(value))
        return self

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, key):
        return list(self._parameters.values())[key]


class ParameterDict(_Parameters):
    """Parameters by names."""

    def __init__(self, values=()):
        super().__init__()
        self.update(values or ())

    def update(self, values):
        for name, value in dict(values).items():
            self[name] = value

    def pop(self, name):
        return self._parameters.pop(name)

    def __contains__(self, name):
        return name in self._parameters

    def __delitem__(self, name):
        del self._parameters[name]

    def __setitem__(self, name, value):
        self.register_parameter(name, value if isinstance(value, Parameter) else Parameter(value))

    def __getitem__(self, name):
        return self._parameters[name]

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def keys(self):
        return self._parameters.keys()

    def values(self):
        return self._parameters.values()

    def items(self):
        return self._parameters.items()
