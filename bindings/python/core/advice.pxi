# Plans for captured iterations (<cebus/advise.h>) as Python's numbers and back, and the plans of
# policies as files (<cebus/plan.h>). cebus/planning.py says what they are for.
from time import monotonic as _monotonic

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1


class _Search:
    """Until when a plan is searched, and what Python raised meanwhile."""

    def __init__(self, seconds):
        self.end = None if seconds is None else _monotonic() + seconds
        self.error = None


cdef cbool search_goes_on(void *context, uint64_t generation, uint64_t best_ns) with gil:
    search = <object>context
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        search.error = error
        return False
    return search.end is None or _monotonic() < search.end


cdef int link_into(object rates, cebus_advise_link *link) except -1:
    """(bytes/s out, in, both, latency in ns)"""
    link.out, link.into, link.both, link.latency_ns = rates
    return 0


def _machine_link(device):
    """The link of a simulated machine, (out, in, both, latency in ns), or None."""
    cdef uint64_t out = 0, into = 0, both = 0, latency = 0
    cdef bytes name = str(device).encode()
    if not str(device).startswith("sim:"):
        return None
    if cebus_machine_link(name, &out, &into, &both, &latency):
        return None
    return out, into, both, latency


cdef int refuse_plan(cebus_advise_result *result, uint64_t memory) except -1:
    if result.verdict == CEBUS_ADVISE_NO_ROOM:
        raise OutOfMemoryError(f"advise: call {result.call} alone needs {result.need} bytes, of "
                               f"{memory}")
    if result.verdict == CEBUS_ADVISE_NO_PLAN:
        raise OutOfMemoryError(f"advise: no plan that was tried fits {memory} bytes: search longer "
                               "or give more memory")
    if result.verdict == CEBUS_ADVISE_NO_LINK:
        raise InvalidArgumentError("advise: a rate of the link is 0")
    why = (<bytes>result.why).decode() if result.why != NULL else "it makes no sense"
    raise InvalidArgumentError(f"advise: call {result.call}: {why}")


cdef dict advice_out(cebus_advice *plan):
    """A plan as numbers, under the names of its file."""
    cdef cebus_advice_copy *copy
    cdef cebus_advice_block *block
    cdef size_t i
    copies, blocks = [], []
    for i in range(plan.n_copies):
        copy = &plan.copies[i]
        copies.append([copy.value, int(copy.into), copy.after, copy.before])
    for i in range(plan.n_blocks):
        block = &plan.blocks[i]
        blocks.append([-1 if block.value == 0xffffffff else <int64_t>block.value, block.offset,
                       block.bytes, block.born, block.born_at, block.dies, block.dies_at])
    return {"program": f"{plan.prints:016x}", "memory": plan.memory, "time_ns": plan.time_ns,
            "ideal_ns": plan.ideal_ns, "height": plan.height,
            "steps": [[plan.steps[i].call, int(plan.steps[i].again)]
                      for i in range(plan.n_steps)],
            "copies": copies, "blocks": blocks}


cdef class _Advice:
    """A plan out of numbers; frees its arrays."""

    cdef cebus_advice plan

    def __cinit__(self, numbers):
        cdef cebus_advice_copy *copy
        cdef cebus_advice_block *block
        cdef size_t i
        memset(&self.plan, 0, sizeof(self.plan))
        steps, copies, blocks = numbers["steps"], numbers["copies"], numbers["blocks"]
        self.plan.steps = <cebus_advice_step *>calloc(len(steps) + 1, sizeof(cebus_advice_step))
        self.plan.copies = <cebus_advice_copy *>calloc(len(copies) + 1, sizeof(cebus_advice_copy))
        self.plan.blocks = <cebus_advice_block *>calloc(len(blocks) + 1,
                                                        sizeof(cebus_advice_block))
        if self.plan.steps == NULL or self.plan.copies == NULL or self.plan.blocks == NULL:
            raise MemoryError()
        self.plan.n_steps, self.plan.n_copies = len(steps), len(copies)
        self.plan.n_blocks = len(blocks)
        self.plan.time_ns, self.plan.ideal_ns = numbers["time_ns"], numbers["ideal_ns"]
        self.plan.memory, self.plan.height = numbers["memory"], numbers["height"]
        self.plan.prints = int(numbers["program"], 16)
        for i, (call, again) in enumerate(steps):
            self.plan.steps[i].call, self.plan.steps[i].again = call, bool(again)
        for i, (value, into, after, before) in enumerate(copies):
            copy = &self.plan.copies[i]
            copy.value, copy.into, copy.after, copy.before = value, bool(into), after, before
        for i, (value, offset, size, born, born_at, dies, dies_at) in enumerate(blocks):
            block = &self.plan.blocks[i]
            block.value = 0xffffffff if value == -1 else value
            block.offset, block.bytes = offset, size
            block.born, block.born_at, block.dies, block.dies_at = born, born_at, dies, dies_at

    def __dealloc__(self):
        free(self.plan.steps)
        free(self.plan.copies)
        free(self.plan.blocks)


def _plans_save(path, device=None):
    cdef Runtime where = runtime_of(device)
    cdef bytes name = _os.fsencode(path)
    cdef const char *text = name
    cdef cebus_status status
    with nogil:
        status = cebus_plan_save(where.rt, text)
    if status:
        fail(status)


def _plans_load(path, device=None):
    cdef Runtime where = runtime_of(device)
    cdef bytes name = _os.fsencode(path)
    cdef const char *text = name
    cdef cebus_status status
    with nogil:
        status = cebus_plan_load(where.rt, text)
    if status:
        fail(status)


def _plan_summary(device=None):
    cdef char text[2048]
    cebus_plan_summary(runtime_of(device).rt, text, sizeof(text))
    return (<bytes>text).decode(errors="replace")
