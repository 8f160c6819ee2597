"""Pickling, and cebus.save / cebus.load."""
import functools
import io
import pickle

from . import _core


def _rebuild(data, kind, shape, requires_grad, persistent, where=None):
    """A tensor from its bytes, on the default device or `where`."""
    x = _core._from_data(data, _core._dtype_named(kind), shape, where)
    if persistent:
        x.persist_()
    return x.requires_grad_() if requires_grad else x


def reduce_tensor(x):
    """How pickle takes a tensor apart: it comes back on the default device."""
    if type(x) is not _core.Tensor:
        return (_rebuild_subclass, (type(x), *_state(x), dict(x.__dict__)))
    return (_rebuild, _state(x))


def _state(x):
    return (_core._data_of(x), x.dtype.name, tuple(x.shape), x.requires_grad and x.is_leaf,
            x.is_persistent)


def _rebuild_subclass(cls, data, kind, shape, requires_grad, persistent, attributes, where=None):
    out = _core.Tensor.__new__(cls)
    _core._adopt(out, _rebuild(data, kind, shape, requires_grad, persistent, where))
    out.__dict__.update(attributes)
    return out


class Placing(pickle.Unpickler):
    """Makes every tensor where it shall be, whatever holds it."""

    where = None

    def find_class(self, module, name):
        found = super().find_class(module, name)
        if self.where is not None and found in (_rebuild, _rebuild_subclass):
            return functools.partial(found, where=self.where)
        return found


class Restricted(Placing):
    """Takes tensors and containers; nothing that could run code."""

    ALLOWED = {("collections", "OrderedDict"), ("collections", "defaultdict"),
               ("builtins", "set"), ("builtins", "frozenset"), ("builtins", "complex"),
               ("cebus.serialization", "_rebuild"), ("cebus.serialization", "_rebuild_subclass"),
               ("cebus._core", "_dtype_named"), ("cebus._core", "Size"), ("cebus._core", "device"),
               ("cebus.nn.parameter", "Parameter"), ("cebus.nn.parameter", "Buffer")}

    def find_class(self, module, name):
        if (module, name) not in self.ALLOWED:
            raise pickle.UnpicklingError(
                f"{module}.{name} in a file of weights: pass weights_only=False to cebus.load if "
                "you trust where the file is from")
        return super().find_class(module, name)


def save(obj, f):
    """Writes tensors, modules' state or any picklable object to a path or file."""
    if hasattr(f, "write"):
        pickle.dump(obj, f, protocol=4)
        return
    with open(f, "wb") as file:
        pickle.dump(obj, file, protocol=4)


def load(f, map_location=None, weights_only=True):
    """What save() wrote. Tensors come to the device `map_location` or the default one. Unless
    `weights_only` is False, nothing but tensors and plain containers is taken."""
    if not isinstance(map_location, (str, _core.device, type(None))):
        raise TypeError("load: map_location is a device, which all tensors come to: files do not "
                        f"say where they were; not a {type(map_location).__name__}")
    if not hasattr(f, "read"):
        with open(f, "rb") as file:
            f = io.BytesIO(file.read())
    unpickler = (Restricted if weights_only else Placing)(f)
    unpickler.where = map_location
    try:
        return unpickler.load()
    except pickle.UnpicklingError as error:
        if "persistent" not in str(error):
            raise
        raise pickle.UnpicklingError("not a file of cebus.save, but one of PyTorch, say: have it "
                                     "written as safetensors (cebus.safetensors)") from error
