"""Files of tensors in the safetensors format (https://github.com/huggingface/safetensors): the
length of a JSON header, the header, bytes. Everything is checked before anything is believed."""
import json
import mmap
import os
import struct

from . import _core

HEADER_BYTES = 100_000_000  # no honest header is longer
NAMES = {"F32": "float32", "F64": "float64", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
         "I32": "int32", "U8": "uint8", "BOOL": "bool"}
CODES = {name: code for code, name in NAMES.items()}


class SafetensorError(_core.Error, ValueError):
    """A file that is no good safetensors file."""


def save_file(tensors, path, metadata=None):
    """Writes {name: tensor}, as a state_dict, one at a time; the file appears when complete."""
    header, at = {}, 0
    if metadata is not None:
        header["__metadata__"] = {str(key): str(value) for key, value in metadata.items()}
    # By falling element size: so everything is aligned without gaps.
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    for name in order:
        x = tensors[name]
        header[name] = {"dtype": CODES[x.dtype.name], "shape": list(x.shape),
                        "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = f"{os.fspath(path)}.part"
    try:
        with open(part, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for name in order:
                file.write(_core._data_of(tensors[name]))
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


def save(tensors, metadata=None):
    """The same as bytes."""
    import tempfile
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "tensors")
        save_file(tensors, path, metadata)
        with open(path, "rb") as file:
            return file.read()


def _unique(pairs):
    found = {}
    for key, value in pairs:
        if key in found:
            raise SafetensorError(f"the header names {key!r} twice")
        found[key] = value
    return found


def _header(data):
    """(header, where the bytes begin)."""
    if len(data) < 8:
        raise SafetensorError(f"a file of {len(data)} bytes is too short for a header")
    (length,) = struct.unpack("<Q", data[:8])
    if length > HEADER_BYTES or length > len(data) - 8:
        raise SafetensorError(f"a header of {length} bytes in a file of {len(data)}")
    try:
        header = json.loads(bytes(data[8:8 + length]).decode("utf-8"), object_pairs_hook=_unique)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise SafetensorError(f"the header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise SafetensorError("the header is no JSON object")
    return header, 8 + length


def _whole(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _entry(name, entry):
    """(dtype, shape, begin, end) of one tensor."""
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise SafetensorError(f"{name!r} lacks dtype, shape or data_offsets")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or kind not in NAMES:
        raise SafetensorError(f"{name!r} is of type {kind!r}: there are " + ", ".join(NAMES))
    if not isinstance(shape, list) or not all(map(_whole, shape)) or len(shape) > 8:
        raise SafetensorError(f"{name!r} has the shape {shape!r}")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_whole, offsets)):
        raise SafetensorError(f"{name!r} has the offsets {offsets!r}")
    dtype, (begin, end) = _core._dtype_named(NAMES[kind]), offsets
    size = dtype.itemsize
    for length in shape:
        size *= length
    if end - begin != size:
        raise SafetensorError(f"{name!r} has {end - begin} bytes, its shape takes {size}")
    return dtype, tuple(shape), begin, end


def _entries(data):
    """{name: (dtype, shape, begin, end)}, checked to fill the file without gap or overlap; and
    the metadata."""
    header, start = _header(data)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise SafetensorError("__metadata__ is no object of texts")
    entries = {name: _entry(name, entry) for name, entry in header.items()}
    at = 0
    for name, (_, _, begin, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != at:
            raise SafetensorError(f"{name!r} begins at {begin} where {at} was expected")
        at = end
    if start + at != len(data):
        raise SafetensorError(f"the tensors take {at} bytes, the file has {len(data) - start}")
    return {name: (dtype, shape, start + begin, start + end)
            for name, (dtype, shape, begin, end) in entries.items()}, metadata


def load(data, device=None):
    """{name: tensor} of the bytes of a file."""
    entries, _ = _entries(data)
    return {name: _core._from_data(bytes(data[begin:end]), dtype, shape, device)
            for name, (dtype, shape, begin, end) in entries.items()}


def load_file(path, device=None):
    """{name: tensor} of a file; one tensor's bytes are copied at a time."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise SafetensorError("an empty file")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return load(data, device)


def metadata(path):
    """The texts that were saved beside the tensors."""
    with open(path, "rb") as file:
        data = file.read(8)
        more = struct.unpack("<Q", data)[0] if len(data) == 8 else 0
        if more > HEADER_BYTES:
            raise SafetensorError(f"a header of {more} bytes")
        header, _ = _header(data + file.read(more))
    return header.get("__metadata__", {})
