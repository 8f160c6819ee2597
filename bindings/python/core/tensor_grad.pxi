    # --- gradients ----------------------------------------------------------------------------

    @property
    def requires_grad(self):
        """Whether gradients flow to it: a marked leaf, or computed from one."""
        return cebus_tensor_requires_grad(self.handle)

    @requires_grad.setter
    def requires_grad(self, bint value):
        cdef cebus_status status
        if not value and self.code() > CEBUS_BF16:
            return
        status = cebus_tensor_set_requires_grad(self.handle, value)
        if status:
            fail(status)

    @property
    def is_leaf(self):
        """Whether no recorded operation made it."""
        if not cebus_tensor_requires_grad(self.handle):
            return True
        return cebus_tensor_set_requires_grad(self.handle, True) == CEBUS_OK

    @property
    def grad_fn(self):
        """None of a leaf; else something that says there is a graph."""
        return None if self.is_leaf else GradFn()

    def requires_grad_(self, requires_grad=True):
        """Marks a leaf to collect a gradient."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self):
        """The accumulated gradient of a leaf, or None."""
        cdef cebus_tensor *out = NULL
        cdef cebus_status status = cebus_tensor_grad(self.handle, &out)
        if status:
            fail(status)
        if out == NULL:
            return None if self.__dict__ is None else self.__dict__.get("_retained_grad")
        return wrap(out, self.rt)

    @grad.setter
    def grad(self, value):
        cdef cebus_status status = cebus_tensor_set_grad(self.handle, handle_of(value))
        if status:
            fail(status)

    @grad.deleter
    def grad(self):
        self.grad = None

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Accumulates d(self)/d(leaf) into the `grad` of every leaf it was computed from."""
        cdef cebus_tensor *seed = handle_of(gradient)
        cdef cbool retain = bool(retain_graph)
        cdef cebus_status status
        if create_graph:
            raise UnsupportedError("gradients of gradients (create_graph) are not recorded")
        if forked:
            refuse_fork()
        with nogil:
            status = cebus_backward(self.rt, self.handle, seed, retain)
        finish_backward(status)

    def detach(self):
        """A view of the same storage outside the graph."""
        return unary(self, cebus_detach)

    def detach_(self):
        """Leaves the graph."""
        adopt(self, unary(self, cebus_detach))
        return self

    @property
    def data(self):
        """The same as a tensor outside the graph."""
        return unary(self, cebus_detach)

    @data.setter
    def data(self, Tensor value):
        cdef cbool wanted = cebus_tensor_requires_grad(self.handle)
        cdef Tensor fresh = unary(value, cebus_detach)
        if cebus_tensor_is_persistent(self.handle):
            fresh.persist_()
        if wanted:
            fresh.requires_grad = True
        adopt(self, fresh)
