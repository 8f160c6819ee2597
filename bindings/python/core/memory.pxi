# Where the memory went: statistics, reports, events, traces.

import atexit as _atexit

cdef tuple stat_names = (
    "allocated_bytes_current", "allocated_bytes_peak", "allocated_bytes_allocated",
    "reserved_bytes_current", "active_bytes_persistent", "inactive_split_bytes", "largest_hole",
    "num_alloc_retries", "num_ooms", "calls", "evictions", "dropped_bytes", "eager_drops",
    "recomputes", "recompute_ns", "compute_ns", "searches", "search_ns", "compactions",
    "moved_bytes", "lineage_cuts", "fragmentation_ppm_sum", "fragmentation_ppm_max",
    "live_records", "host_bytes", "iterations", "stranded_bytes_max", "swap_outs", "swap_ins",
    "swapped_out_bytes", "swapped_in_bytes", "swapped_bytes_current", "prefetches", "device_ns",
    "stall_ns", "outside_bytes", "forced_evictions", "forced_free_ppm_sum", "forced_free_ppm_max",
    "unused_ppm_sum", "unused_ppm_max", "unused_with_request_ppm_sum", "planned_replays",
    "planned_placements", "missed_placements", "iterations_found", "iterations_repeated",
    "iterations_known", "iteration_signature", "spilled_bytes", "unspilled_bytes",
    "spill_bytes_current", "spill_failures", "pageable_bytes_current", "guided_iterations",
    "guided_peak_bytes", "guided_predicted_ns", "guided_measured_ns", "guided_lost_ns",
    "guided_swap_outs", "guided_swapped_bytes", "guided_recomputes", "guided_actions",
    "guided_missed", "guided_unforeseen", "moved_triggers", "replans", "plans_loaded",
    "plans_used", "plans_refused", "copies_ahead", "copied_ahead_bytes", "clean_evictions",
    "demotions", "demoted_bytes")


def counters(device=None):
    """Every counter of <cebus/memory.h>, by its C name."""
    cdef Runtime where = runtime_of(device)
    cdef cebus_memory_stats stats
    cdef cebus_status status
    memset(&stats, 0, sizeof(stats))
    stats.struct_size = sizeof(stats)
    with nogil:
        status = cebus_runtime_memory_stats(where.rt, &stats)
    if status:
        fail(status)
    cdef const uint64_t *values = &stats.allocated_bytes_current
    return {name: values[i] for i, name in enumerate(stat_names)}


def memory_allocated(device=None):
    """Bytes used on the device now."""
    return cebus_memory_allocated(runtime_of(device).rt)


def max_memory_allocated(device=None):
    """The most since the start or the last reset."""
    return cebus_max_memory_allocated(runtime_of(device).rt)


def memory_reserved(device=None):
    """Bytes of the arena: the budget."""
    return cebus_memory_reserved(runtime_of(device).rt)


def reset_peak_memory_stats(device=None):
    """Peaks start again from what is used now."""
    cebus_reset_peak_memory_stats(runtime_of(device).rt)


ctypedef size_t (*text_fn)(cebus_runtime *, char *, size_t) nogil


cdef str text_of(cebus_runtime *rt, text_fn function):
    """What an snprintf-like function has to say."""
    cdef size_t length, room = 4096
    cdef bytes text
    while True:
        text = PyBytes_FromStringAndSize(NULL, room)
        length = function(rt, PyBytes_AS_STRING(text), room)
        if length < room:
            return text[:length].decode("utf-8", "replace")
        room = length + 1


def oom_report(device=None):
    """The report of the last out-of-memory error; "" when there was none."""
    return text_of(runtime_of(device).rt, cebus_runtime_oom_report)


def memory_tiers(device=None):
    """A line on where values wait off the device: host memory, the spill file, what they hold."""
    return text_of(runtime_of(device).rt, cebus_runtime_tiers)


def memory_dump(device=None):
    """The arena as text, a line a block."""
    return text_of(runtime_of(device).rt, cebus_runtime_dump)


# --- events -----------------------------------------------------------------------------------

event_kinds = ("placed", "freed", "moved", "evicted", "returned", "called", "replayed",
               "swapped_out", "swapped_in", "compacted", "cut", "out_of_memory", "budget", "mark",
               "guided", "plan_refused")
rungs = ("free", "evict", "cut", "compact", "last_resort", "failed")
methods = ("recompute", "swap")
memory_classes = ("activation", "persistent", "gradient", "leaf", "workspace")


class Event:
    """What the runtime did: `kind`, and what belongs to it (see <cebus/log.h>)."""

    __slots__ = ("kind", "rung", "method", "memory_class", "op", "value", "bytes", "offset",
                 "moved_from", "ns", "age_ns", "price", "next_price", "call", "time_ns",
                 "device_ns")

    def __repr__(self):
        return f"<cebus.Event {self.kind} {self.op} {self.bytes} bytes>"


cdef object event_of(const cebus_event *e):
    event = Event()
    event.kind, event.rung = event_kinds[e.kind], rungs[e.rung]
    event.method, event.memory_class = methods[e.method], memory_classes[e.memory_class]
    event.op = e.op.decode() if e.op != NULL else ""
    event.value, event.bytes, event.offset, event.moved_from = e.value, e.bytes, e.offset, \
        e.moved_from
    event.ns, event.age_ns, event.price, event.next_price = e.ns, e.age_ns, e.price, e.next_price
    event.call, event.time_ns, event.device_ns = e.call, e.time_ns, e.device_ns
    return event


cdef set running_hooks = set()  # (thread, id) of the hooks that are being called


