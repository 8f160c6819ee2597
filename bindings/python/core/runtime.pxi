# Runtimes: one a device, made when it is first used.
import os as _os
import threading as _threading
import weakref as _weakref

cdef dict runtimes = {}         # name -> Runtime
cdef dict runtimes_by_handle = {}
cdef dict pending_options = {}  # name -> keyword arguments of configure(), until it is made
cdef object creation = _threading.RLock()
cdef Runtime default_runtime = None

_os.register_at_fork(after_in_child=_after_fork_in_child)


class device(str):
    """Where tensors live: "cpu", "cuda:0", "sim:a100-80g"."""

    def __new__(cls, kind="cpu", index=None):
        if isinstance(kind, int):
            kind = f"cuda:{kind}"
        name = str(kind)
        if index is not None:
            name = f"{name}:{index}"
        return str.__new__(cls, "cuda:0" if name == "cuda" else "cpu" if name == "cpu:0" else name)

    @property
    def type(self):
        return self.partition(":")[0]

    @property
    def index(self):
        text = self.partition(":")[2]
        return int(text) if text.isdigit() else None

    def __repr__(self):
        if self.index is None:
            return f"device(type='{str(self)}')"
        return f"device(type='{self.type}', index={self.index})"


cdef class Runtime:
    """A device, its memory budget and its books. One a device; see `configure`."""

    cdef cebus_runtime *rt
    cdef readonly object device
    cdef readonly dict options
    cdef object hooks
    cdef object recorder
    cdef object __weakref__

    @property
    def budget(self):
        """Bytes of device memory, at most."""
        return cebus_runtime_budget(self.rt)

    @budget.setter
    def budget(self, size):
        cdef uint64_t n = parse_size(size, self.whole())
        cdef cebus_status status
        with nogil:
            status = cebus_runtime_set_budget(self.rt, n)
        if status:
            fail(status)

    cdef uint64_t whole(self):
        """What percentages are of: the budget of a runtime made with the defaults."""
        return self.options["whole"]

    @property
    def policy(self):
        """How victims are chosen: one of `policies()`."""
        return cebus_runtime_policy(self.rt).decode()

    @policy.setter
    def policy(self, name):
        cdef bytes text = encode_name("policy", name)
        cdef cebus_status status = cebus_runtime_set_policy(self.rt, text)
        if status:
            fail(status)

    @property
    def swaps(self):
        """Whether values may wait off the device, by the policy and the options."""
        return cebus_runtime_swaps(self.rt)

    @property
    def threads(self):
        return cebus_runtime_threads(self.rt)

    def synchronize(self):
        """Waits for everything enqueued."""
        cdef cebus_status status
        with nogil:
            status = cebus_runtime_synchronize(self.rt)
        if status:
            fail(status)

    def trim(self):
        """Gives up all that can be rebuilt, and returns free pages to the system."""
        cdef cebus_status status
        with nogil:
            status = cebus_runtime_trim(self.rt)
        if status:
            fail(status)

    def check(self):
        """Verifies every invariant of the books; raises on the first violation."""
        cdef cebus_status status
        with nogil:
            status = cebus_runtime_check(self.rt)
        if status:
            fail(status)

    def mark(self):
        """Says that an iteration of the program ended."""
        cdef cebus_status status
        with nogil:
            status = cebus_iteration_mark(self.rt)
        if status:
            fail(status)

    def seed(self, uint64_t number):
        cebus_manual_seed(self.rt, number)

    def _repr_html_(self):
        return html(self)

    def __repr__(self):
        return f"<cebus.Runtime {self.device} budget={self.budget} policy={self.policy!r}>"


cdef uint64_t parse_size(object size, uint64_t whole) except? 0:
    """Bytes of "6GiB", "40%" of `whole`, or a number."""
    cdef uint64_t n = 0
    cdef bytes text
    if isinstance(size, float):
        if size != size or size in (float("inf"), float("-inf")) or size < 0:
            raise InvalidArgumentError(f"a size of {size} bytes: it must be a number >= 0")
        size = int(size)
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise TypeError(f"a size is an int or a str as '6GiB' or '40%', not {type(size).__name__}")
    if isinstance(size, int):
        if not 0 <= size < 1 << 62:
            raise InvalidArgumentError(f"a size of {size} bytes: it must be in [0, 2^62)")
        return size
    text = size.encode()
    if whole == 0 and size.rstrip().endswith("%"):
        raise InvalidArgumentError(f"{size!r} of what? Here a size is in bytes, as '6GiB'")
    cdef cebus_status status = cebus_size_parse(text, whole, &n)
    if status:
        fail(status)
    return n


cdef bytes encode_name(str what, object name):
    """As C takes it, which would end it at a null character."""
    if not isinstance(name, str):
        raise TypeError(f"{what} is a str, not {type(name).__name__}")
    if "\0" in name:
        raise InvalidArgumentError(f"{what} {name!r} has a null character")
    return name.encode()


cdef cebus_swap swap_of(object value) except *:
    if not (value is None or isinstance(value, bool)):
        raise InvalidArgumentError(f"swap is {value!r}: it is True, False, or None for the "
                                   "policy's own way")
    return <cebus_swap><int>(0 if value is None else 1 + value)


