# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: nonecheck=True
# cython: always_allow_keywords=True, binding=False, embedsignature=True
"""The extension behind `cebus`: tensors over the public C interface, nothing else."""
from cpython.buffer cimport (PyBUF_ANY_CONTIGUOUS, PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE,
                             PyBuffer_Release, PyObject_GetBuffer)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_SetItem
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.object cimport Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE, PyTypeObject
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset
from libcpp cimport bool as cbool

from capi cimport *
from capi_advise cimport *
from capi_ops cimport *


cdef extern from "Python.h":
    void PyErr_SetObject(object kind, object value)
    void PyErr_WriteUnraisable(object where)
    void PyType_Modified(type kind)
    ctypedef void (*PyCapsule_Destructor)(object)


include "errors.pxi"
include "dtype.pxi"
include "runtime.pxi"
include "tensor.pxi"
include "calls.pxi"
include "autocast.pxi"
include "support.pxi"
include "views.pxi"
include "creation.pxi"
include "buffer.pxi"
include "dlpack.pxi"
include "nn_ops.pxi"
include "training.pxi"
include "graph.pxi"
include "memory.pxi"
include "advice.pxi"
include "capture.pxi"
