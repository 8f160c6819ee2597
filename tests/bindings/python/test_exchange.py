"""Bytes that leave and enter: DLPack, buffers, safetensors, good and bad."""
import gc
import json
import pickle
import random
import struct

import numpy
import pytest

import cebus
from cebus import safetensors

try:
    import torch
except ImportError:
    torch = None


def test_dlpack_pins_until_its_consumer_is_done():
    x = cebus.arange(6).float().reshape(2, 3)
    before = cebus.exports()[0]
    array = numpy.from_dlpack(x.t())
    assert array.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert cebus.exports() == (before + 1, cebus.exports()[1])
    assert cebus.memory_stats()["exports_current"] == before + 1
    del x
    gc.collect()
    assert array.sum() == 15
    del array
    gc.collect()
    assert cebus.exports()[0] == before
    capsule = cebus.ones(2).__dlpack__()
    assert cebus.exports()[0] == before + 1
    del capsule
    assert cebus.exports()[0] == before


@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "int64", "int32",
                                  "uint8", "bool"])
def test_dlpack_round_trips(name, version):
    x = (cebus.arange(12).reshape(3, 4) % 2).to(getattr(cebus, name))
    y = cebus.from_dlpack(x.t().__dlpack__(max_version=version))
    assert y.dtype is x.dtype and cebus.equal(y, x.t())


def test_dlpack_imports_of_numpy_with_any_strides():
    array = numpy.arange(24, dtype="float64").reshape(2, 3, 4)
    for view in (array, array[:, ::2], array.transpose(2, 0, 1), array[::-1], array[:, :0]):
        assert cebus.from_dlpack(view).tolist() == view.tolist()
    assert cebus.from_dlpack(array)[0, 0, 0].item() == 0
    with pytest.raises(TypeError):
        cebus.from_dlpack(numpy.zeros(2, "int8"))
    with pytest.raises(TypeError):
        cebus.from_dlpack(3)
    capsule = cebus.ones(2).__dlpack__()
    cebus.from_dlpack(capsule)
    with pytest.raises(TypeError):
        cebus.from_dlpack(capsule)
    with pytest.raises(BufferError):
        cebus.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(NotImplementedError):
        cebus.ones(2, device="sim:p100-16g").__dlpack__()


