# Element types and the rules by which they meet (PyTorch's).

cdef class dtype:
    """An element type, as `cebus.float32`."""

    cdef readonly int code
    cdef readonly str name
    cdef readonly int itemsize
    cdef readonly bint is_floating_point
    cdef readonly str format  # of the buffer protocol; "" where it knows none

    is_complex = False

    def __repr__(self):
        return "cebus." + self.name

    def __reduce__(self):
        return (_dtype_named, (self.name,))

    @property
    def is_signed(self):
        return self.code != CEBUS_U8 and self.code != CEBUS_BOOL

    def to_complex(self):
        raise UnsupportedError("cebus has no complex types")


cdef dtype new_dtype(int code, str name, str format):
    cdef dtype self = dtype.__new__(dtype)
    self.code = code
    self.name = name
    self.itemsize = cebus_dtype_size(<cebus_dtype>code)
    self.is_floating_point = code <= CEBUS_BF16
    self.format = format
    return self


float32 = new_dtype(CEBUS_F32, "float32", "f")
float64 = new_dtype(CEBUS_F64, "float64", "d")
float16 = new_dtype(CEBUS_F16, "float16", "e")
bfloat16 = new_dtype(CEBUS_BF16, "bfloat16", "")
int64 = new_dtype(CEBUS_I64, "int64", "q")
int32 = new_dtype(CEBUS_I32, "int32", "i")
uint8 = new_dtype(CEBUS_U8, "uint8", "B")
bool_ = new_dtype(CEBUS_BOOL, "bool", "?")

cdef list dtypes = [None, float32, float64, float16, bfloat16, int64, int32, uint8, bool_]
cdef dict dtype_names = {d.name: d for d in dtypes if d is not None}
cdef int default_code = CEBUS_F32


def _dtype_named(str name):
    return dtype_names[name]


cdef int code_of(object kind) except -1:
    """Of a dtype, or of a Python or NumPy type that stands for one."""
    if isinstance(kind, dtype):
        return (<dtype>kind).code
    if kind is float:
        return default_code
    if kind is int:
        return CEBUS_I64
    if kind is bool:
        return CEBUS_BOOL
    found = getattr(kind, "tensor_dtype", None)  # of cebus.FloatTensor and its like
    if found is None:
        found = dtype_names.get(getattr(kind, "__name__", None) or str(kind))
    if found is None:
        raise TypeError(f"{kind!r} is no cebus dtype: there are " + ", ".join(dtype_names))
    return (<dtype>found).code


def get_default_dtype():
    """The type of floating-point tensors that are made without one."""
    return dtypes[default_code]


def set_default_dtype(kind):
    """Sets the type of floating-point tensors that are made without one."""
    global default_code
    cdef int code = code_of(kind)
    if code > CEBUS_BF16:
        raise TypeError(f"only floating-point types are supported as the default type, not {kind}")
    default_code = code


cdef inline int category(int code):
    """0 bool, 1 integers, 2 floats: what PyTorch ranks types by first."""
    return 0 if code == CEBUS_BOOL else (2 if code <= CEBUS_BF16 else 1)


cdef int promote_codes(int a, int b):
    cdef int low
    if a == b:
        return a
    if category(a) != category(b):
        return a if category(a) > category(b) else b
    if category(a) == 1:
        low = CEBUS_U8
        if a == low:
            return b
        return a if b == low else CEBUS_I64
    if a == CEBUS_F64 or b == CEBUS_F64:
        return CEBUS_F64
    return CEBUS_F32  # f32 with a narrow one, or the two narrow ones


def promote_types(a, b):
    """The smallest type that holds both."""
    return dtypes[promote_codes(code_of(a), code_of(b))]


cdef int meeting_code(Tensor a, Tensor b):
    """Type of an operation on both: zero-dimensional tensors decide only by their category."""
    cdef int x = a.code(), y = b.code()
    cdef bint x_scalar = cebus_tensor_ndim(a.handle) == 0
    cdef bint y_scalar = cebus_tensor_ndim(b.handle) == 0
    if x == y:
        return x
    if x_scalar != y_scalar:
        if x_scalar and category(y) >= category(x):
            return y
        if y_scalar and category(x) >= category(y):
            return x
    return promote_codes(x, y)


cdef int meeting_number(int code, object number) except -1:
    """Type of an operation of a tensor with a Python number."""
    cdef int rank
    if isinstance(number, bool):
        rank = 0
    elif isinstance(number, int):
        rank = 1
    elif isinstance(number, float):
        rank = 2
    else:
        rank = 2 if not hasattr(number, "__index__") else 1
    if category(code) >= rank:
        return code
    return default_code if rank == 2 else CEBUS_I64


def result_type(a, b):
    """The type an operation of two tensors (or a tensor and a number) computes in."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return dtypes[meeting_code(a, b)]
    if isinstance(a, Tensor):
        return dtypes[meeting_number((<Tensor>a).code(), b)]
    if isinstance(b, Tensor):
        return dtypes[meeting_number((<Tensor>b).code(), a)]
    return result_type(tensor(a), tensor(b))