cdef int tell(object hook, const cebus_event *event) except -1:
    """What a hook does has events, too: they go to the others, not to itself, without end."""
    running = (_threading.get_ident(), id(hook))
    if running in running_hooks:
        return 0
    running_hooks.add(running)
    try:
        hook(event_of(event))
    except BaseException as error:
        # It cannot pass through the library. Cython would print it twice.
        PyErr_SetObject(type(error), error)
        PyErr_WriteUnraisable(hook)
    finally:
        running_hooks.discard(running)
    return 0


cdef void deliver(void *context, const cebus_event *event) with gil:
    cdef Runtime where = <Runtime>context
    if where.recorder is not None:
        (<Recorder>where.recorder).append(event)
    for hook in list(where.hooks or ()):
        tell(hook, event)


cdef int listen(Runtime where) except -1:
    """The library calls us only while somebody wants to know."""
    if where.hooks or where.recorder is not None:
        cebus_runtime_set_event_hook(where.rt, <cebus_event_hook>deliver, <void *>where)
    else:
        cebus_runtime_set_event_hook(where.rt, NULL, NULL)
    return 0


cdef class Recorder:
    """Keeps events as they come, `limit` of them at most."""

    cdef cebus_event *events
    cdef readonly size_t count, limit, lost
    cdef size_t room
    cdef Runtime where
    cdef readonly str before  # the arena when it began

    def __cinit__(self, device, size_t limit):
        self.where, self.limit = runtime_of(device), limit

    def __dealloc__(self):
        free(self.events)

    cdef void append(self, const cebus_event *event):
        cdef cebus_event *grown
        cdef size_t room
        if self.count == self.room:
            room = min(max(2 * self.room, 1024), self.limit)
            grown = <cebus_event *>realloc(self.events, room * sizeof(cebus_event)) \
                if room > self.room else NULL
            if grown == NULL:
                self.lost += 1
                return
            self.events, self.room = grown, room
        self.events[self.count] = event[0]
        self.count += 1

    def start(self):
        """From now on."""
        if self.where.recorder is not None:
            raise Error(f"{self.where.device} is being recorded already")
        self.before = text_of(self.where.rt, cebus_runtime_dump)
        self.where.recorder = self
        listen(self.where)

    def stop(self):
        """No longer."""
        if self.where.recorder is self:
            self.where.recorder = None
            listen(self.where)

    @property
    def running(self):
        return self.where.recorder is self

    @property
    def runtime(self):
        return self.where

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t i):
        if not 0 <= i < <Py_ssize_t>self.count:
            raise IndexError(i)
        return event_of(&self.events[i])


def add_event_hook(hook, device=None):
    """Calls hook(event) for whatever the runtime does, on the thread that caused it. The hook may
    use cebus; it is not called for what that causes. What it raises is printed and goes no
    further. Returns a handle with remove()."""
    cdef Runtime where = runtime_of(device)
    if not callable(hook):
        raise TypeError(f"an event hook is a function of an event, not {type(hook).__name__}")
    where.hooks = (where.hooks or []) + [hook]
    listen(where)
    return EventHook(where, hook)


class EventHook:
    """A hook in place."""

    def __init__(self, runtime, hook):
        self._runtime, self._hook = runtime, hook

    def remove(self):
        """Takes the hook away."""
        cdef Runtime where = self._runtime
        where.hooks = [hook for hook in where.hooks or () if hook is not self._hook]
        listen(where)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.remove()


cdef set recording = set()  # runtimes


def trace_start(path, device=None):
    """Writes every call to a trace file from now on, for the program `cebus`, until trace_stop() or
    the end of the program, by an exception, too."""
    cdef Runtime where = runtime_of(device)
    cdef bytes name = _os.fsencode(path)
    cdef cebus_status status = cebus_trace_start(where.rt, name)
    if status:
        fail(status)
    recording.add(where)


def trace_stop(device=None):
    """Completes the trace file."""
    cdef Runtime where = runtime_of(device)
    cdef cebus_status status = cebus_trace_stop(where.rt)
    recording.discard(where)
    if status:
        fail(status)


@_atexit.register
def _complete_traces():
    while recording:
        if cebus_trace_stop((<Runtime>recording.pop()).rt):
            fail(cebus_last_error().status)


# A child has no part in what its parent records.
_os.register_at_fork(after_in_child=recording.clear)


# --- hints ------------------------------------------------------------------------------------

hints = (None, "must_save", "prefer_save", "must_recompute", "prefer_recompute",
         "must_cpu_offload", "prefer_cpu_offload")


cdef int hint_code(object wish) except -1:
    """Of a name, of PyTorch's CheckpointPolicy or one like it, or of None."""
    name = getattr(wish, "name", wish)
    name = name.lower() if isinstance(name, str) else name
    if name not in hints:
        raise InvalidArgumentError(f"{wish!r} is no hint: there are "
                                   + ", ".join([repr(each) for each in hints]))
    return hints.index(name)


cdef class _HintScope:
    """A block with a hint, entered and left in one step each, as _GradScope."""

    cdef readonly object wish
    cdef int code

    def __init__(self, wish):
        self.code = hint_code(wish)
        self.wish = wish

    def __enter__(self):
        cdef cebus_status status = cebus_hint_push(<cebus_hint>self.code)
        if status:
            fail(status)
        return self

    def __exit__(self, *exception):
        cebus_hint_pop()


def _hint_of(Tensor x):
    return hints[<int>cebus_tensor_hint(x.handle)]


def _set_hint(Tensor x, wish):
    cdef cebus_status status = cebus_tensor_set_hint(x.handle, <cebus_hint>hint_code(wish))
    if status:
        fail(status)
