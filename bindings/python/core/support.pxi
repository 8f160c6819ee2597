# What Tensor's methods are made of.

printer = None                  # set by Python: how a tensor is printed, which names are near,
missing = None                  # how it is pickled
pickler = None
html = None


def install(**functions):
    """Python's part of printing, pickling and missing names."""
    global printer, missing, pickler, html
    printer = functions["printer"]
    missing = functions["missing"]
    pickler = functions["pickler"]
    html = functions["html"]


class Size(tuple):
    """A shape."""

    def numel(self):
        n = 1
        for length in self:
            n *= length
        return n

    def __repr__(self):
        return f"cebus.Size({list(self)})"

    def __getitem__(self, key):
        found = tuple.__getitem__(self, key)
        return Size(found) if isinstance(key, slice) else found

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))


cdef int refuse_dim(Tensor x, object dim) except -1:
    cdef int n = max(cebus_tensor_ndim(x.handle), 1)
    raise OutOfRangeError("Dimension out of range (expected to be in range of "
                          f"[{-n}, {n - 1}], but got {dim})")


cdef int check_ndim(str op, Tensor x, int ndim) except -1:
    if cebus_tensor_ndim(x.handle) != ndim:
        raise ShapeError(f"{op}: expected a tensor of {ndim} dimensions, but it has the shape "
                         f"{tuple(x.shape)}")
    return 0


cdef int wrapped_dim(Tensor x, int dim) except -1:
    cdef int n = max(cebus_tensor_ndim(x.handle), 1)
    if not -n <= dim < n:
        refuse_dim(x, dim)
    return dim + n if dim < 0 else dim


def _wrapped(Tensor x, int dim):
    """`dim` counted from the front; IndexError where x has none such. A number has 0 and -1."""
    return wrapped_dim(x, dim)


# --- arithmetic -------------------------------------------------------------------------------

cdef cebus_status logical_not_of(cebus_runtime *rt, cebus_tensor *x, cebus_tensor **out) nogil:
    return cebus_eq_scalar(rt, x, 0.0, out)


cdef binary_fn comparisons[6]
cdef scalar_fn number_comparisons[6]
comparisons[Py_LT], number_comparisons[Py_LT] = cebus_lt, cebus_lt_scalar
comparisons[Py_LE], number_comparisons[Py_LE] = cebus_le, cebus_le_scalar
comparisons[Py_EQ], number_comparisons[Py_EQ] = cebus_eq, cebus_eq_scalar
comparisons[Py_NE], number_comparisons[Py_NE] = cebus_ne, cebus_ne_scalar
comparisons[Py_GT], number_comparisons[Py_GT] = cebus_gt, cebus_gt_scalar
comparisons[Py_GE], number_comparisons[Py_GE] = cebus_ge, cebus_ge_scalar


cdef object compare(Tensor a, object b, int op):
    if isinstance(b, Tensor):
        return binary(a, b, comparisons[op], False)
    if not is_number(b):
        b = operand(b, a)
        return NotImplemented if b is None else binary(a, b, comparisons[op], False)
    if exact_in_double(b) and category(a.code()) > 0:
        return with_number(a, b, number_comparisons[op])
    a = ready_for_number(a, b, False)
    return binary(a, number_tensor(b, a), comparisons[op], False)


cdef object bits(object a, object b, binary_fn function):
    """Of whole numbers and bool; the library refuses floats."""
    return mixed(a, b, function, NULL, False)


cdef Tensor without_slope(Tensor value, Tensor x):
    """`value` as a function of x whose gradient is zero everywhere."""
    value = value.detach()
    if not cebus_tensor_requires_grad(x.handle) or not cebus_grad_is_enabled():
        return value
    return where(zeros((), dtype=bool_, device=x.device), x, value)


def trunc(Tensor x):
    """Rounds towards zero. Beyond 2^53 every double is whole already."""
    if x.code() > CEBUS_BF16:
        return x
    whole = cast(cast(x, CEBUS_I64), x.code())
    return without_slope(where(x.abs() < float(1 << 53), whole, x), x)


def floor(Tensor x):
    """The largest whole number that is not above x."""
    if x.code() > CEBUS_BF16:
        return x
    low = trunc(x)
    return without_slope(where(low > x, low - 1.0, low), x)


def _in_double(a, b):
    """(a, b, type): both in f64 as they are in the type they meet in, and that type. In it itself
    a quotient may round up to a whole number that it does not reach."""
    beside = a if isinstance(a, Tensor) else b
    cdef int code = code_of(result_type(a, b))
    pair = [cast(cast(each, code) if isinstance(each, Tensor)
                 else number_tensor(each, cast(beside, code)), CEBUS_F64) for each in (a, b)]
    return pair[0], pair[1], dtypes[code]


cdef object floor_divide(object a, object b):
    a, b = operands(a, b)
    return NotImplemented if a is None else divide(a, b, "floor")


