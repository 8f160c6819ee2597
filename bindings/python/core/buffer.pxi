# Bytes that leave and enter: the buffer protocol, NumPy, lists.

cdef bytes host_bytes(Tensor x):
    """The elements in row-major order."""
    cdef size_t n = x.nbytes
    cdef bytes data = PyBytes_FromStringAndSize(NULL, n)
    cdef char *target = PyBytes_AS_STRING(data)
    cdef cebus_status status
    if forked:
        refuse_fork()
    with nogil:
        status = cebus_tensor_to_host(x.handle, target, n)
    if status:
        fail(status)
    return data


cdef object to_list(Tensor x):
    if cebus_tensor_ndim(x.handle) == 0:
        return x.item()
    if x.code() == CEBUS_F16 or x.code() == CEBUS_BF16:
        x = cast(x, CEBUS_F32)
    if cebus_tensor_numel(x.handle) == 0:
        return empty_list(x.shape)
    cdef str format = (<dtype>x.dtype).format
    return memoryview(host_bytes(x)).cast(format, tuple(x.shape)).tolist()


cdef list empty_list(object shape):
    if shape[0] == 0:
        return []
    return [empty_list(shape[1:]) if len(shape) > 1 else [] for _ in range(shape[0])]


cdef size_t data_address(Tensor x) except? 0:
    cdef const void *data = NULL
    cdef cebus_status status
    with nogil:
        status = cebus_tensor_map(x.handle, &data)
    if status:
        fail(status)
    cebus_tensor_unmap(x.handle)
    return <size_t>data


cdef struct Export:
    Py_ssize_t shape[8]
    Py_ssize_t strides[8]
    cebus_tensor *handle
    char format[2]


cdef cebus_status map_alias(Tensor x, cebus_tensor **out, const void **data):
    """Maps a handle of its own: x may be given other data while the mapping lasts."""
    cdef cebus_status status
    with nogil:
        status = cebus_detach(x.rt, x.handle, out)
        if not status:
            status = cebus_tensor_map(out[0], data)
            if status:
                cebus_tensor_release(out[0])
    return status


cdef int export_buffer(Tensor x, Py_buffer *buffer, int flags) except -1:
    """Pins the storage until the buffer is released. Read-only: writes go through copy_()."""
    cdef const cebus_view *view = cebus_tensor_view(x.handle)
    cdef const void *data = NULL
    cdef size_t size = cebus_dtype_size(view.dtype)
    cdef str format = (<dtype>dtypes[view.dtype]).format
    if flags & PyBUF_WRITABLE:
        raise BufferError("tensors are shared read-only: write with copy_() or fill_()")
    if x.device.type != "cpu" or not format:
        raise BufferError(f"a tensor of {x.dtype} on {x.device} has no buffer: use .cpu(), .float()")
    if not (flags & PyBUF_STRIDES) == PyBUF_STRIDES and not x.is_contiguous():
        raise BufferError("the tensor is not contiguous: use .contiguous()")
    cdef Export *export = <Export *>PyMem_Malloc(sizeof(Export))
    if export == NULL:
        raise MemoryError()
    cdef cebus_status status = map_alias(x, &export.handle, &data)
    if status:
        PyMem_Free(export)
        fail(status)
    export.format[0] = <char>ord(format)
    export.format[1] = 0
    for i in range(view.ndim):
        export.shape[i] = view.shape[i]
        export.strides[i] = view.strides[i] * <Py_ssize_t>size
    buffer.obj = x
    buffer.buf = <void *>data if data != NULL else <void *>export
    buffer.len = cebus_tensor_numel(x.handle) * size
    buffer.itemsize = size
    buffer.readonly = 1
    buffer.ndim = view.ndim
    buffer.format = export.format if flags & PyBUF_FORMAT else NULL
    buffer.shape = export.shape
    buffer.strides = export.strides
    buffer.suboffsets = NULL
    buffer.internal = export
    return 0


cdef void release_buffer(Py_buffer *buffer):
    cdef Export *export = <Export *>buffer.internal
    if not forked:
        cebus_tensor_unmap(export.handle)
        cebus_tensor_release(export.handle)
    PyMem_Free(export)


cdef object to_numpy(Tensor x, bint force):
    import numpy
    if cebus_tensor_requires_grad(x.handle) and not force:
        raise Error("Can't call numpy() on Tensor that requires grad. "
                    "Use tensor.detach().numpy() instead.")
    if x.device.type != "cpu" and not force:
        raise TypeError(f"can't convert {x.device} device type tensor to numpy. Use Tensor.cpu() "
                        "to copy the tensor to host memory first.")
    if x.code() == CEBUS_BF16:
        if not force:
            raise TypeError("Got unsupported ScalarType BFloat16: use .float().numpy()")
        x = cast(x, CEBUS_F32)
    if force or cebus_tensor_numel(x.handle) == 0:
        kind = (<dtype>x.dtype).name
        return numpy.frombuffer(host_bytes(x), dtype=kind).reshape(tuple(x.shape)).copy()
    return numpy.asarray(memoryview(x))


def _data_of(Tensor x):
    """The elements as bytes, in row-major order."""
    return host_bytes(x)


def _from_data(const unsigned char[::1] data, dtype kind, tuple shape, device=None):
    """A tensor from the bytes of its elements."""
    cdef int64_t count = kind.itemsize
    for length in shape:
        count *= length
    if count != data.shape[0]:
        raise ShapeError(f"{data.shape[0]} bytes for {shape} of {kind}: it takes {count}")
    return from_bytes(runtime_of(device), &data[0] if data.shape[0] else NULL, kind.code, shape)
