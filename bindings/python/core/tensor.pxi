# The tensor. Its methods lie in the files included below, a family each; what is composed of
# these is written in Python and joins the class by `extend` (cebus/methods.py).

cdef class Tensor:
    """A counted handle to a view of a storage, with PyTorch's names and semantics.

    The bytes may be given up under memory pressure and are rebuilt, bit for bit, before they are
    read. Shape, strides and type never need them.
    """

    cdef cebus_tensor *handle
    cdef cebus_runtime *rt
    cdef dict __dict__
    cdef object __weakref__
    cdef object shown_grad  # weak: the object that `grad` last answered

    __array_priority__ = 1000

    def __cinit__(self, *arguments, **keywords):
        self.handle = NULL

    def __init__(self, *arguments):
        if self.handle != NULL:
            return
        if len(arguments) == 1 and not isinstance(arguments[0], int):
            adopt(self, tensor(arguments[0], dtype=dtypes[default_code]))
        else:
            adopt(self, empty(*arguments))

    def __dealloc__(self):
        cdef cebus_tensor *handle = self.handle
        if handle != NULL and not forked:
            with nogil:
                cebus_tensor_release(handle)

    cdef inline int code(self):
        return cebus_tensor_view(self.handle).dtype

    include "tensor_data.pxi"
    include "tensor_grad.pxi"
    include "tensor_operators.pxi"
    include "tensor_math.pxi"
    include "tensor_views.pxi"


cdef int adopt(Tensor self, Tensor other) except -1:
    """Makes `self` another name of what `other` names."""
    cdef cebus_tensor *old = self.handle
    self.handle = cebus_tensor_retain(other.handle)
    self.rt = other.rt
    with nogil:
        cebus_tensor_release(old)
    return 0


def _adopt(Tensor self, Tensor other):
    adopt(self, other)
    return self


def extend(str name, object function):
    """Makes a Python function (or property) a member of Tensor."""
    PyDict_SetItem(<object>(<PyTypeObject *>Tensor).tp_dict, name, function)
    PyType_Modified(Tensor)