cdef tuple operands(object a, object b):
    """Both as tensors or numbers; (None, None) if one is neither."""
    if not isinstance(a, Tensor) and not is_number(a):
        a = operand(a, b)
    elif not isinstance(b, Tensor) and not is_number(b):
        b = operand(b, a)
    return (None, None) if a is None or b is None else (a, b)


cdef object divide(object a, object b, object rounding):
    """True division, or rounded; of integers without leaving them."""
    if rounding not in (None, "floor", "trunc"):
        raise InvalidArgumentError("div expected rounding_mode to be one of None, 'trunc', or "
                                   f"'floor' but found '{rounding}'")
    if rounding is None:
        return a / b
    if category(code_of(result_type(a, b))) < 2:
        return divide_integers(a, b, rounding)
    if rounding == "trunc":
        return trunc(a / b)
    high, low, kind = _in_double(a, b)
    x, y = high.detach(), low.detach()
    rest = binary(x, y, cebus_fmod, False)
    near = (x - rest) / y  # a whole number but for a rounding
    whole = floor(near)
    whole = where(near - whole > 0.5, whole + 1.0, whole)
    whole = where((rest != 0) & ((rest < 0) != (y < 0)), whole - 1.0, whole)
    whole = where(y == 0, x / y, whole)
    if (high.requires_grad or low.requires_grad) and cebus_grad_is_enabled():
        whole = without_slope(whole, high / low)
    return cast(whole, code_of(kind))


def _endless(high, low):
    """Where what divides is infinite, and what is divided is not: all of that is left."""
    return (low.abs() == float("inf")) & (high.abs() < float("inf"))


cdef object divide_integers(object a, object b, str rounding):
    cdef binary_fn function = cebus_div_floor if rounding == "floor" else cebus_div_trunc
    cdef int code = code_of(result_type(a, b))
    if not isinstance(b, Tensor) and b == 0:
        raise InvalidArgumentError("ZeroDivisionError: integer division by zero")
    if code == CEBUS_BOOL:
        a, b = [cast(each, CEBUS_U8) if isinstance(each, Tensor) else int(each) for each in (a, b)]
    return cast(mixed(a, b, function, NULL, False), code)


cdef object remainder(object a, object b):
    a, b = operands(a, b)
    if a is None:
        return NotImplemented
    if category(code_of(result_type(a, b))) < 2:
        return a - divide(a, b, "floor") * b
    return _rest(a, b, True)


def _rest(a, b, bint down):
    """What is left of a / b rounded down, or towards zero; at least one is a tensor of floats."""
    cdef int code = code_of(result_type(a, b))
    beside = a if isinstance(a, Tensor) else b
    high, low = [cast(each, code) if isinstance(each, Tensor)
                 else number_tensor(each, cast(beside, code)) for each in (a, b)]
    x, y = high.detach(), low.detach()
    rest = binary(x, y, cebus_remainder if down else cebus_fmod, False)
    if not cebus_grad_is_enabled():
        return rest
    if low.requires_grad:  # by minus the quotient
        whole = (x - rest) / y
        flat = _endless(x, y) | (whole.abs() == float("inf"))
        rest = rest - where(flat, 0.0, where(flat, 0.0, whole) * (low - y))
    return rest + (high - x) if high.requires_grad else rest