class ReadOnly:
    """As of NumPy 2.1: only who knows of version 1.0 gets bytes not to be written to."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, *, max_version=None):
        if max_version is None:
            raise BufferError("Cannot export readonly array")
        return self.x.__dlpack__(max_version=max_version)


class OfOld:
    def __dlpack__(self, stream=None):
        return cebus.arange(3.0).__dlpack__()


def test_dlpack_of_what_may_not_be_written_and_of_old():
    x = cebus.arange(6).reshape(2, 3)
    assert cebus.equal(cebus.from_dlpack(ReadOnly(x)), x)
    assert cebus.from_dlpack(OfOld()).tolist() == [0, 1, 2]
    assert cebus.exports()[0] == 0


def test_dlpack_copies_when_it_is_asked_to():
    x = cebus.zeros(3)
    shared, own = (x.__dlpack__(max_version=(1, 0), copy=copy) for copy in (False, True))
    x.fill_(1)
    assert cebus.from_dlpack(shared).tolist() == [1, 1, 1]
    assert cebus.from_dlpack(own).tolist() == [0, 0, 0]
    assert cebus.from_dlpack(x.__dlpack__(dl_device=(1, 0))).tolist() == [1, 1, 1]
    with pytest.raises(BufferError, match="not on \\(2, 0\\)"):
        x.__dlpack__(dl_device=(2, 0))


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed (python3-torch)")
def test_dlpack_with_pytorch():
    x = cebus.arange(6).float().reshape(2, 3)
    y = torch.utils.dlpack.from_dlpack(x.__dlpack__())
    assert y.tolist() == x.tolist()
    assert cebus.from_dlpack(torch.arange(6).reshape(2, 3).t()).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_buffers_are_shared_and_pinned():
    x = cebus.arange(6, dtype=cebus.int32).reshape(2, 3)
    view = memoryview(x)
    assert view.shape == (2, 3) and view.format == "i" and view.readonly
    with pytest.raises(cebus.OutOfMemoryError):
        cebus.set_budget(64)
    del view
    assert numpy.asarray(x[:, ::2]).tolist() == [[0, 2], [3, 5]]
    assert numpy.asarray(cebus.zeros(0, 3)).shape == (0, 3)
    with pytest.raises(BufferError):
        memoryview(cebus.ones(1, dtype=cebus.bfloat16))


# --- safetensors ------------------------------------------------------------------------------

def sample():
    return {"a": cebus.arange(6).reshape(2, 3), "b.c": cebus.randn(4).half(),
            "empty": cebus.zeros(0, 2), "flag": cebus.tensor([True]), "n": cebus.tensor(2.5),
            "half": cebus.tensor([1.5], dtype=cebus.bfloat16)}


def test_safetensors_round_trip(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.save_file(sample(), path, {"by": "test"})
    found = safetensors.load_file(path)
    cebus.manual_seed(0)
    assert set(found) == set(sample()) and safetensors.metadata(path) == {"by": "test"}
    assert found["a"].tolist() == [[0, 1, 2], [3, 4, 5]] and found["n"].item() == 2.5
    assert found["half"].dtype is cebus.bfloat16 and found["empty"].shape == (0, 2)
    net = cebus.nn.Linear(3, 2)
    safetensors.save_file(net.state_dict(), path)
    again = cebus.nn.Linear(3, 2)
    again.load_state_dict(safetensors.load_file(path))
    assert cebus.equal(net.weight, again.weight)
    assert [each.name for each in tmp_path.iterdir()] == ["x.safetensors"]


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(kind="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": kind, "shape": list(shape), "data_offsets": list(offsets)}


BAD = {
    "short": b"\0\0", "huge header": struct.pack("<Q", 1 << 62) + b"{}",
    "long header": struct.pack("<Q", 100) + b"{}", "no json": file_of(b"{nope"),
    "no object": file_of([1]), "no text": file_of(b"\xff\xfe"),
    "twice": file_of(b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
                     b'"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
    "no fields": file_of({"a": {}}), "type": file_of({"a": entry("F31")}, b"1234"),
    "type of type": file_of({"a": entry(3)}, b"1234"),
    "shape": file_of({"a": entry(shape=(-1,))}, b"1234"),
    "fraction": file_of({"a": entry(shape=(1.0,))}, b"1234"),
    "overflow": file_of({"a": entry(shape=(1 << 40, 1 << 40))}, b"1234"),
    "dimensions": file_of({"a": entry(shape=(1,) * 9)}, b"1234"),
    "backwards": file_of({"a": entry(offsets=(4, 0))}, b"1234"),
    "beyond": file_of({"a": entry(offsets=(4, 8))}, b"1234"),
    "three": file_of({"a": entry(offsets=(0, 4, 8))}, b"1234"),
    "gap": file_of({"a": entry(), "b": entry(offsets=(8, 12))}, b"123456789012"),
    "overlap": file_of({"a": entry(), "b": entry(offsets=(2, 6))}, b"123456"),
    "more": file_of({"a": entry()}, b"12345"), "less": file_of({"a": entry()}, b"123"),
    "metadata": file_of({"__metadata__": {"a": 1}}), "deep": file_of(b"[" * 200000),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_safetensors_are_refused(name, tmp_path):
    path = tmp_path / "bad"
    path.write_bytes(BAD[name])
    held = cebus.memory_allocated()
    with pytest.raises(ValueError):
        safetensors.load_file(path)
    assert cebus.memory_allocated() == held


def test_damaged_safetensors_never_get_through():
    good = safetensors.save(sample())
    rng, refused = random.Random(1), 0
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            where = rng.randrange(min(len(data), 400))
            data[where] = rng.choice([rng.randrange(256), ord("0") + rng.randrange(10)])
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)):]
        try:
            found = safetensors.load(bytes(data))
        except ValueError:
            refused += 1
        else:
            assert sum(x.nbytes for x in found.values()) <= len(data)
    assert refused > 1000


def test_arrays_as_operands():
    array = numpy.array([1.0, 2.0], dtype=numpy.float32)
    x = cebus.ones(2, requires_grad=True)
    for made in (x + array, array + x, x * array, array - x, x / array, array // x, x % array):
        assert isinstance(made, cebus.Tensor) and made.requires_grad
    assert (array - x).tolist() == [0, 1] and (x < array).tolist() == [False, True]
    (x * array).sum().backward()
    assert x.grad.tolist() == [1, 2]


def test_dlpack_under_its_older_names():
    from cebus.utils import dlpack
    x = cebus.arange(3.0)
    assert dlpack.from_dlpack(dlpack.to_dlpack(x)).tolist() == [0, 1, 2]


def test_files_of_others_are_told_from_ones_own(tmp_path):
    class Of(pickle.Pickler):
        def persistent_id(self, obj):
            return "storage" if isinstance(obj, bytes) else None

    with open(tmp_path / "other.pt", "wb") as file:
        Of(file).dump({"weight": b"bytes"})
    with pytest.raises(pickle.UnpicklingError, match="safetensors"):
        cebus.load(tmp_path / "other.pt")
