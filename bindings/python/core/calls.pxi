# The few shapes that calls into the library have. The GIL is free while the library runs: what it
# reports by events it reports after its own lock is released, so neither waits for the other.
from operator import index as _index

cdef inline Tensor wrap(cebus_tensor *handle, cebus_runtime *rt):
    """Owns a new reference."""
    cdef Tensor self = Tensor.__new__(Tensor)
    self.handle = handle
    self.rt = rt
    return self


cdef Tensor unary(Tensor x, unary_fn function):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if forked:
        refuse_fork()
    with nogil:
        status = function(x.rt, x.handle, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef Tensor float_unary(Tensor x, unary_fn function):
    """As unary, integers become floats first."""
    if x.code() > CEBUS_BF16:
        x = cast(x, default_code)
    return unary(x, function)


cdef Tensor with_number(Tensor x, double value, scalar_fn function):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if forked:
        refuse_fork()
    with nogil:
        status = function(x.rt, x.handle, value, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef Tensor along(Tensor x, int dim, dim_fn function):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if forked:
        refuse_fork()
    with nogil:
        status = function(x.rt, x.handle, dim, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef Tensor cast(Tensor x, int code):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if x.code() == code:
        return x
    with nogil:
        status = cebus_cast(x.rt, x.handle, <cebus_dtype>code, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef Tensor binary(Tensor a, Tensor b, binary_fn function, bint floats):
    """Equal types go straight down; others are promoted once the library refused them."""
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if forked:
        refuse_fork()
    with nogil:
        status = function(a.rt, a.handle, b.handle, &out)
    if status:
        return promoted(a, b, function, floats, status)
    return wrap(out, a.rt)


cdef Tensor promoted(Tensor a, Tensor b, binary_fn function, bint floats, cebus_status status):
    cdef int code
    if a.rt != b.rt:
        a, b = beside(a, b)
        return binary(a, b, function, floats)
    if status != CEBUS_DTYPE_MISMATCH:
        fail(status)
    code = meeting_code(a, b)
    if floats and code > CEBUS_BF16:
        code = default_code
    if a.code() == code and b.code() == code:
        fail(status)
    return binary(cast(a, code), cast(b, code), function, floats)


cdef tuple beside(Tensor a, Tensor b):
    """A zero-dimensional tensor of the CPU may meet one of any device, as in PyTorch."""
    if cebus_tensor_ndim(b.handle) == 0 and b.device == "cpu":
        return a, b.to(a.device)
    if cebus_tensor_ndim(a.handle) == 0 and a.device == "cpu":
        return a.to(b.device), b
    raise Error("Expected all tensors to be on the same device, but found at least two devices, "
                f"{a.device} and {b.device}!")


cdef bint is_number(object value):
    if isinstance(value, (float, int)):
        return True
    return hasattr(value, "__float__") and not hasattr(value, "__len__") \
        and getattr(value, "ndim", 0) == 0


cdef object operand(object value, Tensor beside):
    """An array as a tensor beside another; None: it is no operand at all."""
    if not hasattr(value, "__array_interface__"):
        return None
    return tensor(value, device=beside.device)


cdef object mixed(object a, object b, binary_fn function, scalar_fn number_right, bint floats):
    """An operator of two operands of which at least one is a tensor."""
    cdef Tensor x
    if isinstance(a, Tensor):
        if isinstance(b, Tensor):
            return binary(a, b, function, floats)
        if not is_number(b):
            b = operand(b, a)
            return NotImplemented if b is None else binary(a, b, function, floats)
        x = ready_for_number(a, b, floats)
        if number_right != NULL and x.code() != CEBUS_BOOL and exact_in_double(b):
            return with_number(x, <double>b, number_right)
        return binary(x, number_tensor(b, x), function, floats)
    if not is_number(a):
        a = operand(a, b)
        return NotImplemented if a is None else binary(a, b, function, floats)
    x = ready_for_number(b, a, floats)
    return binary(number_tensor(a, x), x, function, floats)


cdef inline bint exact_in_double(object number):
    return not isinstance(number, int) or -(1 << 53) <= number <= (1 << 53)


cdef Tensor ready_for_number(Tensor x, object number, bint floats):
    """x in the type that an operation with the number computes in."""
    cdef int code = meeting_number(x.code(), number)
    if floats and code > CEBUS_BF16:
        code = default_code
    return cast(x, code)


cdef Tensor number_tensor(object number, Tensor beside):
    """A zero-dimensional tensor of the type and on the device of another: made by a call, which a
    capture can repeat, unless a double does not hold it."""
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    cdef int64_t whole
    cdef double value
    cdef int code = beside.code()
    if code == CEBUS_U8:
        number = int(number) & 255  # as sums of that type wrap around
    if code == CEBUS_I64 and abs(int(number)) > 1 << 53:
        whole = int(number)
        status = cebus_tensor_from_host(beside.rt, &whole, CEBUS_I64, 0, NULL, &out)
    else:
        value = int(number) if code == CEBUS_I64 else number
        status = cebus_full(beside.rt, value, <cebus_dtype>code, 0, NULL, &out)
    if status:
        fail(status)
    return wrap(out, beside.rt)


# --- writes -----------------------------------------------------------------------------------

cdef Tensor fitting(Tensor x, object other):
    """The operand of a write into x, in the type of x."""
    cdef Tensor y
    if not isinstance(other, Tensor):
        if not is_number(other):
            raise TypeError(f"a tensor cannot be combined with a {type(other).__name__}")
        if category(meeting_number(x.code(), other)) > category(x.code()):
            refuse_write(meeting_number(x.code(), other), x.code())
        return number_tensor(other, x)
    y = other
    if y.rt != x.rt:
        x, y = beside(x, y)
    if category(meeting_code(x, y)) > category(x.code()):
        refuse_write(y.code(), x.code())
    return cast(y, x.code())


cdef int refuse_write(int found, int wanted) except -1:
    raise DtypeError(f"result type {dtypes[found].name} can't be cast to the desired output type "
                     f"{dtypes[wanted].name}")


cdef Tensor write(Tensor x, object other, write_fn function):
    cdef Tensor y = fitting(x, other)
    cdef cebus_status status
    with nogil:
        status = function(x.rt, x.handle, y.handle)
    if status:
        fail(status)
    return x


cdef Tensor write_scaled(Tensor x, object other, double alpha, write_scaled_fn function):
    cdef Tensor y = fitting(x, other)
    cdef cebus_status status
    with nogil:
        status = function(x.rt, x.handle, y.handle, alpha)
    if status:
        fail(status)
    return x


cdef Tensor write_number(Tensor x, double value, write_scalar_fn function):
    cdef cebus_status status
    if x.code() == CEBUS_U8 and -256.0 < value <= -1.0:
        value += 256.0
    with nogil:
        status = function(x.rt, x.handle, value)
    if status:
        fail(status)
    return x


# --- lists of dimensions and lengths ----------------------------------------------------------

cdef int dims_into(object dim, int *dims) except -2:
    """How many dimensions are named; -1 for None: all of them."""
    cdef int n = 0
    if dim is None:
        return -1
    if not isinstance(dim, (tuple, list)):
        dims[0] = dim
        return 1
    if len(dim) > CEBUS_MAX_DIMS:
        raise OutOfRangeError(f"{len(dim)} dimensions: at most {CEBUS_MAX_DIMS}")
    for each in dim:
        dims[n] = each
        n += 1
    return n


cdef int shape_into(object shape, int64_t *lengths) except -1:
    """Lengths from (2, 3), ((2, 3),) or [2, 3]; how many."""
    cdef int n = 0
    if isinstance(shape, int):
        shape = (shape,)
    elif len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    if len(shape) > CEBUS_MAX_DIMS:
        raise ShapeError(f"{len(shape)} dimensions: at most {CEBUS_MAX_DIMS}")
    for each in shape:
        lengths[n] = each if isinstance(each, int) else _index(each)
        n += 1
    return n


cdef Tensor reduced(Tensor x, object dim, bint keepdim, reduce_fn function):
    cdef cebus_tensor *out = NULL
    cdef int dims[8]
    cdef int n = dims_into(dim, dims)
    cdef cebus_status status
    if forked:
        refuse_fork()
    if n == 0:
        n = -1  # PyTorch: an empty list reduces all
    if cebus_tensor_ndim(x.handle) == 0 and n == 1 and dims[0] in (0, -1):
        n = -1
    with nogil:
        status = function(x.rt, x.handle, max(n, 0), NULL if n < 0 else dims, keepdim, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef class Handles:
    """An array of borrowed handles; keeps their tensors."""

    cdef cebus_tensor **items
    cdef size_t n
    cdef list tensors
    cdef cebus_runtime *rt

    def __cinit__(self, tensors):
        self.tensors = list(tensors)
        self.n = len(self.tensors)
        self.items = <cebus_tensor **>PyMem_Malloc(max(self.n, 1) * sizeof(cebus_tensor *))
        if self.items == NULL:
            raise MemoryError()
        cdef size_t i = 0
        for each in self.tensors:
            if not isinstance(each, Tensor):
                raise TypeError(f"expected Tensor as element {i} in argument 0, "
                                f"but got {type(each).__name__}")
            self.items[i] = (<Tensor>each).handle
            self.rt = (<Tensor>each).rt
            i += 1

    def __dealloc__(self):
        PyMem_Free(self.items)


cdef inline cebus_tensor *handle_of(object x) except? NULL:
    """Of a tensor; NULL for None."""
    if x is None:
        return NULL
    return (<Tensor?>x).handle