def where(condition, a=None, b=None):
    """a where `condition` (bool) holds, else b; all broadcast. Alone: nonzero as a tuple."""
    cdef cebus_tensor *out = NULL
    cdef Tensor c = condition, x, y
    cdef cebus_status status
    if a is None:
        return nonzero(condition, as_tuple=True)
    if not isinstance(a, Tensor):
        a = number_tensor(a, ready_for_number(b, a, False)) if isinstance(b, Tensor) \
            else tensor(a, device=condition.device)
    if not isinstance(b, Tensor):
        b = number_tensor(b, ready_for_number(a, b, False))
    cdef int code = meeting_code(a, b)
    x, y = cast(a, code), cast(b, code)
    if c.code() != CEBUS_BOOL:
        c = cast(c, CEBUS_BOOL)
    with nogil:
        status = cebus_where(x.rt, c.handle, x.handle, y.handle, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef object clamp_between(Tensor x, object low, object high):
    cdef cebus_tensor *out = NULL
    cdef double a = -INFINITY, b = INFINITY
    cdef cebus_status status
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        if low is not None:
            x = binary(x, low if isinstance(low, Tensor) else number_tensor(low, x),
                       cebus_maximum, False)
        if high is not None:
            x = binary(x, high if isinstance(high, Tensor) else number_tensor(high, x),
                       cebus_minimum, False)
        return x
    if low is None and high is None:
        raise InvalidArgumentError("clamp: At least one of 'min' or 'max' must not be None")
    if x.code() == CEBUS_BOOL:
        x = cast(x, CEBUS_I64)
    if category(x.code()) < 2 and (isinstance(low, float) or isinstance(high, float)):
        x = cast(x, code_of(result_type(x, 0.5)))
    a = a if low is None else low
    b = b if high is None else high
    with nogil:
        status = cebus_clamp(x.rt, x.handle, a, b, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


# --- reductions -------------------------------------------------------------------------------

from collections import namedtuple as _namedtuple

ValuesAndIndices = _namedtuple("ValuesAndIndices", "values indices")


cdef object extreme(Tensor x, object dim, bint keepdim, bint largest):
    if isinstance(dim, Tensor):
        return binary(x, dim, cebus_maximum if largest else cebus_minimum, False)
    if dim is None:
        return reduced(x, None, False, cebus_max if largest else cebus_min)
    if cebus_tensor_ndim(x.handle) == 0:
        wrapped_dim(x, dim)
        return ValuesAndIndices(x.clone(), zeros((), dtype=int64, device=x.device))
    cdef Tensor at = reduced(x, dim, True, cebus_argmax if largest else cebus_argmin)
    values = x.gather(dim, at)
    if not keepdim:
        values, at = values.squeeze(dim), at.squeeze(dim)
    return ValuesAndIndices(values, at)


cdef Tensor variance(Tensor x, object dim, int correction, bint keepdim):
    cdef cebus_tensor *out = NULL
    cdef int dims[8]
    cdef int n = dims_into(dim, dims)
    cdef cebus_var_options options
    cdef cebus_status status
    if cebus_tensor_ndim(x.handle) == 0:
        for i in range(n):
            wrapped_dim(x, dims[i])
        n = 0
    options.dims = NULL if n <= 0 else dims
    options.n_dims = max(n, 0)
    options.correction = correction
    options.keepdim = keepdim
    with nogil:
        status = cebus_var(x.rt, x.handle, &options, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef Tensor rolled(Tensor x, object shifts, object dims):
    cdef cebus_tensor *out = NULL
    cdef int64_t steps[8]
    cdef int along_dims[8]
    cdef int n = shape_into(shifts, steps), m = dims_into(dims, along_dims)
    cdef cebus_status status
    if (m >= 0 and m != n) or (m < 0 and n != 1):
        raise InvalidArgumentError(f"roll: {n} shifts for {max(m, 0)} dimensions")
    with nogil:
        status = cebus_roll(x.rt, x.handle, n, steps, NULL if m < 0 else along_dims, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


# --- conversions ------------------------------------------------------------------------------

cdef object convert(Tensor x, tuple arguments, object dtype_, object device_, bint copy):
    for each in arguments:
        if isinstance(each, dtype):
            dtype_ = each
        elif isinstance(each, Tensor):
            dtype_, device_ = each.dtype, each.device
        elif each is not None and not isinstance(each, bool):
            device_ = each
    cdef Tensor out = x
    if device_ is not None:
        out = moved(out, runtime_of(device_))
    if dtype_ is not None:
        out = cast(out, code_of(dtype_))
    return out.clone() if copy and out is x else out


cdef Tensor moved(Tensor x, Runtime target):
    """A copy on another device, by way of the host."""
    cdef cebus_tensor *out = NULL
    cdef const cebus_view *view = cebus_tensor_view(x.handle)
    cdef cebus_status status
    cdef bytes data
    cdef const char *source
    if x.rt == target.rt:
        return x
    if cebus_tensor_requires_grad(x.handle) and cebus_grad_is_enabled():
        raise UnsupportedError("gradients do not flow from one device to another: "
                               "move the data first, or x.detach().to(...)")
    data = host_bytes(x)
    source = data
    with nogil:
        status = cebus_tensor_from_host(target.rt, source, view.dtype, view.ndim, view.shape, &out)
    if status:
        fail(status)
    return wrap(out, target.rt)


cdef str type_name(Tensor x):
    names = {CEBUS_F32: "Float", CEBUS_F64: "Double", CEBUS_F16: "Half", CEBUS_BF16: "BFloat16",
             CEBUS_I64: "Long", CEBUS_I32: "Int", CEBUS_U8: "Byte", CEBUS_BOOL: "Bool"}
    return f"cebus.{names[x.code()]}Tensor"


cdef object copy_into(Tensor x, object source):
    cdef Tensor y
    cdef cebus_status status
    if not isinstance(source, Tensor):
        kind = float64 if isinstance(source, float) else None  # whose digits x may have
        y = tensor(source, dtype=kind, device=x.device)
    else:
        y = moved(source, runtimes_by_handle[<size_t>x.rt])
    while cebus_tensor_ndim(y.handle) > cebus_tensor_ndim(x.handle) \
            and cebus_tensor_size(y.handle, 0) == 1:
        y = along(y, 0, cebus_squeeze)
    with nogil:
        status = cebus_copy_(x.rt, x.handle, y.handle)
    if status:
        fail(status)
    return x
