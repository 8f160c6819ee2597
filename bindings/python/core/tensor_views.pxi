    # --- views --------------------------------------------------------------------------------

    def reshape(self, *lengths_, shape=None):
        """Of another shape, one length may be -1; a view where one can express it."""
        cdef int64_t lengths[8]
        cdef int n = shape_into(lengths_ if shape is None else (shape,), lengths)
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        with nogil:
            status = cebus_reshape(self.rt, self.handle, n, lengths, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def view(self, *shape):
        """As reshape, and refused where a copy would be needed."""
        if len(shape) == 1 and not isinstance(shape[0], (int, tuple, list)):
            raise UnsupportedError("view(dtype) reinterprets bytes, which cebus does not")
        cdef Tensor out = self.reshape(*shape)
        return out if is_view(self, out) else view_anew(self, shape)

    def permute(self, *order_, dims=None):
        """Dimension i of the result is dims[i] of the input."""
        cdef int order[8]
        cdef int n
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        dims = order_ if dims is None else dims
        n = dims_into(dims[0] if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims,
                      order)
        if n != cebus_tensor_ndim(self.handle):
            raise ShapeError(f"permute: {n} dimensions were given for a tensor of {self.ndim}")
        with nogil:
            status = cebus_permute(self.rt, self.handle, order, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def transpose(self, int dim0, int dim1):
        """Swaps two dimensions."""
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        if cebus_tensor_ndim(self.handle) == 0 and -1 <= dim0 <= 0 and -1 <= dim1 <= 0:
            return self.permute()
        with nogil:
            status = cebus_transpose(self.rt, self.handle, dim0, dim1, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def t(self):
        """The transpose of a matrix; a vector or a number as it is."""
        if cebus_tensor_ndim(self.handle) > 2:
            raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
        return self.reshape(self.shape) if cebus_tensor_ndim(self.handle) < 2 \
            else self.transpose(0, 1)

    @property
    def T(self):
        """Dimensions in reverse order."""
        return self.permute(tuple(range(cebus_tensor_ndim(self.handle)))[::-1])

    @property
    def mT(self):
        """The last two dimensions swapped."""
        return self.transpose(-2, -1)

    def expand(self, *shape):
        """Repeats dimensions of length 1, and new leading ones, without a copy; -1 keeps."""
        cdef int64_t lengths[8]
        cdef int n = shape_into(shape, lengths)
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        with nogil:
            status = cebus_expand(self.rt, self.handle, n, lengths, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def diagonal(self, int64_t offset=0, int dim1=0, int dim2=1):
        """The diagonal of two dimensions as a last dimension."""
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        with nogil:
            status = cebus_diagonal(self.rt, self.handle, offset, dim1, dim2, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def unfold(self, int dimension, int64_t size, int64_t step):
        """Windows of `size` along a dimension, `step` apart, as a last dimension."""
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        if cebus_tensor_ndim(self.handle) == 0:
            return self.unsqueeze(0).unfold(dimension, size, step).select(0, 0)
        with nogil:
            status = cebus_windows(self.rt, self.handle, dimension, size, step, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def as_strided(self, size, stride, storage_offset=None):
        """The storage read in any way: element (i, j, ..) is storage_offset + i stride[0] + .."""
        cdef int64_t lengths[8]
        cdef int64_t strides[8]
        cdef int n = shape_into((size,), lengths)
        cdef int64_t offset = cebus_tensor_view(self.handle).offset
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        if shape_into((stride,), strides) != n:
            raise ShapeError(f"as_strided: {n} lengths and {len(stride)} strides")
        if storage_offset is not None:
            offset = storage_offset
        with nogil:
            status = cebus_as_strided(self.rt, self.handle, n, lengths, strides, offset, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def squeeze(self, dim=None):
        """Without dimensions of length 1, or without `dim` if its length is 1."""
        if dim is not None and not isinstance(dim, (tuple, list)):
            if cebus_tensor_ndim(self.handle) > 0:
                return along(self, dim, cebus_squeeze)
            dim = (dim,)
        return squeezed(self, dim)

    def unsqueeze(self, int dim):
        """With a dimension of length 1 at `dim`."""
        return along(self, dim, cebus_unsqueeze)

    def select(self, int dim, int64_t index):
        """One index of `dim`, which is dropped."""
        return selected(self, dim, index)

    def narrow(self, int dim, start, int64_t length):
        """`length` indices of `dim` from `start` on."""
        cdef int64_t whole = self.size(dim), begin = start
        if begin < 0:
            begin += whole
        if begin < 0 or length < 0 or begin > whole or length > whole - begin:
            raise OutOfRangeError(f"start ({start}) + length ({length}) exceeds dimension size "
                                  f"({whole}).")
        return sliced(self, dim, begin, begin + length, 1)

    def split(self, split_size, dim=0):
        """Pieces of `split_size` along `dim`, or of the sizes that a list names."""
        return split_into(self, split_size, dim)

    def unbind(self, dim=0):
        """All indices of `dim`, a tuple."""
        return tuple([selected(self, dim, i) for i in range(self.size(dim))])

    def flatten(self, start_dim=0, end_dim=-1):
        """Dimensions start_dim to end_dim as one."""
        return flattened(self, start_dim, end_dim)

    def __getitem__(self, key):
        if isinstance(key, int) and not isinstance(key, bool):
            return selected(self, 0, key)
        return get_item(self, key)

    def __setitem__(self, key, value):
        set_item(self, key, value)
