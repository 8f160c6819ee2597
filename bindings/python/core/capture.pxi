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

    @property
    def device(self):
        """Whose calls it records."""
        return self.where.device

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

    def watch(self, on):
        """Each iteration is recorded from the next one on, or no longer."""
        cdef cebus_status status
        cdef bint wanted = on
        with nogil:
            status = cebus_capture_watch(self.where.rt, wanted)
        if status:
            fail(status)

    def last(self):
        """This is the iteration that has just ended."""
        cdef cebus_status status
        cdef cebus_capture *found = NULL
        with nogil:
            status = cebus_capture_last(self.where.rt, &found)
        if status:
            fail(status)
        if self.handle != NULL:
            with nogil:
                cebus_capture_destroy(self.handle)
        self.handle = found

    def inputs(self):
        """What each launch reads anew, but for what is persistent."""
        cdef cebus_status status
        cdef cebus_tensor *out
        cdef size_t i
        found = []
        for i in range(cebus_capture_input_count(self.handle)):
            with nogil:
                status = cebus_capture_input(self.handle, i, &out)
            if status:
                fail(status)
            found.append(wrap(out, self.where.rt))
        return found

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

    def count_on(self, iterations):
        """The program ran so many of them by itself."""
        cdef cebus_status status
        cdef uint64_t count = iterations
        with nogil:
            status = cebus_capture_count_on(self.handle, count)
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

    def _print(self):
        """A number that tells programs apart."""
        return f"{cebus_advise_print(cebus_capture_program(self.handle)):016x}"

    def _advise(self, memory, link, seed, generations, seconds, threads, fix_order):
        """A plan for the calls, as numbers."""
        cdef cebus_advise_options options
        cdef cebus_advise_result result
        cdef cebus_advice *plan = NULL
        cdef const cebus_advise_program *program
        cdef cebus_status status
        cdef uint64_t room
        if self.handle == NULL:
            raise CaptureError("advise: nothing was captured yet")
        room = self.where.budget if memory is None else parse_size(memory, self.where.whole())
        search = _Search(seconds)
        program = cebus_capture_program(self.handle)
        memset(&options, 0, sizeof(options))
        memset(&result, 0, sizeof(result))
        options.struct_size, options.memory, options.seed = sizeof(options), room, seed
        options.generations, options.threads = generations, threads
        options.fix_order = fix_order
        options.go_on, options.context = search_goes_on, <void *>search
        link_into(link, &options.link)
        with nogil:
            status = cebus_advise(program, &options, &result, &plan)
        try:
            if search.error is not None:
                raise search.error
            if status == CEBUS_OUT_OF_HOST_MEMORY:
                raise HostMemoryError("advise: the host has no memory left")
            if status or plan == NULL:
                refuse_plan(&result, room)
            return advice_out(plan)
        finally:
            cebus_advice_destroy(plan)

    def _set_plan(self, numbers, link):
        """Launches follow the plan; None: the order of the calls again."""
        cdef cebus_advise_link rates
        cdef cebus_status status
        cdef _Advice plan
        if self.handle == NULL:
            raise CaptureError("set_plan: nothing was captured yet")
        if numbers is None:
            with nogil:
                status = cebus_capture_set_plan(self.handle, NULL, NULL)
        else:
            plan = _Advice(numbers)
            link_into(link, &rates)
            with nogil:
                status = cebus_capture_set_plan(self.handle, &plan.plan, &rates)
        if status:
            fail(status)
