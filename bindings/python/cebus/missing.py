"""Names that are not there, answered with the nearest ones that are."""
import difflib

# What a PyTorch program may ask for that is here under another name, or not at all, and why.
KNOWN = {
    "is_shared": "tensors are not shared between processes",
    "sparse": "cebus has dense tensors only",
    "complex64": "cebus has no complex types",
    "int8": "cebus has int32, int64 and uint8",
    "int16": "cebus has int32, int64 and uint8",
    "compile": "cebus runs op by op; leave the call out",
    "jit": "cebus runs op by op; leave it out",
    "fft": "cebus has no Fourier transforms",
    "profiler": "cebus.record() and cebus.report() show where time and memory went",
    "complex": "cebus has no complex types",
    "short": "cebus has int32, int64 and uint8",
    "hub": "cebus fetches nothing; cebus.models has networks",
    "onnx": "cebus.safetensors writes weights",
    "multiprocessing": "cebus runs in one process",
    "quantization": "cebus has no quantized types",
    "distributed": "cebus runs on one device",
}


def nearest(name, names):
    """The names most like `name`."""
    return difflib.get_close_matches(name, [each for each in names if not each.startswith("__")],
                                     n=3, cutoff=0.6)


def explain(owner, name, names):
    """An AttributeError that helps."""
    text = f"{owner} has no attribute {name!r}"
    if KNOWN.get(name):
        text += f": {KNOWN[name]}"
    close = nearest(name, names)
    if close:
        text += f"; the nearest is {close[0]!r}" if len(close) == 1 else \
            "; the nearest are " + ", ".join(repr(each) for each in close)
    return AttributeError(text)


def of_tensor(x, name):
    return explain("cebus.Tensor", name, dir(type(x)))


def of_module(module, names):
    """A module's __getattr__."""
    def __getattr__(name):
        raise explain(module, name, names())
    return __getattr__
