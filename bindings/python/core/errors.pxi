# Statuses become exceptions of the class that a PyTorch user expects, with the C message.


class Error(RuntimeError):
    """Whatever cebus refuses. `status` is the name of the C code."""

    status = "CEBUS_INTERNAL"


class OutOfMemoryError(Error):
    """The device budget is too small, whatever is given up. Nothing has changed by the call.

    `bytes_wanted` is what was asked for; `report` says what could not go, and why.
    """

    bytes_wanted = 0
    report = ""


class InvalidArgumentError(Error, ValueError):
    """An argument out of its range."""


class OutOfRangeError(Error, IndexError):
    """A dimension or an index that is not there."""


class ShapeError(Error, ValueError):
    """Shapes that do not go together."""


class DtypeError(Error, TypeError):
    """An element type that is not taken here."""


class HostMemoryError(Error, MemoryError):
    """The process has no memory left for cebus's books."""


class SpillError(Error, OSError):
    """The spill file failed. Nothing is lost: try again, or see to the disk."""


class CaptureError(Error):
    """What a capture cannot repeat."""


class UnsupportedError(Error, NotImplementedError):
    """This build or device lacks it."""


cdef dict error_classes = {
    CEBUS_INVALID_ARGUMENT: InvalidArgumentError,
    CEBUS_SHAPE_MISMATCH: ShapeError,
    CEBUS_DTYPE_MISMATCH: DtypeError,
    CEBUS_OUT_OF_MEMORY: OutOfMemoryError,
    CEBUS_OUT_OF_HOST_MEMORY: HostMemoryError,
    CEBUS_UNSUPPORTED: UnsupportedError,
    CEBUS_IO_ERROR: SpillError,
    CEBUS_CAPTURE_ERROR: CaptureError,
}


cdef bint speaks_of_range(str message):
    # Index errors share a code with other bad arguments; only their texts tell.
    return message.startswith("no dimension ") or "no element to choose" in message or (
        "out of range" in message
        and ("dimension" in message or "index" in message or "classes lie in" in message))


# What the library advises is said in C; programs here call it otherwise.
cdef dict spoken = {
    "cebus_cast()": ".to()", "cebus_grad_enable(false)": "with cebus.no_grad():",
    "cebus_runtime_oom_report()": "cebus.oom_report()", "cebus_manual_seed()": "manual_seed()",
    "cebus_tensor_set_requires_grad()": ".requires_grad_()",
    "cebus_tensor_set_persistent()": ".persist_()", "cebus_iteration_mark()": "cebus.mark()",
    "cebus_tensor_set_grad": "optimizer.zero_grad()", "cebus_tensor_unmap() it": "let that go",
    "cebus_tensor_to_host and cebus_tensor_from_host": ".to()",
    "cebus_capture_begin() first": "begin with its block", "cebus_capture_program() of": ".advise() of",
    "cebus_capture_end() that first": "leave that block first",
}
for _name in ("clone", "detach", "reshape", "expand", "contiguous", "mul"):
    spoken[f"cebus_{_name}()"] = f".{_name}()"
for _name in ("watch", "launch"):
    spoken[f"cebus_capture_{_name}()"] = f".{_name}()"
for _name in ("trace_start()", "trace_stop()"):
    spoken[f"cebus_{_name}"] = f"cebus.{_name}"
del _name


cdef str in_python(str message):
    if "cebus_" in message:
        for call, name in spoken.items():
            message = message.replace(call, name)
    return message


cdef int fail(cebus_status status) except -1:
    """Raises the calling thread's last error."""
    cdef const cebus_error *error = cebus_last_error()
    cdef str message = in_python(error.message.decode("utf-8", "replace"))
    cdef str op = error.op.decode("utf-8", "replace")
    cls = error_classes.get(status, Error)
    if cls is InvalidArgumentError and speaks_of_range(message):
        cls = OutOfRangeError
    exception = cls(f"{op}: {message}" if op else message)
    exception.status = cebus_status_name(status).decode()
    if cls is OutOfMemoryError:
        exception.bytes_wanted = error.bytes_wanted
    raise exception


# A child of fork() has the parent's tensors but none of its threads.
cdef bint forked = False


def _after_fork_in_child():
    global forked
    forked = len(runtimes) > 0 or forked


cdef int refuse_fork() except -1:
    raise Error("cebus was used before this process was forked, and its threads stayed behind: "
                "start processes with multiprocessing's 'spawn' or 'forkserver'")
