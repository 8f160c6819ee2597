    # --- gradients ----------------------------------------------------------------------------

    @property
    def requires_grad(self):
        """Whether gradients flow to it: a marked leaf, or computed from one."""
        return cebus_tensor_requires_grad(self.handle)

    @requires_grad.setter
    def requires_grad(self, bint value):
        cdef cebus_status status
        if self.code() > CEBUS_BF16:
            if value:
                raise DtypeError("only Tensors of floating point dtype can require gradients")
            return
        if cebus_tensor_requires_grad(self.handle):
            if value:
                return
            if not self.is_leaf:
                raise Error("you can only change requires_grad flags of leaf variables. If you "
                            "want to use a computed variable in a subgraph that doesn't require "
                            "differentiation use var_no_grad = var.detach().")
        status = cebus_tensor_set_requires_grad(self.handle, value)
        if status:
            fail(status)

    @property
    def _version(self):
        """Counts the writes in place to its storage."""
        return cebus_tensor_version(self.handle)

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
        """The accumulated gradient of a leaf (or of what retain_grad() was called on), or None."""
        cdef cebus_tensor *out = NULL
        cdef cebus_status status = cebus_tensor_grad(self.handle, &out)
        if status:
            fail(status)
        if out == NULL:
            return None if self.__dict__ is None else self.__dict__.get("_retained_grad")
        return wrap_grad(self, out)

    @grad.setter
    def grad(self, value):
        cdef cebus_status status
        if "_retained_grad" in self.__dict__:
            self.__dict__["_retained_grad"] = value
            return
        status = cebus_tensor_set_grad(self.handle, handle_of(value))
        if status:
            fail(status)

    @grad.deleter
    def grad(self):
        self.grad = None

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Accumulates d(self)/d(leaf) into the `grad` of every leaf it was computed from, or of
        the leaves `inputs` alone. `gradient` has the shape of self; a single element needs none.
        """
        cdef cebus_tensor *seed = handle_of(gradient)
        cdef cbool retain = bool(retain_graph)
        cdef cebus_status status
        if create_graph:
            raise UnsupportedError("gradients of gradients (create_graph=True) are not recorded: "
                                   "write the gradient out as a function of tensors, such as "
                                   "2 * x for x ** 2, and call backward on that")
        if forked:
            refuse_fork()
        if inputs is not None:
            inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
            _gradients((self,), (gradient,), inputs, retain, False)
            return
        with nogil:
            status = cebus_backward(self.rt, self.handle, seed, retain)
        finish_backward(status)

    def register_hook(self, hook):
        """Calls hook(grad) in every backward, once the gradient of this tensor is complete; what it
        returns, if anything, is passed on instead. Returns a handle with remove().

        The hook may use cebus. Of a leaf it sees what one backward adds to `grad`. It stays with
        the graph when the tensor is gone; a graph that was walked for good lets its hooks go.
        """
        return add_hook(self, hook, False)

    def register_post_accumulate_grad_hook(self, hook):
        """Calls hook(tensor) after a backward has added to the `grad` of this leaf: an optimizer
        step may then be taken, and the gradient let go."""
        if not self.is_leaf:
            raise Error("post accumulate grad hooks cannot be registered on non-leaf tensors")
        owner = _weakref.ref(self)

        def after(grad):
            leaf = owner()
            if leaf is not None:
                hook(leaf)
        return add_hook(self, after, True)

    def retain_grad(self):
        """Has the gradient of an inner tensor kept in its `grad`, too."""
        if not cebus_tensor_requires_grad(self.handle):
            raise Error("can't retain_grad on Tensor that has requires_grad=False")
        if self.is_leaf or "_retained_grad" in self.__dict__:
            return
        self.__dict__["_retained_grad"] = None
        add_hook(self, keeper_of(self), True)

    @property
    def retains_grad(self):
        """Whether retain_grad() was called on an inner tensor."""
        return "_retained_grad" in self.__dict__

    def detach(self):
        """A view of the same storage outside the graph."""
        return unary(self, cebus_detach)

    def detach_(self):
        """Leaves the graph. A leaf keeps the gradient that it has."""
        if self.is_leaf:
            return self.requires_grad_(False)
        adopt(self, unary(self, cebus_detach))
        return self

    @property
    def data(self):
        """The same as a tensor outside the graph."""
        return unary(self, cebus_detach)

    @data.setter
    def data(self, Tensor value):
        cdef Tensor fresh = unary(value, cebus_detach)
        cdef cebus_status status
        if cebus_tensor_is_persistent(self.handle):
            fresh.persist_()
        if fresh.rt != self.rt:
            move_leaf(self, fresh)
            return
        if self.is_leaf and (fresh.shape != self.shape or fresh.code() != self.code()):
            self.grad = None
        status = cebus_tensor_set_data(self.handle, fresh.handle)
        if status:
            fail(status)
