# Functions of the program in the graph: hooks, gradients by any tensor, recorded functions. The
# library calls them without its lock, so they may wait for the GIL and use cebus as they like.

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil

cdef dict callback_errors = {}  # thread -> what Python raised, until the library has returned


cdef cebus_status keep_error(object error):
    callback_errors[_threading.get_ident()] = error
    return CEBUS_AUTOGRAD_ERROR


cdef int finish_backward(cebus_status status) except -1:
    """Raises what a callback raised, or else what the library says."""
    if not status:
        return 0
    error = callback_errors.pop(_threading.get_ident(), None)
    if error is not None:
        raise error
    return fail(status)


cdef void drop_context(void *context) with gil:
    Py_DECREF(<object>context)


cdef void release_context(void *context) nogil:
    """The library needs it no more; once the interpreter has ended nobody does."""
    if Py_IsInitialized() and not forked:
        drop_context(context)


# --- hooks ------------------------------------------------------------------------------------

cdef class HookCell:
    """A function that sees a gradient; None once it was removed."""

    cdef object function
    cdef bint after
    cdef uint64_t id
    cdef object tensor  # weak

    cdef int hang(self, Tensor x) except -1:
        """Hangs it on the tensor."""
        cdef cebus_grad_hook hook
        cdef cebus_status status
        memset(&hook, 0, sizeof(hook))
        hook.struct_size = sizeof(hook)
        hook.call, hook.release, hook.context = call_hook, release_context, <void *>self
        hook.after = self.after
        Py_INCREF(self)
        with nogil:
            status = cebus_tensor_register_hook(x.handle, &hook, &self.id)
        if status:
            Py_DECREF(self)
            fail(status)
        self.tensor = _weakref.ref(x)
        return 0

    cdef int take_off(self) except -1:
        cdef Tensor x = self.tensor()
        self.function = None
        if x is not None and not forked:
            with nogil:
                cebus_tensor_remove_hook(x.handle, self.id)
        return 0


cdef cebus_status call_hook(void *context, cebus_tensor *grad, cebus_tensor **out) with gil:
    cdef object function = (<HookCell>context).function
    try:
        if function is None:
            return CEBUS_OK
        answer = function(wrap(cebus_tensor_retain(grad), cebus_tensor_runtime(grad)))
        if answer is None:
            return CEBUS_OK
        if not isinstance(answer, Tensor):
            raise TypeError(f"expected hook to return a Tensor or None, but got "
                            f"{type(answer).__name__}")
        out[0] = cebus_tensor_retain((<Tensor>answer).handle)
        return CEBUS_OK
    except BaseException as error:
        return keep_error(error)


