# DLPack (https://dmlc.github.io/dlpack), both ways. What leaves is pinned until its consumer is
# done; what comes in is copied: bytes of others can be neither budgeted nor given up.
from cpython.pycapsule cimport (PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New,
                                PyCapsule_SetName)

cdef struct DLDevice:
    int32_t kind
    int32_t index

cdef struct DLDataType:
    uint8_t code
    uint8_t bits
    uint16_t lanes

cdef struct DLTensor:
    void *data
    DLDevice device
    int32_t ndim
    DLDataType dtype
    int64_t *shape
    int64_t *strides
    uint64_t byte_offset

cdef struct DLManaged:
    DLTensor dl
    void *context
    void (*deleter)(DLManaged *) nogil

cdef struct DLVersioned:
    uint32_t major
    uint32_t minor
    void *context
    void (*deleter)(DLVersioned *) nogil
    uint64_t flags
    DLTensor dl

# One export: both forms of the header, and what they point to.
cdef struct Lease:
    DLManaged plain
    DLVersioned versioned
    int64_t shape[8]
    int64_t strides[8]
    cebus_tensor *handle
    uint64_t bytes

cdef uint64_t leases = 0        # exports that are not returned yet
cdef uint64_t leased_bytes = 0
cdef uint8_t dl_codes[9]
dl_codes[:] = [0, 2, 2, 2, 4, 0, 0, 1, 6]


cdef void end_lease(Lease *lease) nogil:
    global leases, leased_bytes
    with gil:
        leases -= 1
        leased_bytes -= lease.bytes
    if not forked:
        cebus_tensor_unmap(lease.handle)
        cebus_tensor_release(lease.handle)
    free(lease)


cdef void delete_plain(DLManaged *managed) nogil:
    end_lease(<Lease *>managed.context)


cdef void delete_versioned(DLVersioned *managed) nogil:
    end_lease(<Lease *>managed.context)


cdef void drop_capsule(object capsule):
    """Nobody took it."""
    if PyCapsule_IsValid(capsule, "dltensor"):
        delete_plain(<DLManaged *>PyCapsule_GetPointer(capsule, "dltensor"))
    elif PyCapsule_IsValid(capsule, "dltensor_versioned"):
        delete_versioned(<DLVersioned *>PyCapsule_GetPointer(capsule, "dltensor_versioned"))


cdef Lease *new_lease(Tensor x) except NULL:
    """Pins the storage of x."""
    global leases, leased_bytes
    cdef const cebus_view *view = cebus_tensor_view(x.handle)
    cdef const void *data = NULL
    cdef Lease *lease = <Lease *>calloc(1, sizeof(Lease))
    if lease == NULL:
        raise MemoryError()
    cdef cebus_status status = map_alias(x, &lease.handle, &data)
    if status:
        free(lease)
        fail(status)
    memcpy(lease.shape, view.shape, sizeof(lease.shape))
    memcpy(lease.strides, view.strides, sizeof(lease.strides))
    lease.bytes = x.nbytes
    leases += 1
    leased_bytes += lease.bytes
    fill_dl(x, &lease.plain.dl, lease, data)
    lease.versioned.dl = lease.plain.dl
    lease.plain.context = lease.versioned.context = lease
    lease.plain.deleter = delete_plain
    lease.versioned.deleter = delete_versioned
    lease.versioned.major = 1
    lease.versioned.flags = 1  # read-only
    return lease


cdef int fill_dl(Tensor x, DLTensor *dl, Lease *lease, const void *data) except -1:
    cdef const cebus_view *view = cebus_tensor_view(x.handle)
    kind, index = dlpack_device(x)
    dl.data = <void *>data
    dl.device.kind, dl.device.index = kind, index
    dl.ndim = view.ndim
    dl.dtype.code = dl_codes[<int>view.dtype]
    dl.dtype.bits = 8 * cebus_dtype_size(view.dtype)
    dl.dtype.lanes = 1
    dl.shape, dl.strides = lease.shape, lease.strides
    return 0


cdef tuple dlpack_device(Tensor x):
    where = x.device
    if where.type == "cpu":
        return (1, 0)
    if where.type == "cuda":
        return (2, where.index)
    raise UnsupportedError(f"tensors of {where} have no bytes to share")


