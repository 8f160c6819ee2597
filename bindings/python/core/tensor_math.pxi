    # --- functions of each element ------------------------------------------------------------

    def neg(self):
        """-x"""
        return unary(self, cebus_neg)

    def abs(self):
        """|x|"""
        return unary(self, cebus_abs)

    def sign(self):
        """-1, 0 or 1"""
        return self.clone() if self.code() == CEBUS_BOOL else unary(self, cebus_sign)

    def square(self):
        """x x"""
        return unary(cast(self, CEBUS_I64) if self.code() == CEBUS_BOOL else self, cebus_square)

    def exp(self):
        return float_unary(raised(self), cebus_exp)

    def log(self):
        return float_unary(raised(self), cebus_log)

    def sqrt(self):
        return float_unary(self, cebus_sqrt)

    def rsqrt(self):
        """1 / sqrt(x)"""
        return float_unary(raised(self), cebus_rsqrt)

    def reciprocal(self):
        """1 / x"""
        return float_unary(raised(self), cebus_reciprocal)

    def sin(self):
        return float_unary(self, cebus_sin)

    def cos(self):
        return float_unary(self, cebus_cos)

    def erf(self):
        return float_unary(self, cebus_erf)

    def tanh(self):
        return float_unary(self, cebus_tanh)

    def sigmoid(self):
        return float_unary(self, cebus_sigmoid)

    def relu(self):
        """max(x, 0)"""
        return unary(self, cebus_relu)

    def clamp(self, min=None, max=None):
        """min(max(x, min), max); None leaves an end open. Bounds may be tensors."""
        return clamp_between(self, min, max)

    def clone(self, *, memory_format=None):
        """A copy in a storage of its own; gradients flow through it."""
        return unary(self, cebus_clone)

    def contiguous(self, memory_format=None):
        """In row-major order: itself when it is so already."""
        if cebus_tensor_is_contiguous(self.handle):
            return self
        return unary(self, cebus_contiguous)

    def softmax(self, int dim, dtype=None):
        """exp(x) / sum(exp(x)) along `dim`."""
        cdef Tensor x = raised(self) if dtype is None else cast(self, code_of(dtype))
        return along(x, dim, cebus_softmax)

    def log_softmax(self, int dim, dtype=None):
        """log(softmax(x)) along `dim`."""
        cdef Tensor x = raised(self) if dtype is None else cast(self, code_of(dtype))
        return along(x, dim, cebus_log_softmax)

    # --- reductions ---------------------------------------------------------------------------

    def sum(self, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
        """Sum over `dim` (an int, several, or None: all)."""
        cdef Tensor x = raised(self) if dtype is None else cast(self, code_of(dtype))
        x = reduced(x, dim if axis is None else axis, keepdim or keepdims is True, cebus_sum)
        return x if dtype is None else cast(x, code_of(dtype))

    def mean(self, dim=None, keepdim=False, *, dtype=None, axis=None, keepdims=None):
        """Arithmetic mean over `dim`."""
        cdef Tensor x = self if dtype is None else cast(self, code_of(dtype))
        return reduced(x, dim if axis is None else axis, keepdim or keepdims is True, cebus_mean)

    def amax(self, dim=None, keepdim=False, *, axis=None, keepdims=None):
        """Largest element over `dim`."""
        return reduced(self, dim if axis is None else axis, keepdim or keepdims is True,
                       cebus_max)

    def amin(self, dim=None, keepdim=False, *, axis=None, keepdims=None):
        """Smallest element over `dim`."""
        return reduced(self, dim if axis is None else axis, keepdim or keepdims is True,
                       cebus_min)

    def argmax(self, dim=None, keepdim=False, *, axis=None, keepdims=None):
        """Index of the first largest element."""
        return reduced(self, dim if axis is None else axis, keepdim or keepdims is True,
                       cebus_argmax)

    def argmin(self, dim=None, keepdim=False, *, axis=None, keepdims=None):
        """Index of the first smallest element."""
        return reduced(self, dim if axis is None else axis, keepdim or keepdims is True,
                       cebus_argmin)

    def logsumexp(self, dim, keepdim=False):
        """log(sum(exp(x))) over `dim`."""
        x = self if self.is_floating_point() else self.to(get_default_dtype())
        return reduced(x, dim, keepdim, cebus_logsumexp)

    def max(self, dim=None, keepdim=False, *, axis=None, keepdims=None):
        """The largest element; with `dim` a pair (values, indices); with a tensor, pairwise."""
        return extreme(self, dim if axis is None else axis, keepdim or keepdims is True, True)

    def min(self, dim=None, keepdim=False, *, axis=None, keepdims=None):
        """The smallest element; with `dim` a pair (values, indices); with a tensor, pairwise."""
        return extreme(self, dim if axis is None else axis, keepdim or keepdims is True, False)

    def var(self, dim=None, unbiased=True, keepdim=False, *, correction=None, axis=None,
            keepdims=None):
        """Variance over `dim`; `correction` (1 when unbiased) is taken from the count."""
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return variance(self, dim if axis is None else axis,
                        int(unbiased) if correction is None else correction,
                        keepdim or keepdims is True)

    # --- positions ----------------------------------------------------------------------------

    def gather(self, int dim, Tensor index):
        """Elements at the positions that `index` names along `dim`."""
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        with nogil:
            status = cebus_gather(self.rt, self.handle, dim, index.handle, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def index_select(self, int dim, Tensor index):
        """Slices along `dim` in the order of `index`."""
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        with nogil:
            status = cebus_index_select(self.rt, self.handle, dim, index.handle, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def scatter_add(self, int dim, Tensor index, Tensor src):
        """A copy to which `src` was added at the positions that `index` names along `dim`."""
        cdef cebus_tensor *out = NULL
        cdef cebus_status status
        if self.code() in (CEBUS_U8, CEBUS_BOOL) and self.code() == src.code():
            # As the sums of those types wrap around, or are any.
            return cast(cast(self, CEBUS_I32).scatter_add(dim, index, cast(src, CEBUS_I32)),
                        self.code())
        with nogil:
            status = cebus_scatter_add(self.rt, self.handle, dim, index.handle, src.handle, &out)
        if status:
            fail(status)
        return wrap(out, self.rt)

    def roll(self, shifts, dims=None):
        """Moves elements by `shifts` places, those pushed over the end to the front."""
        return rolled(self, shifts, dims)

    # --- types --------------------------------------------------------------------------------

    def to(self, *arguments, dtype=None, device=None, non_blocking=False, copy=False,
           memory_format=None):
        """With another type or on another device: to(dtype), to(device), to(other), to(d, t)."""
        return convert(self, arguments, dtype, device, copy)

    def type(self, dtype=None):
        """Converted to `dtype`; without one the name of the type."""
        if dtype is None:
            return type_name(self)
        return cast(self, code_of(dtype))

    def float(self):
        return cast(self, CEBUS_F32)

    def double(self):
        return cast(self, CEBUS_F64)

    def half(self):
        return cast(self, CEBUS_F16)

    def bfloat16(self):
        return cast(self, CEBUS_BF16)

    def long(self):
        return cast(self, CEBUS_I64)

    def int(self):
        return cast(self, CEBUS_I32)

    def byte(self):
        return cast(self, CEBUS_U8)

    def bool(self):
        return cast(self, CEBUS_BOOL)