cdef Runtime create_runtime(str name):
    cdef Runtime self = Runtime.__new__(Runtime)
    cdef dict given = pending_options.get(name, {})
    cdef cebus_runtime_options options
    cdef bytes device_name = encode_name("device", name), policy, layout, profile, directory
    memset(&options, 0, sizeof(options))
    options.struct_size = sizeof(options)
    options.device = device_name
    if given.get("policy"):
        policy = encode_name("policy", given["policy"])
        options.policy = policy
    if given.get("layout"):
        layout = encode_name("layout", given["layout"])
        options.layout = layout
    if given.get("profile"):
        profile = _os.fsencode(given["profile"])
        options.profile = profile
    options.threads = given.get("threads") or 0
    options.seed = given.get("seed") or 0
    options.debug = given.get("debug") or 0
    options.cost_model = <cebus_cost_model><int>(given.get("cost_model") or 0)
    options.swap = swap_of(given.get("swap"))
    if given.get("spill_directory"):
        directory = _os.fsencode(given["spill_directory"])
        options.spill_directory = directory
    options.host_budget = parse_size(given.get("host_budget") or 0, 0)
    options.spill_budget = parse_size(given.get("spill_budget") or 0, 0)
    options.pinned_budget = parse_size(given.get("pinned_budget") or 0, 0)
    cdef cebus_status status
    with nogil:
        status = cebus_runtime_create(&options, &self.rt)
    if status:
        fail(status)
    self.device = device(name)
    self.options = dict(given, whole=cebus_runtime_budget(self.rt))
    if given.get("budget") is not None:
        self.budget = given["budget"]
    return self


cdef Runtime runtime_of(object where):
    """The runtime of a device, made when it is first asked for; None is the default's."""
    global default_runtime
    if where is None:
        if default_runtime is None:
            default_runtime = runtime_of("cpu")
        return default_runtime
    if isinstance(where, Runtime):
        return where
    name = str.__str__(device(where))
    cdef Runtime found = runtimes.get(name)
    if found is not None:
        return found
    if forked:
        refuse_fork()
    with creation:
        if name not in runtimes:
            found = create_runtime(name)
            runtimes_by_handle[<size_t>found.rt] = found
            runtimes[name] = found
    return runtimes[name]


def runtime(device=None):
    """The runtime of `device` (default: the default device)."""
    return runtime_of(device)


def set_default_device(device):
    """Sets where tensors are made that are made without a device."""
    global default_runtime
    default_runtime = runtime_of(device)


cdef object check_option(str key, object value):
    """Says which option makes no sense before a runtime is made with it, somewhere else."""
    cdef uint64_t number
    cdef uint32_t flags
    cdef int count
    try:
        if value is None:
            return
        elif key == "swap":
            swap_of(value)
        elif key.endswith("budget"):
            parse_size(value, key == "budget")
        elif key in ("policy", "layout"):
            encode_name(key, value)
        elif key in ("profile", "spill_directory"):
            _os.fsencode(value)
        elif key == "seed":
            number = value
        elif key == "debug":
            flags = value
        else:
            count = value
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(f"configure: {key}: {error}") from None


def configure(device="cpu", **options):
    """Sets how the runtime of `device` will be made; before its first use.

    budget, host_budget: sizes as "6GiB"; policy: of `policies()`; layout: of `layouts()`; threads,
    seed: numbers; swap: True, False or None (the policy's own way); profile: a file of measured
    costs for sim:* devices; cost_model: 1 for estimated costs; debug: bits of CEBUS_DEBUG_*.
    spill_budget: a size, of the file that values go to when host memory is full, too;
    spill_directory: where it lies; pinned_budget: how much of host_budget is page-locked.
    """
    known = ("budget", "policy", "threads", "seed", "layout", "swap", "host_budget", "profile",
             "cost_model", "debug", "spill_budget", "spill_directory", "pinned_budget")
    name = str.__str__(globals()["device"](device))
    for key in options:
        if key not in known:
            raise TypeError(f"configure() has no option {key!r}: there are " + ", ".join(known))
        check_option(key, options[key])
    live = runtimes.get(name)
    if live is None:
        pending_options.setdefault(name, {}).update(options)
        return
    for key in options:
        if key not in ("budget", "policy", "seed"):
            raise Error(f"{name} is in use: {key!r} must be set before its first tensor")
    for key, value in options.items():
        live.seed(value) if key == "seed" else setattr(live, key, value)


def manual_seed(uint64_t seed):
    """Restarts the random numbers of every device."""
    pending_options.setdefault("cpu", {})["seed"] = seed
    runtime_of(None)
    for each in list(runtimes.values()):
        each.seed(seed)


cdef list names_of(const char *(*name)(size_t)):
    found = []
    while name(len(found)) != NULL:
        found.append(name(len(found)).decode())
    return found


def policies():
    """Names of the eviction policies."""
    return names_of(cebus_policy_name)


def layouts():
    """Names of the layouts."""
    return names_of(cebus_layout_name)


def machines():
    """Simulated machines: device "sim:NAME"."""
    return names_of(cebus_machine_name)


def devices():
    """Kinds of devices of this build."""
    return names_of(cebus_device_name)


def features():
    """What this build is made of: {name: (present, version, what)}."""
    cdef cebus_feature feature
    found = {}
    while cebus_feature_at(len(found), &feature):
        found[feature.name.decode()] = (feature.present, feature.version.decode(),
                                        feature.what.decode())
    return found


def version():
    return cebus_version().decode()
