# Making tensors.
import array as _array

cdef dict format_codes = {"f": CEBUS_F32, "d": CEBUS_F64, "e": CEBUS_F16, "q": CEBUS_I64,
                          "l": CEBUS_I64, "i": CEBUS_I32, "B": CEBUS_U8, "?": CEBUS_BOOL}


cdef Tensor from_bytes(Runtime where, const void *data, int code, tuple shape):
    cdef int64_t lengths[8]
    cdef int n = shape_into((shape,), lengths)
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    with nogil:
        status = cebus_tensor_from_host(where.rt, data, <cebus_dtype>code, n, lengths, &out)
    if status:
        fail(status)
    return wrap(out, where.rt)


cdef Tensor from_view(Runtime where, object view):
    """A copy of what a memoryview shows."""
    cdef Py_buffer buffer
    cdef str format = view.format.lstrip("@=<") or "B"
    code = format_codes.get(format)
    if code is None:
        raise TypeError(f"can't convert an array with elements of format {view.format!r}. The only "
                        "supported types are: float64, float32, float16, int64, int32, uint8, bool.")
    shape = tuple(view.shape)
    if len(shape) > CEBUS_MAX_DIMS:
        raise ShapeError(f"{len(shape)} dimensions: at most {CEBUS_MAX_DIMS}")
    source = view if view.c_contiguous else view.tobytes()
    PyObject_GetBuffer(source, &buffer, PyBUF_ANY_CONTIGUOUS)
    try:
        return from_bytes(where, buffer.buf, code, shape)
    finally:
        PyBuffer_Release(&buffer)


def from_numpy(array):
    """A tensor with a copy of the array's elements (PyTorch shares them)."""
    if not hasattr(array, "__array_interface__"):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    return from_view(runtime_of(None), viewed(array))


