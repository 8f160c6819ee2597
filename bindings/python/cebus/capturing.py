"""Iterations that are recorded once and launched again, without Python in between."""
from . import _core
from ._core import CaptureError, Tensor
from .optim import Adam
from .optim.optimizer import Optimizer
from .planning import Plan, link_of

__all__ = ["capture", "CaptureError"]

UPDATES = {kind + suffix for kind in ("sgd", "sgd_momentum", "adam")
           for suffix in ("_step", "_scaled_step")}


def options_of(optimizer):
    """The numbers that steps were recorded with."""
    return [{name: value for name, value in group.items() if name != "params"}
            for group in optimizer.param_groups]


def steps_of(optimizer):
    """Its counts of steps, by parameter."""
    return {id(p): state["step"] for p, state in optimizer.state.items() if "step" in state}


class capture:
    """An iteration, captured in a `with` block, or as a function that is called again and again.

        graph = cebus.capture(optimizers=[optimizer])
        with graph:                        # runs as ever, and is recorded
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
        x.copy_(next_x)                    # tensors from before are what comes in
        graph.launch()                     # loss has a new value, the model has moved

        step = cebus.capture(train, optimizers=[optimizer])
        for x, y in batches:
            loss = step(x, y)              # runs twice by itself (`warmup`), then is captured

    Or as the last one that the runtime found, of a loop that knows nothing of captures:

        graph = cebus.capture(optimizers=[optimizer])
        graph.watch()
        for x, y in first_batches:
            train(x, y)
        graph.last()                       # the iteration that has just ended
        graph.inputs[0].copy_(next_x)      # what it read that none of its calls made
        graph.launch()

    A launch leaves the bits that running the block again would. The block must be the same every
    time: nothing in it may read values (`item`, `print`) or make tensors from Python's data, which
    raises CaptureError; numbers are as they were, but for random ones. What is made on first use,
    such as an optimizer's state, is to be there before: run the iteration once. `optimizers` are
    those whose steps lie in the block: their counts go on with launches, and a launch is refused
    when their options, such as the learning rate, are no longer those that were recorded. Steps
    that depend on their number are refused, but for those of SGD, Adam and AdamW. Between launches
    the program may run the block itself, on a smaller batch say.

    A function's tensors are copied into those of the call that was captured; all else must be
    equal. It answers that call's result, whose tensors have new values. A call that failed for want
    of memory stands where it stood: the same call again goes on from there, as launch() does.
    """

    def __init__(self, function=None, *, device=None, optimizers=(), warmup=2):
        if warmup < 0:
            raise ValueError(f"warmup is {warmup}, which is less than 0")
        self.function, self.warmup = function, warmup
        self.optimizers = list(optimizers)
        self._capture, self._device = None, device
        self._inputs = self._result = self._watching = None
        self._fed = None  # arguments of a call that has not come to its end
        self._stepped = {}  # options at the last step that was watched, by optimizer

    def watch(self, on=True):
        """From the next iteration on each one is recorded, while the program goes on as ever, until
        the one after it begins; False ends that. Iterations end at cebus.mark(), or where the
        runtime finds that they do."""
        if self._capture is not None:
            raise CaptureError("watch: it was used before; make another")
        if self._watching is None:
            self._watching = _core.Capture(self._device)
        self._watching.watch(on)
        self._numbered = Optimizer.numbered
        for optimizer in self.optimizers:
            optimizer.stepped = self._note_step if on else None

    def last(self):
        """This is the iteration that has just ended, from now on; the watch ends. Refused, and
        nothing has changed, where none has been seen from its beginning to its end, or something in
        it could not come again: the message names the call. Gives the capture itself."""
        if self._watching is None:
            raise CaptureError("last: nobody watches; watch() first")
        if Optimizer.numbered != self._numbered:
            raise CaptureError("last: an optimizer stepped whose steps depend on their number; "
                               "SGD, Adam (without amsgrad) and AdamW count on")
        self._watching.last()
        self._count_steps(self._watching.names())
        self.watch(False)
        self._capture, self._watching = self._watching, None
        return self

    def _note_step(self, optimizer):
        self._stepped[id(optimizer)] = options_of(optimizer)

    def _count_steps(self, names):
        """Steps in the iteration: as many for each parameter."""
        steps = [steps_of(optimizer) for optimizer in self.optimizers]
        updates = sum(name in UPDATES for name in names)
        known = sum(len(counts) for counts in steps)
        if known and (updates == 0 or updates % known != 0):
            raise CaptureError(f"last: {updates} parameters were updated, but the optimizers given "
                               f"have {known}; give those whose steps lie in the iteration")
        self._counts = [dict.fromkeys(counts, updates // max(known, 1)) for counts in steps]
        self._reached = steps
        self._options = [self._stepped.get(id(optimizer), options_of(optimizer))
                         for optimizer in self.optimizers]

    @property
    def inputs(self):
        """The tensors that a launch reads anew: those that were there before or came from Python's
        data, parameters and the like left out, in the order in which they were first read."""
        return self._capture.inputs() if self._capture is not None else []

    def __enter__(self):
        if self._capture is not None:
            raise CaptureError("capture: it was used before; make another")
        self._before = [steps_of(optimizer) for optimizer in self.optimizers]
        self._options = [options_of(optimizer) for optimizer in self.optimizers]
        running = _core.Capture(self._device)
        running.begin()
        Optimizer.recording += 1
        self._capture = running
        return self

    def __exit__(self, kind, error, trace):
        running, self._capture = self._capture, None
        Optimizer.recording -= 1
        if kind is not None:
            running.abandon()
            return
        if [options_of(optimizer) for optimizer in self.optimizers] != self._options:
            running.abandon()
            raise CaptureError("capture: an optimizer's options changed in the block, and a launch "
                               "would have them as they were: step schedules between launches, and "
                               "capture again")
        running.end()
        self._capture = running
        self._reached = [steps_of(optimizer) for optimizer in self.optimizers]
        self._counts = [
            {name: count - before.get(name, 0) for name, count in steps_of(optimizer).items()}
            for optimizer, before in zip(self.optimizers, self._before)]

    def _count_on(self):
        """Steps that the program took itself since the last launch: those of Adam count on by as
        many iterations; of others no number matters."""
        iterations = set()
        for optimizer, counts, reached in zip(self.optimizers, self._counts, self._reached):
            if isinstance(optimizer, Adam):
                now = steps_of(optimizer)
                iterations |= {divmod(int(now.get(name, 0)) - int(reached[name]), count)
                               for name, count in counts.items() if count > 0}
        if not iterations:
            return
        (passed, rest), *others = iterations
        if others or rest or passed < 0:
            raise CaptureError("launch: the optimizers' counts of steps are not those that a "
                               "number of these iterations leaves; capture again")
        if passed > 0:
            self._capture.count_on(passed)
            self._reached = [steps_of(optimizer) for optimizer in self.optimizers]

    def __len__(self):
        return len(self.names)

    @property
    def names(self):
        """The ops of the calls, in the order in which they were made."""
        return self._capture.names() if self._capture is not None else []

    def launch(self):
        """The iteration once more, or one that failed to its end; answers a function's result."""
        if self._capture is None:
            raise CaptureError("launch: nothing was captured yet")
        for optimizer, options in zip(self.optimizers, self._options):
            if options_of(optimizer) != options:
                raise CaptureError("launch: an optimizer's options are not those that were "
                                   "captured; capture again")
        self._count_on()
        self._capture.launch()
        self._fed = None
        for optimizer, counts in zip(self.optimizers, self._counts):
            for p, state in optimizer.state.items():
                if "step" in state:
                    state["step"] += counts.get(id(p), 0)
        self._reached = [steps_of(optimizer) for optimizer in self.optimizers]
        return self._result

    def set_order(self, order):
        """Launches run the calls in this order, a list of indices into `names`; None: as they were
        made. An order that the data do not allow is refused."""
        if self._capture is None:
            raise CaptureError("set_order: nothing was captured yet")
        self._capture.set_order(order)

    def advise(self, memory=None, *, link=None, generations=50, time_limit=None, seed=0, threads=1,
               fix_order=False):
        """Searches a plan by which the iteration fits `memory` ("2GiB", "40%", a number; None: the
        budget) and takes little time: the order of its calls, copies to the host and back, what is
        made again, and where everything lies. `link`: bytes/s to the host, or (out, in), (out, in,
        both), (out, in, both, latency in ns); a simulated machine knows its own. The search ends
        after `generations`, or `time_limit` seconds; up to there the plan depends on the arguments
        alone. OutOfMemoryError where nothing fits."""
        if self._capture is None:
            raise CaptureError("advise: nothing was captured yet")
        rates = link_of(self._capture.device, link)
        return Plan(self._capture._advise(memory, rates, seed, generations, time_limit, threads,
                                          fix_order), rates)

    def set_plan(self, plan):
        """Launches follow a plan of advise(), or of the file that Plan.save() wrote; None: the
        calls in their order again. A plan for another iteration, for more memory than the budget,
        or that does not hold is refused, and the old one stands. A plan costs time at worst; the
        bits are the same."""
        if self._capture is None:
            raise CaptureError("set_plan: nothing was captured yet")
        if plan is not None and not isinstance(plan, Plan):
            plan = Plan.load(plan)
        self._capture._set_plan(*((None, None) if plan is None else (plan.numbers, plan.link)))

    # --- a function ---------------------------------------------------------------------------

    def _feed(self, arguments):
        if len(arguments) != len(self._inputs):
            raise CaptureError(f"capture: {len(arguments)} arguments, but it was captured with "
                               f"{len(self._inputs)}")
        for i, (mine, given) in enumerate(zip(self._inputs, arguments)):
            if not isinstance(mine, Tensor):
                if mine != given:
                    raise CaptureError(f"capture: argument {i} is {given!r}, but it was captured "
                                       f"with {mine!r}")
                continue
            if not isinstance(given, Tensor) or given.shape != mine.shape \
                    or given.dtype != mine.dtype:
                raise CaptureError(f"capture: argument {i} has another shape or type than the "
                                   f"one that was captured: {tuple(mine.shape)} of {mine.dtype}")
        for mine, given in zip(self._inputs, arguments):
            if isinstance(mine, Tensor) and mine is not given:
                mine.copy_(given)

    def __call__(self, *arguments):
        if self.function is None:
            raise TypeError("capture: it has no function to call; use it in a `with` block")
        if self.warmup > 0:
            self.warmup -= 1
            return self.function(*arguments)
        if self._capture is None:
            self._inputs = [a.detach().clone().requires_grad_(a.requires_grad)
                            if isinstance(a, Tensor) else a for a in arguments]
            with self:
                self._result = self.function(*self._inputs)
            return self._result
        if self._fed is None:
            self._feed(arguments)
        elif len(arguments) != len(self._fed) or any(
                given is not mine for given, mine in zip(arguments, self._fed)):
            raise CaptureError("capture: the call before, with other arguments, failed half way; "
                               "launch() ends it and answers its result")
        self._fed = arguments
        try:
            return self.launch()
        except CaptureError:  # nothing was run
            self._fed = None
            raise
