# Captures: the C interface as it is; cebus/capturing.py says what they are for.


cdef class Capture:
    """An iteration of a device's calls, recorded from begin() to end()."""

    cdef cebus_capture *handle
    cdef Runtime where

    def __cinit__(self, device=None):
        self.where = runtime_of(device)

    def __dealloc__(self):
        cdef cebus_capture *gone = self.handle
        if gone != NULL:
            with nogil:
                cebus_capture_destroy(gone)

    def begin(self):
        """From now on calls are recorded."""
        cdef cebus_status status
        with nogil:
            status = cebus_capture_begin(self.where.rt)
        if status:
            fail(status)

    def end(self):
        """No longer; an iteration that could not come again is refused."""
        cdef cebus_status status
        with nogil:
            status = cebus_capture_end(self.where.rt, &self.handle)
        if status:
            fail(status)

    def abandon(self):
        """What was recorded is thrown away."""
        cdef cebus_status status
        with nogil:
            status = cebus_capture_end(self.where.rt, NULL)
        if status:
            fail(status)

    def launch(self):
        """The calls once more."""
        cdef cebus_status status
        if self.handle == NULL:
            raise CaptureError("launch: nothing was captured yet")
        with nogil:
            status = cebus_capture_launch(self.handle)
        if status:
            fail(status)

    def names(self):
        """Of the ops, call by call."""
        cdef const cebus_advise_program *program = cebus_capture_program(self.handle)
        cdef size_t i
        if program == NULL:
            return []
        return [cebus_capture_call_name(self.handle, i).decode() for i in range(program.n_calls)]

    def set_order(self, order):
        """Launches run call order[k] at step k; None: as the calls were made."""
        cdef cebus_status status
        cdef size_t i, n = 0 if order is None else len(order)
        cdef uint32_t *items = NULL
        if self.handle == NULL:
            raise CaptureError("set_order: nothing was captured yet")
        if order is not None:
            items = <uint32_t *>PyMem_Malloc((n + 1) * sizeof(uint32_t))
            if items == NULL:
                raise MemoryError()
        try:
            for i in range(n):
                items[i] = order[i]
            with nogil:
                status = cebus_capture_set_order(self.handle, items, n)
        finally:
            PyMem_Free(items)
        if status:
            fail(status)
