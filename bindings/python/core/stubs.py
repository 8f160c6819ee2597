#!/usr/bin/env python3
"""Writes the typed stub of the extension, cebus/_core.pyi, from what is there at run time.

usage: PYTHONPATH=build/bindings/python python3 bindings/python/core/stubs.py \
           > bindings/python/cebus/_core.pyi

Names, parameters and defaults are the extension's own; types are said here, by the names of
parameters. A test holds the file to the extension.
"""
import inspect
import re

import cebus
from cebus import _core

HEAD = '''"""Types of the extension; written by core/stubs.py."""
from typing import Any, Callable, Iterator, Optional, Sequence, Union

Number = Union[int, float, bool]
Dims = Union[int, Sequence[int], None]
Device = Union[str, "device", None]
DType = Optional["dtype"]
'''

# Of parameters, wherever they are called so.
PARAMETERS = {
    "Tensor": "x input condition src values vector grad param exp_avg exp_avg_sq query key",
    "Union[Tensor, Number]": "other exponent value min max min_val max_val fill_value end",
    "Optional[Tensor]": "h c attn_mask mask weight bias running_mean running_var momentum_buffer "
                        "gradient",
    "int": "dim0 dim1 dim2 start_dim end_dim diagonal decimals chunks sections k step num_samples "
           "num_layers bins minlength seed limit code stride_ groups num_groups length offset",
    "float": "alpha beta p rtol atol eps nan lr momentum dampening weight_decay beta1 beta2 "
             "max_norm mean std low high lambd slope scale label_smoothing threshold",
    "bool": "keepdim requires_grad non_blocking copy equal_nan unbiased descending stable sorted "
            "largest create_graph force nesterov decoupled accumulate training bidirectional "
            "batch_first replacement right return_inverse return_counts enabled answered "
            "causal affine as_tuple",
    "Optional[bool]": "retain_graph",
    "Dims": "dim dims shifts",
    "DType": "dtype",
    "Device": "device",
    "str": "name kind op reduce",
    "Optional[str]": "rounding_mode",
    "Callable[..., Any]": "hook function",
    "Sequence[Tensor]": "tensors inputs parameters roots saved results",
    "Sequence[int]": "shape sizes",
}
TYPES = {name: kind for kind, names in PARAMETERS.items() for name in names.split()}

# Of results: a Tensor where nothing is said.
RESULTS = {
    "bool": "is_contiguous is_floating_point is_complex is_signed equal allclose is_cuda is_cpu "
            "is_sparse is_resident is_persistent requires_grad is_leaf retains_grad "
            "is_grad_enabled "
            "is_pinned is_shared is_same_size is_inference is_quantized is_meta _grad_enable",
    "int": "dim ndim ndimension numel nelement element_size itemsize nbytes storage_offset "
           "_version "
           "data_ptr memory_allocated max_memory_allocated memory_reserved get_device dense_dim "
           "__len__ __int__ __index__ __hash__ __array_priority__",
    "float": "__float__ clip_grad_norm",
    "Number": "item",
    "Size": "shape",
    "Any": "size stride tolist numpy __array__ __dlpack__ register_hook grad_fn split unbind "
           "register_post_accumulate_grad_hook __reduce_ex__ __reduce__ __getattr__ apply_ "
           "__deepcopy__",
    "Optional[Tensor]": "grad",
    "None": "backward retain_grad __setitem__ __delitem__ __init__ manual_seed configure install "
            "set_default_device set_default_dtype trace_start trace_stop reset_peak_memory_stats "
            "sgd_step adam_step restore extend _hint_push _hint_pop _set_hint",
    "str": "type __repr__ __str__ __format__ oom_report memory_dump memory_tiers version layout",
    "dtype": "get_default_dtype promote_types result_type dtype",
    "device": "device",
    "Optional[str]": "hint _hint_of",
    "tuple": "_in_double max_pool2d lstm_cell recurrent exports topk sort nonzero_tuple "
             "__dlpack_device__ chunk "
             "kthvalue mode aminmax tensor_split unique _gradients meshgrid",
    "list": "policies layouts machines devices _record_function",
    "dict": "counters features",
    "Iterator[Tensor]": "__iter__",
    "Runtime": "runtime",
    "EventHook": "add_event_hook",
}
RESULT_OF = {name: kind for kind, names in RESULTS.items() for name in names.split()}
OWN = re.compile(r"^(?:[\w.]+\.)?(\w+)\((.*)\)$")
SPECIAL = ("lt le eq ne gt ge add radd sub rsub mul rmul mod rmod pow rpow and rand xor rxor or "
           "ror iadd isub imul imod ipow iand ixor ior floordiv rfloordiv truediv rtruediv "
           "ifloordiv itruediv matmul rmatmul").split()