cdef object to_dlpack(Tensor x, object max_version, object where, object copy):
    if cebus_tensor_requires_grad(x.handle):
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    own = dlpack_device(x)
    if where is not None and tuple(where) != own:
        raise BufferError(f"the tensor is on DLPack's device {own}, not on {tuple(where)}: move it "
                          "with .to() first")
    if copy:
        x = x.clone()
    cdef Lease *lease = new_lease(x)
    if copy:
        lease.versioned.flags = 2  # a copy of the consumer's own
    if max_version is not None and max_version[0] >= 1:
        return PyCapsule_New(&lease.versioned, "dltensor_versioned",
                             <PyCapsule_Destructor>drop_capsule)
    return PyCapsule_New(&lease.plain, "dltensor", <PyCapsule_Destructor>drop_capsule)


def exports():
    """(count, bytes) of DLPack exports that are not returned yet; their storages are pinned."""
    return leases, leased_bytes


# --- import -----------------------------------------------------------------------------------

cdef int dl_code(DLDataType kind) except -1:
    for code in range(1, 9):
        if dl_codes[code] == kind.code and kind.lanes == 1 \
                and 8 * cebus_dtype_size(<cebus_dtype>code) == kind.bits:
            return code
    raise DtypeError(f"from_dlpack: an element type of code {kind.code}, {kind.bits} bits and "
                     f"{kind.lanes} lanes: cebus has none like it")


cdef void gather_strided(const DLTensor *dl, int dim, const char *source, char **target,
                         size_t size) nogil:
    """Copies elements in row-major order."""
    cdef int64_t i, step
    if dim == dl.ndim:
        memcpy(target[0], source, size)
        target[0] += size
        return
    step = dl.strides[dim] * <int64_t>size
    for i in range(dl.shape[dim]):
        gather_strided(dl, dim + 1, source + i * step, target, size)


cdef Tensor copy_of(const DLTensor *dl):
    cdef int code = dl_code(dl.dtype)
    cdef size_t size = cebus_dtype_size(<cebus_dtype>code)
    cdef const char *source = <const char *>dl.data + dl.byte_offset
    cdef Runtime where = runtime_of(None)
    cdef char *packed
    cdef char *at
    cdef int64_t count = 1
    if dl.device.kind != 1:
        raise UnsupportedError("from_dlpack: only tensors of the CPU can be read: copy it there")
    if not 0 <= dl.ndim <= CEBUS_MAX_DIMS:
        raise ShapeError(f"from_dlpack: {dl.ndim} dimensions: at most {CEBUS_MAX_DIMS}")
    shape = tuple([dl.shape[i] for i in range(dl.ndim)])
    if any([length < 0 for length in shape]):
        raise ShapeError(f"from_dlpack: a shape of {shape}")
    if dl.strides == NULL:
        return from_bytes(where, source, code, shape)
    count = Size(shape).numel()
    packed = at = <char *>PyMem_Malloc(max(count * size, 1))
    if packed == NULL:
        raise MemoryError()
    try:
        if count:
            gather_strided(dl, 0, source, &at, size)
        return from_bytes(where, packed, code, shape)
    finally:
        PyMem_Free(packed)


cdef object capsule_of(object source):
    """Only from version 1.0 on can bytes be shared that must not be written to."""
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:
        return source.__dlpack__()


def from_dlpack(source):
    """A tensor with a copy of the elements of any object with __dlpack__, or of a capsule."""
    cdef DLManaged *plain
    cdef DLVersioned *versioned
    capsule = capsule_of(source) if hasattr(source, "__dlpack__") else source
    if PyCapsule_IsValid(capsule, "dltensor_versioned"):
        versioned = <DLVersioned *>PyCapsule_GetPointer(capsule, "dltensor_versioned")
        if versioned.major != 1:
            raise BufferError(f"from_dlpack: version {versioned.major} is not known")
        out = copy_of(&versioned.dl)
        PyCapsule_SetName(capsule, "used_dltensor_versioned")
        if versioned.deleter != NULL:
            versioned.deleter(versioned)
        return out
    if not PyCapsule_IsValid(capsule, "dltensor"):
        raise TypeError(f"from_dlpack: expected an object with __dlpack__ or an unused capsule, "
                        f"not {type(source).__name__}")
    plain = <DLManaged *>PyCapsule_GetPointer(capsule, "dltensor")
    out = copy_of(&plain.dl)
    PyCapsule_SetName(capsule, "used_dltensor")
    if plain.deleter != NULL:
        plain.deleter(plain)
    return out