class RemovableHandle:
    """A hook in place; remove() takes it away, and so does the end of a `with` block."""

    def __init__(self, cell):
        self._cell = cell

    def remove(self):
        """Takes the hook away."""
        cdef HookCell cell = self._cell
        cell.take_off()
        x = cell.tensor()
        if x is not None:
            (<Tensor>x).__dict__.get("_hooks", {}).pop(id(cell), None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


cdef object add_hook(Tensor x, object function, bint after):
    cdef HookCell cell = HookCell()
    if not callable(function):
        raise TypeError(f"a hook is a function of a gradient, not {type(function).__name__}")
    if not cebus_tensor_requires_grad(x.handle):
        raise Error("cannot register a hook on a tensor that doesn't require gradient")
    cell.function, cell.after = function, after
    cell.hang(x)
    if x.is_leaf:  # whoever gives the tensor other bytes hangs them on again
        x.__dict__.setdefault("_hooks", {})[id(cell)] = cell
    return RemovableHandle(cell)


cdef Tensor wrap_grad(Tensor x, cebus_tensor *handle):
    """One object for a gradient as long as the program keeps it."""
    cdef Tensor known = None if x.shown_grad is None else x.shown_grad()
    if known is not None and known.handle == handle:
        cebus_tensor_release(handle)
        return known
    known = wrap(handle, x.rt)
    x.shown_grad = _weakref.ref(known)
    return known


cdef int rehang_hooks(Tensor x) except -1:
    """The tensor has another handle: its hooks move over."""
    for cell in x.__dict__.get("_hooks", {}).values():
        (<HookCell>cell).hang(x)
    return 0


cdef int move_leaf(Tensor x, Tensor fresh) except -1:
    """The tensor names `fresh`, of another device: to the graph it is another one."""
    fresh.requires_grad = cebus_tensor_requires_grad(x.handle)
    adopt(x, fresh)
    rehang_hooks(x)
    return 0


cdef object keeper_of(Tensor x):
    """A hook that keeps the gradient of an inner tensor for the program."""
    owner = _weakref.ref(x)

    def keep(grad):
        kept = owner()
        if kept is None:
            return
        before = kept.__dict__.get("_retained_grad")
        kept.__dict__["_retained_grad"] = grad if before is None else before + grad
    return keep


# --- gradients --------------------------------------------------------------------------------

cdef class MaybeHandles:
    """As Handles; None is NULL."""

    cdef cebus_tensor **items
    cdef list tensors

    def __cinit__(self, tensors):
        self.tensors = list(tensors)
        self.items = <cebus_tensor **>PyMem_Malloc(
            max(len(self.tensors), 1) * sizeof(cebus_tensor *))
        if self.items == NULL:
            raise MemoryError()
        for i, each in enumerate(self.tensors):
            self.items[i] = handle_of(each)

    def __dealloc__(self):
        PyMem_Free(self.items)


def _gradients(roots, seeds, inputs, bint retain_graph, bint answered):
    """One walk from several roots: the gradients of `inputs` (None where there is none), or, not
    `answered`, accumulated into them; `inputs` None: into every leaf."""
    cdef Handles what = Handles(roots)
    cdef MaybeHandles given = MaybeHandles(seeds)
    cdef Handles sought = Handles(() if inputs is None else inputs)
    cdef cebus_gradients request
    cdef cebus_tensor **out = NULL
    cdef cebus_status status
    if forked:
        refuse_fork()
    if len(given.tensors) != <Py_ssize_t>what.n:
        raise ShapeError(f"got {what.n} tensors and {len(given.tensors)} gradients")
    memset(&request, 0, sizeof(request))
    request.struct_size = sizeof(request)
    request.roots, request.seeds, request.n_roots = what.items, given.items, what.n
    if inputs is not None:
        request.inputs, request.n_inputs = sought.items, sought.n
    request.retain_graph = retain_graph
    if answered:
        out = <cebus_tensor **>calloc(max(sought.n, 1), sizeof(cebus_tensor *))
        if out == NULL:
            raise MemoryError()
    try:
        with nogil:
            status = cebus_gradients_compute(what.rt, &request, out)
        finish_backward(status)
        if answered:
            return tuple([None if out[i] == NULL else wrap(out[i], what.rt)
                          for i in range(sought.n)])
    finally:
        free(out)


# --- functions --------------------------------------------------------------------------------

cdef cebus_status call_function(void *context, const cebus_function_step *step) with gil:
    cdef object answer
    cdef Tensor grad
    cdef uint32_t i
    try:
        saved = [wrap(cebus_tensor_retain(step.saved[i]), step.rt) for i in range(step.n_saved)]
        grads = [None if step.grad_out[i] == NULL
                 else wrap(cebus_tensor_retain(step.grad_out[i]), step.rt)
                 for i in range(step.n_out)]
        answer = (<object>context).run_backward(saved, grads)
        for i in range(step.n_in):
            grad = answer[i]
            if grad is not None and (step.needs >> i) & 1:
                step.grad_in[i] = cebus_tensor_retain(grad.handle)
        return CEBUS_OK
    except BaseException as error:
        for i in range(step.n_in):
            cebus_tensor_release(step.grad_in[i])
            step.grad_in[i] = NULL
        return keep_error(error)


def _record_function(str name, inputs, saved, results, context):
    """The results as made from `inputs`, with gradients by context.run_backward(saved, grads)."""
    cdef Handles given = Handles(inputs), kept = Handles(saved), made = Handles(results)
    cdef cebus_function function
    cdef cebus_tensor *out[64]
    cdef bytes text = name.encode()
    cdef cebus_status status
    cdef size_t j
    memset(&function, 0, sizeof(function))
    function.struct_size = sizeof(function)
    function.name = text
    function.inputs, function.n_in = given.items, given.n
    function.saved, function.n_saved = kept.items, kept.n
    function.results, function.n_out = made.items, made.n
    function.gradient, function.release = call_function, release_context
    function.context = <void *>context
    if made.n > 64:
        raise InvalidArgumentError(f"{name}: {made.n} results: at most 64")
    Py_INCREF(context)
    with nogil:
        status = cebus_function_record(made.rt, &function, out)
    if status:
        Py_DECREF(context)
        fail(status)
    answer = []
    for j in range(made.n):
        if out[j] == made.items[j]:
            cebus_tensor_release(out[j])
            answer.append(made.tensors[j])
        else:
            answer.append(wrap(out[j], made.rt))
    return answer


class GradFn:
    """Stands for the part of the graph that made a tensor."""

    def __repr__(self):
        return "<Backward>"


def is_grad_enabled():
    """Whether operations of this thread are recorded for backward."""
    return cebus_grad_is_enabled()


# An interrupt is raised between two steps of Python code. Blocks are entered and left here, in one
# step each: else one that comes on the way in or out would leave recording off for good.

cdef class _GradScope:
    """A block in which recording is on or off."""

    cdef public bint mode
    cdef list before

    def __cinit__(self, *arguments, **keywords):
        self.before = []

    def __enter__(self):
        self.before.append(cebus_grad_enable(self.mode))
        return self

    def __exit__(self, *exception):
        cebus_grad_enable(self.before.pop())


cdef class _GradSwitch:
    """Switches recording at once; at the end of its block it is as it was before."""

    cdef readonly bint mode
    cdef bint before

    def __init__(self, mode):
        self.mode = bool(mode)
        self.before = cebus_grad_enable(self.mode)

    def __enter__(self):
        cebus_grad_enable(self.mode)
        return self

    def __exit__(self, *exception):
        cebus_grad_enable(self.before)
