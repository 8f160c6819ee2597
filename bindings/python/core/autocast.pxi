# Automatic casts: in a block of cebus.autocast products read a 16-bit type, and what needs range or
# digits reads float32. Outside of every block an operation pays for one comparison.

cdef int autocast_blocks = 0               # in how many (thread, device) pairs one is in force
autocast_types = _threading.local()        # of this thread: kind of device -> code of the type


def _autocast_set(str device, kind):
    """The type that products read on devices of a kind ("cpu", "cuda"), None: as they are. Answers
    what was set before."""
    global autocast_blocks
    here = autocast_types.__dict__
    before = here.get(device)
    autocast_blocks += (kind is not None) - (before is not None)
    here[device] = kind
    return before


def _autocast_get(str device):
    """What is set for devices of a kind."""
    return autocast_types.__dict__.get(device)


cdef object autocast_for(Tensor x):
    return autocast_types.__dict__.get("cpu" if x.device == "cpu" else "cuda")


cdef Tensor lowered_here(Tensor x):
    kind = None if x is None else autocast_for(x)
    if kind is None or x.code() > CEBUS_BF16 or x.code() == CEBUS_F64:
        return x
    return cast(x, code_of(kind))


cdef inline Tensor lowered(Tensor x):
    """What a product reads."""
    return x if autocast_blocks == 0 else lowered_here(x)


cdef Tensor product(Tensor a, Tensor b):
    """A product of matrices."""
    cdef int code
    if a.code() <= CEBUS_BF16 or b.code() <= CEBUS_BF16:
        return binary(lowered(a), lowered(b), cebus_matmul, False)
    # Of whole numbers: a double holds every sum below 2^53.
    code = meeting_code(a, b)
    if code == CEBUS_BOOL:
        return binary(a, b, cebus_matmul, False)  # which refuses it
    return cast(binary(cast(a, CEBUS_F64), cast(b, CEBUS_F64), cebus_matmul, False), code)


cdef Tensor raised_here(Tensor x):
    if x is None or (x.code() != CEBUS_F16 and x.code() != CEBUS_BF16) or autocast_for(x) is None:
        return x
    return cast(x, CEBUS_F32)


cdef inline Tensor raised(Tensor x):
    """What reads float32."""
    return x if autocast_blocks == 0 else raised_here(x)


def _raised(x):
    """A tensor as an operation that reads float32 sees it; anything else as it is."""
    return raised(x) if autocast_blocks and isinstance(x, Tensor) else x