cdef object viewed(object array):
    """A memoryview of an array, of native byte order and with steps >= 0."""
    import numpy
    array = numpy.asarray(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return memoryview(array if array.flags.c_contiguous else numpy.ascontiguousarray(array))


def tensor(data, *, dtype=None, device=None, bint requires_grad=False, pin_memory=False):
    """A new leaf with a copy of `data`: numbers, nested sequences, arrays, tensors."""
    cdef Tensor out = tensor_of(data, None if dtype is None else code_of(dtype),
                                runtime_of(device))
    if requires_grad:
        out.requires_grad = True
    return out


cdef Tensor tensor_of(object data, object code, Runtime where):
    cdef Tensor out
    if isinstance(data, Tensor):
        out = moved((<Tensor>data).detach(), where)
        return cast(out, code) if code is not None and code != out.code() else out.clone()
    if hasattr(data, "__array_interface__"):
        out = from_view(where, viewed(data))
    elif isinstance(data, (bytes, bytearray, memoryview, _array.array)):
        out = from_view(where, memoryview(data))
    else:
        return from_sequence(data, code, where)
    return out if code is None else cast(out, code)


cdef Tensor from_sequence(object data, object code, Runtime where):
    cdef set kinds = set()
    shape, flat = shape_of(data), []
    flatten_into(data, shape, 0, flat, kinds)
    if code is None:
        code = code_of_all(kinds)
    host_code = CEBUS_F32 if code in (CEBUS_F16, CEBUS_BF16) else code
    try:
        if host_code == CEBUS_BOOL:
            host = bytes([bool(number) for number in flat])
        elif host_code <= CEBUS_F64:
            host = _array.array("f" if host_code == CEBUS_F32 else "d", flat)
        else:
            kind = {CEBUS_I64: "q", CEBUS_I32: "i", CEBUS_U8: "B"}[host_code]
            host = _array.array(kind, [int(number) for number in flat])
    except OverflowError:
        raise Error(f"a value cannot be converted to {dtypes[host_code].name} without overflow")
    cdef Py_buffer buffer
    PyObject_GetBuffer(host, &buffer, PyBUF_ANY_CONTIGUOUS)
    try:
        return cast(from_bytes(where, buffer.buf, host_code, shape), code)
    finally:
        PyBuffer_Release(&buffer)


cdef bint nests(object data):
    return isinstance(data, (list, tuple, range)) \
        or (hasattr(data, "__len__") and hasattr(data, "__getitem__")
            and not isinstance(data, (str, bytes)) and getattr(data, "ndim", 1) > 0)


cdef tuple shape_of(object data):
    shape = []
    while nests(data):
        shape.append(len(data))
        if len(shape) > CEBUS_MAX_DIMS:
            raise ShapeError(f"too many dimensions: at most {CEBUS_MAX_DIMS}")
        if not len(data):
            break
        data = data[0]
    return tuple(shape)


cdef int flatten_into(object data, tuple shape, int depth, list flat, set kinds) except -1:
    """The numbers in row-major order, and the types that there are among them."""
    if depth == len(shape):
        if nests(data):
            raise InvalidArgumentError(f"too many dimensions at dim {depth}: lengths differ")
        number = data.item() if hasattr(data, "item") else data
        if not isinstance(number, (int, float)):
            if not hasattr(number, "__float__"):
                raise TypeError(f"new(): data must be numbers, not {type(data).__name__}")
            number = float(number)
        flat.append(number)
        kinds.add(code_of_number(data, number))
        return 0
    if not nests(data) or len(data) != shape[depth]:
        found = len(data) if nests(data) else "a number"
        raise InvalidArgumentError(f"expected sequence of length {shape[depth]} at dim {depth} "
                                   f"(got {found})")
    if depth == len(shape) - 1 and all([type(each) in (float, int) for each in data]):
        flat.extend(data)
        if flat:
            kinds.add(default_code if any([type(each) is float for each in data])
                      else CEBUS_I64)
        return 0
    for each in data:
        flatten_into(each, shape, depth + 1, flat, kinds)
    return 0


cdef int code_of_number(object data, object number):
    """Of a number that Python, NumPy or a tensor has as `data`; NumPy has types that cebus lacks."""
    if isinstance(data, Tensor):
        return (<Tensor>data).code()
    found = dtype_names.get(str(getattr(data, "dtype", "")))
    if found is not None:
        return (<dtype>found).code
    if isinstance(number, float):
        return default_code
    return CEBUS_BOOL if isinstance(number, bool) else CEBUS_I64


cdef int code_of_all(set kinds):
    """The smallest type that holds all; that of nothing is the default."""
    cdef int code = CEBUS_BOOL if kinds else default_code
    for each in kinds:
        code = promote_codes(code, each)
    return code


def as_tensor(data, dtype=None, device=None):
    """A tensor itself when it has the type and device already, else as `tensor`."""
    if isinstance(data, Tensor):
        return data.to(device if device is not None else data.device,
                       dtype if dtype is not None else data.dtype)
    return tensor(data, dtype=dtype, device=device)


# --- from a number ----------------------------------------------------------------------------

cdef Tensor marked(Tensor out, bint requires_grad):
    if requires_grad:
        out.requires_grad = True
    return out


cdef Tensor filled(tuple size, object dtype_, object device_, bint requires_grad, fill_fn function):
    cdef int64_t lengths[8]
    cdef int n = shape_into(size, lengths)
    cdef int code = default_code if dtype_ is None else code_of(dtype_)
    cdef Runtime where = runtime_of(device_)
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if forked:
        refuse_fork()
    with nogil:
        status = function(where.rt, <cebus_dtype>code, n, lengths, &out)
    if status:
        fail(status)
    return marked(wrap(out, where.rt), requires_grad)


def zeros(*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Zeros of shape `size`."""
    return filled(size, dtype, device, requires_grad, cebus_zeros)


def ones(*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Ones of shape `size`."""
    return filled(size, dtype, device, requires_grad, cebus_ones)


def empty(*size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False,
          memory_format=None):
    """A tensor to be overwritten. Its elements are zero: a value that may be given up must be the
    same when it is rebuilt."""
    return filled(size, dtype, device, requires_grad, cebus_empty)


def randn(*size, dtype=None, device=None, requires_grad=False, generator=None, layout=None):
    """Normally distributed numbers, mean 0 and variance 1."""
    return filled(size, dtype, device, requires_grad, cebus_randn)


def full(size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None):
    """`fill_value` everywhere."""
    cdef int64_t lengths[8]
    cdef int n = shape_into((size,) if not isinstance(size, int) else size, lengths)
    cdef Runtime where = runtime_of(device)
    cdef double value = fill_value
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    cdef int code = meeting_number(CEBUS_BOOL, fill_value.item() if isinstance(fill_value, Tensor)
                                   else fill_value) if dtype is None else code_of(dtype)
    with nogil:
        status = cebus_full(where.rt, value, <cebus_dtype>code, n, lengths, &out)
    if status:
        fail(status)
    return marked(wrap(out, where.rt), requires_grad)


def uniform(size, double low=0.0, double high=1.0, *, dtype=None, device=None):
    """Uniform numbers in [low, high)."""
    cdef int64_t lengths[8]
    cdef int n = shape_into((tuple(size),), lengths)
    cdef Runtime where = runtime_of(device)
    cdef int code = default_code if dtype is None else code_of(dtype)
    cdef cebus_uniform_range bounds
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    bounds.low, bounds.high = low, high
    with nogil:
        status = cebus_uniform(where.rt, bounds, <cebus_dtype>code, n, lengths, &out)
    if status:
        fail(status)
    return wrap(out, where.rt)


def arange(start, end=None, step=1, *, dtype=None, device=None, requires_grad=False):
    """start, start + step, ... below `end`."""
    cdef Runtime where = runtime_of(device)
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if end is None:
        start, end = 0, start
    start, end, step = [each.item() if isinstance(each, Tensor) else each
                        for each in (start, end, step)]
    cdef int code = code_of(dtype) if dtype is not None else (
        default_code if any([isinstance(each, float) for each in (start, end, step)])
        else CEBUS_I64)
    cdef double a = start, b = end, c = step
    if c == 0:
        raise InvalidArgumentError("step must be nonzero")
    if (b - a) * c < 0:
        raise InvalidArgumentError("upper bound and larger bound inconsistent with step sign")
    with nogil:
        status = cebus_arange(where.rt, a, b, c, <cebus_dtype>code, &out)
    if status:
        fail(status)
    return marked(wrap(out, where.rt), requires_grad)


# --- joining ----------------------------------------------------------------------------------

cdef list alike(tensors):
    """All of the type that holds them all."""
    cdef int code = 0
    tensors = list(tensors)
    for each in tensors:
        if isinstance(each, Tensor):
            code = promote_codes(code or (<Tensor>each).code(), (<Tensor>each).code())
    return [cast(each, code) if isinstance(each, Tensor) else each for each in tensors]


def cat(tensors, int dim=0):
    """The tensors one after another along `dim`."""
    # PyTorch passes over empty vectors, whatever the shape of the rest.
    cdef list items = alike(tensors)
    if len(items) > 1:
        items = [x for x in items if not isinstance(x, Tensor)
                 or not (x.ndim == 1 and x.numel() == 0)] or items[:1]
    cdef Handles handles = Handles(items)
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if handles.n == 0:
        raise Error("cat(): expected a non-empty list of Tensors")
    with nogil:
        status = cebus_cat(handles.rt, handles.items, handles.n, dim, &out)
    if status:
        fail(status)
    return wrap(out, handles.rt)


def stack(tensors, int dim=0):
    """Tensors of one shape along a new dimension `dim`."""
    cdef Handles handles = Handles(alike(tensors))
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if handles.n == 0:
        raise Error("stack expects a non-empty TensorList")
    with nogil:
        status = cebus_stack(handles.rt, handles.items, handles.n, dim, &out)
    if status:
        fail(status)
    return wrap(out, handles.rt)