def annotated(parameter):
    """A parameter of a signature in Python or in Cython's words."""
    parameter = parameter.strip()
    name, _, default = parameter.partition("=")
    words = name.split()
    name = words[-1]
    if name in ("*", "/", "self"):
        return name
    if name.startswith("*"):
        return f"{name}: Any"
    kind = TYPES.get(name, "Any")
    if kind == "Optional[Tensor]" and words[0] == "Tensor":
        pass
    elif words[0] in ("Tensor", "int", "bool", "str", "list", "tuple", "dict"):
        kind = words[0]
    elif words[0] in ("double", "float"):
        kind = "float"
    elif words[0] == "bint":
        kind = "bool"
    elif words[0].startswith(("int", "uint")) and len(words) > 1:
        kind = "int"
    if default == "None" and not kind.startswith("Optional") and kind not in ("Any", "Dims",
                                                                              "DType", "Device"):
        kind = f"Optional[{kind}]"
    return f"{name}: {kind}" + (" = ..." if default else "")


def split(parameters):
    """At the commas that are in no brackets."""
    out, depth = [""], 0
    for character in parameters:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            out.append("")
        else:
            out[-1] += character
    return [each for each in out if each.strip()]


def parameters_of(function):
    """As a list of texts; None when it does not say."""
    said = OWN.match((getattr(function, "__doc__", None) or "").split("\n")[0])
    if said and type(function).__name__ != "function":
        return split(said.group(2))
    try:
        return [str(each) for each in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return None


def definition(name, function, method):
    parameters = parameters_of(function)
    parameters = ["*arguments", "**keywords"] if parameters is None else parameters
    if method:
        parameters = ["self"] + parameters[1 if parameters[:1] and
                                           not parameters[0].startswith("*") else 0:]
    text = ", ".join(annotated(each) for each in parameters)
    return f"def {name}({text}) -> {RESULT_OF.get(name, 'Tensor')}: ..."


def members_of_tensor():
    members = vars(cebus.Tensor)
    for name in sorted(members):
        value = members[name]
        kind = type(value).__name__
        short = name[2:-2]
        if name in ("__new__", "__getattribute__", "__doc__", "__dict__", "__pyx_vtable__",
                    "__setstate_cython__", "__reduce_cython__", "__hash__"):
            continue
        if kind == "wrapper_descriptor" and short in SPECIAL:
            result = "Any" if short in ("eq", "ne") else "Tensor"
            yield f"def {name}(self, other: Any) -> {result}: ..."
        elif kind == "wrapper_descriptor":
            yield {"__getitem__": "def __getitem__(self, index: Any) -> Tensor: ...",
                   "__setitem__": "def __setitem__(self, index: Any, value: Any) -> None: ...",
                   "__delitem__": "def __delitem__(self, index: Any) -> None: ...",
                   "__bool__": "def __bool__(self) -> bool: ...",
                   "__contains__": "def __contains__(self, element: Any) -> bool: ...",
                   "__init__": "def __init__(self, *arguments: Any) -> None: ...",
                   }.get(name, f"def {name}(self) -> {RESULT_OF.get(name, 'Tensor')}: ...")
        elif kind in ("getset_descriptor", "property"):
            yield f"{name}: {RESULT_OF.get(name, 'Tensor')}"
        elif kind in ("int", "str", "bool"):
            yield f"{name}: {kind}"
        else:
            yield definition(name, value, True)


def members_of(cls):
    for name, value in sorted(vars(cls).items()):
        if name.startswith("_"):
            continue
        if inspect.isroutine(value):
            yield definition(name, value, True).replace("-> Tensor", "-> Any")
        else:
            yield f"{name}: Any"


def body(lines):
    lines = list(lines) or ["..."]
    return "".join(f"    {line}\n" for line in lines)


def main():
    text = [HEAD]
    functions = []
    for name in sorted(dir(_core)):
        value = getattr(_core, name)
        if name.startswith("__") or inspect.ismodule(value):
            continue
        if isinstance(value, type):
            bases = ", ".join(each.__name__ for each in value.__bases__ if each is not object)
            members = members_of_tensor() if value is cebus.Tensor else members_of(value)
            text.append(f"\nclass {name}({bases}):\n" if bases else f"\nclass {name}:\n")
            text.append(body(members))
        elif isinstance(value, _core.dtype):
            functions.append(f"{name}: dtype\n")
        elif inspect.isbuiltin(value):
            functions.append(definition(name, value, False) + "\n")
        else:
            functions.append(f"{name}: Any\n")
    print("".join(text) + "\n" + "".join(functions), end="")


if __name__ == "__main__":
    main()
