    # --- what it is ---------------------------------------------------------------------------

    @property
    def shape(self):
        """Lengths of the dimensions, a tuple."""
        cdef const cebus_view *view = cebus_tensor_view(self.handle)
        return Size([view.shape[i] for i in range(view.ndim)])

    def size(self, dim=None):
        """The shape, or the length of one dimension."""
        cdef int64_t length
        if dim is None:
            return self.shape
        length = cebus_tensor_size(self.handle, dim)
        if length < 0:
            refuse_dim(self, dim)
        return length

    def stride(self, dim=None):
        """Elements from one index to the next, of every dimension or of one."""
        cdef const cebus_view *view = cebus_tensor_view(self.handle)
        strides = tuple([view.strides[i] for i in range(view.ndim)])
        return strides if dim is None else strides[dim]

    def storage_offset(self):
        return cebus_tensor_view(self.handle).offset

    @property
    def ndim(self):
        """Number of dimensions."""
        return cebus_tensor_ndim(self.handle)

    def dim(self):
        """Number of dimensions."""
        return cebus_tensor_ndim(self.handle)

    def ndimension(self):
        return cebus_tensor_ndim(self.handle)

    def numel(self):
        """Number of elements."""
        return cebus_tensor_numel(self.handle)

    def nelement(self):
        return cebus_tensor_numel(self.handle)

    def element_size(self):
        """Bytes of one element."""
        return cebus_dtype_size(<cebus_dtype>self.code())

    @property
    def itemsize(self):
        return cebus_dtype_size(<cebus_dtype>self.code())

    @property
    def nbytes(self):
        """Bytes of the elements."""
        return cebus_tensor_numel(self.handle) * cebus_dtype_size(<cebus_dtype>self.code())

    @property
    def dtype(self):
        """Element type."""
        return dtypes[self.code()]

    @property
    def device(self):
        """Where it lives."""
        return (<Runtime>runtimes_by_handle[<size_t>self.rt]).device

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def is_cpu(self):
        return self.device.type == "cpu"

    @property
    def is_sparse(self):
        return False

    def is_floating_point(self):
        return self.code() <= CEBUS_BF16

    def is_complex(self):
        return False

    def is_contiguous(self, memory_format=None):
        """Whether elements lie in row-major order without gaps."""
        return cebus_tensor_is_contiguous(self.handle)

    @property
    def is_resident(self):
        """Whether its bytes are on the device now; they may be given up at any later call."""
        return cebus_tensor_is_resident(self.handle)

    @property
    def is_persistent(self):
        """Whether it is never given up: a parameter, optimizer state, a buffer."""
        return cebus_tensor_is_persistent(self.handle)

    def persist_(self):
        """Declares the storage a parameter, optimizer state or buffer: it is never given up."""
        cdef cebus_status status
        with nogil:
            status = cebus_tensor_set_persistent(self.handle)
        if status:
            fail(status)
        return self

    @property
    def _version(self):
        return cebus_tensor_version(self.handle)

    def data_ptr(self):
        """Address of the first element; only an identity: the bytes may move at any call."""
        return data_address(self)

    # --- to the host --------------------------------------------------------------------------

    def item(self):
        """The single element as a Python number."""
        cdef double value
        cdef int64_t whole
        cdef int code = self.code()
        cdef cebus_status status
        if forked:
            refuse_fork()
        if code == CEBUS_I64 and cebus_tensor_numel(self.handle) == 1:
            with nogil:
                status = cebus_tensor_to_host(self.handle, &whole, 8)
            if status:
                fail(status)
            return whole
        with nogil:
            status = cebus_tensor_item(self.handle, &value)
        if status:
            fail(status)
        if code == CEBUS_BOOL:
            return value != 0
        return value if code <= CEBUS_BF16 else int(value)

    def tolist(self):
        """Nested lists of Python numbers."""
        return to_list(self)

    def numpy(self, *, force=False):
        """A read-only NumPy array over the same bytes (CPU), which stay pinned while it lives.

        Other devices and bfloat16: with `force` a copy, as are tensors that require a gradient.
        """
        return to_numpy(self, force)

    def __array__(self, dtype=None, copy=None):
        array = to_numpy(self, False)
        return array if dtype is None else array.astype(dtype)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        export_buffer(self, buffer, flags)

    def __releasebuffer__(self, Py_buffer *buffer):
        release_buffer(buffer)

    def __float__(self):
        return float(self.item())

    def __int__(self):
        return int(self.item())

    def __index__(self):
        if self.code() <= CEBUS_BF16 or cebus_tensor_numel(self.handle) != 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __bool__(self):
        if cebus_tensor_numel(self.handle) != 1:
            raise Error("Boolean value of Tensor with "
                        f"{'no values' if self.numel() == 0 else 'more than one value'} "
                        "is ambiguous")
        return bool(self.item())

    def __len__(self):
        if cebus_tensor_ndim(self.handle) == 0:
            raise TypeError("len() of a 0-d tensor")
        return cebus_tensor_size(self.handle, 0)

    def __iter__(self):
        if cebus_tensor_ndim(self.handle) == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __contains__(self, element):
        """Whether any element equals it."""
        if not isinstance(element, (Tensor, int, float)):
            raise Error("Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                        f"{type(element).__name__}.")
        return bool((self == element).any())

    def __hash__(self):
        return hash(<size_t><void *>self)

    def __repr__(self):
        return printer(self)

    def __format__(self, spec):
        if cebus_tensor_ndim(self.handle) == 0:
            return format(self.item(), spec)
        return format(repr(self), spec) if not spec else object.__format__(self, spec)

    def __getattr__(self, name):
        raise missing(self, name)

    def __reduce_ex__(self, protocol):
        return pickler(self)

    def __copy__(self):
        return wrap(cebus_tensor_retain(self.handle), self.rt)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A DLPack capsule over the same bytes, which stay pinned until its consumer is done."""
        return to_dlpack(self, max_version, dl_device, copy)

    def __dlpack_device__(self):
        return dlpack_device(self)
