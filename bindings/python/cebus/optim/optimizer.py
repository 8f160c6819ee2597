"""The base of all optimizers: parameter groups, state, saving and loading."""
import collections

from .. import _core
from ..grad_mode import enable_grad, no_grad
from ..nn.module import zero_gradients
from ..nn.parameter import Parameter

# A zero among the library's options means its default; what is meant as zero is passed as the
# smallest number, which no result can tell from it.
TINY = 5e-324


def number(value):
    """An option for the library."""
    value = float(value)
    return TINY if value == 0.0 else value


class Optimizer:
    """Updates parameters by their gradients; options may differ between groups."""

    stepped = None  # called after each step, while a capture watches
    recording = 0   # captures that record a block
    numbered = 0    # steps of all optimizers so far that no launch could repeat

    def __init__(self, params, defaults):
        self.defaults, self.param_groups = defaults, []
        self.state = collections.defaultdict(dict)
        # Of a step that failed on its way, by parameter: the gradient that was applied, with its
        # version; and what is left to write of an update that had begun to.
        self._applied, self._left, self._now = {}, {}, None
        self._crowded = -1  # the largest budget in which the gradients found no room together
        if isinstance(params, _core.Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of "
                            "Tensors or dicts, but got a single tensor")
        params = [params] if isinstance(params, dict) else list(params)
        if not params:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(params[0], dict):
            params = [{"params": params}]
        for group in params:
            self.add_param_group(group)

    def add_param_group(self, group):
        """Adds parameters with options of their own."""
        group = dict(self.defaults, **group)
        params = group["params"]
        group["params"] = [params] if isinstance(params, _core.Tensor) else list(params)
        known = {id(p) for each in self.param_groups for p in each["params"]}
        for p in group["params"]:
            if not isinstance(p, _core.Tensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is "
                                f"{type(p).__name__}")
            if not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(p) in known:
                raise ValueError("some parameters appear in more than one parameter group")
            known.add(id(p))
            if not isinstance(p, Parameter):
                p.persist_()
        self.check(group)
        self.param_groups.append(group)

    def check(self, group):
        """Refuses options out of range."""
        for name in ("lr", "eps", "weight_decay", "momentum"):
            value = group.get(name, 0.0)
            if not float(value) >= 0.0:
                text = {"lr": "learning rate", "eps": "epsilon value"}.get(name, name + " value")
                raise ValueError(f"Invalid {text}: {value}")
        for i, beta in enumerate(group.get("betas", ())):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")

    def zero_grad(self, set_to_none=True):
        """Drops the gradients, or else fills those there are with zeros."""
        self._applied.clear()
        for group in self.param_groups:
            zero_gradients(group["params"], set_to_none)

    def needs_number(self, group):
        """Whether an update depends on how many there were by numbers that are made here: a launch
        of a capture would have them as they were."""
        return False

    def _refuse_capture(self):
        if not any(map(self.needs_number, self.param_groups)):
            return
        if Optimizer.recording:
            raise _core.CaptureError(
                f"{type(self).__name__}.step: cannot be captured: it depends on how many steps "
                "there were, and each launch would be the same one; SGD, Adam (without amsgrad) "
                "and AdamW count on")
        Optimizer.numbered += 1

    def step(self, closure=None):
        """Updates every parameter that has a gradient. State is made, and gradients are made
        resident, before the first write: an out-of-memory error changes nothing. Where values may
        wait elsewhere and gradients do not fit together, one parameter is updated after the other.

        A gradient is applied once: after a failure on the way the next call goes on with the
        parameters that are left, unless gradients have changed meanwhile. The update of a parameter
        happens or does not; where it failed among its writes, the next call begins with the rest.
        """
        loss = None
        self._refuse_capture()
        self._finish()
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            found = [(p, p.grad, group) for group in self.param_groups for p in group["params"]]
            found = [each for each in found if self._is_due(each[0], each[1])]
            for p, _, group in found:
                self.prepare(p, self.state[p], group)
            self._bring([grad for _, grad, _ in found])
            for p, grad, group in found:
                self._now = (grad, grad._version)
                self.update(p, grad, self.state[p], group)
                self._finish()
                self._applied[p] = self._now
        self._applied.clear()
        if self.stepped is not None:
            self.stepped(self)
        return loss

    def _is_due(self, p, grad):
        if grad is None:
            return False
        applied, version = self._applied.get(p, (None, 0))
        return applied is not grad or version != grad._version

    def _bring(self, grads):
        if not grads:
            return
        where = _core.runtime(grads[0].device)
        parts = where.swaps
        if parts and max(sum(grad.nbytes for grad in grads), self._crowded) >= where.budget:
            return
        try:
            _core.restore(grads)
        except _core.OutOfMemoryError:
            if not parts:
                raise
            self._crowded = where.budget

    def fused(self, call, p, grad, state, step, *arguments):
        """An update that is one call of the library, with the step's number in the state. It was
        made if the parameter was written, also when an interrupt comes as the call returns."""
        version = p._version
        try:
            call(p, grad, *arguments)
        finally:
            if p._version != version:
                state["step"] = step
                self._applied[p] = self._now

    def write(self, p, values, **numbers):
        """What an update of several operations came to, its last call: new values of the parameter
        and of tensors of its state, by what they are written to, and numbers of its state. All of
        it is worked out before the first write, and writes can be made again."""
        self._left[p] = (list(values.items()), numbers, self._now)

    def _finish(self):
        """Makes the writes that are left."""
        with no_grad():
            for p in list(self._left):
                values, numbers, applied = self._left[p]
                while values:
                    values[0][0].copy_(values[0][1])
                    del values[0]
                self.state[p].update(numbers)
                self._applied[p] = applied
                del self._left[p]

    def prepare(self, p, state, group):
        """Makes the state of a parameter that will be updated, where it has none."""

    def update(self, p, grad, state, group):
        """One step of one parameter."""
        raise NotImplementedError

    # --- state ----------------------------------------------------------------------------------

    def _zeros(self, p):
        return _core.zeros(p.shape, dtype=p.dtype, device=p.device).persist_()

    def state_dict(self):
        """State by the parameters' numbers, and the groups' options."""
        self._finish()
        order = [p for group in self.param_groups for p in group["params"]]
        numbers = {id(p): i for i, p in enumerate(order)}
        groups = [dict(group, params=[numbers[id(p)] for p in group["params"]])
                  for group in self.param_groups]
        state = {numbers[id(p)]: dict(self.state[p]) for p in order if p in self.state}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Goes on from a saved state. Tensors of the state there is take its numbers, so that what
        holds them, a capture say, goes on from there, too."""
        groups = state_dict["param_groups"]
        if [len(each["params"]) for each in groups] != \
                [len(each["params"]) for each in self.param_groups]:
            raise ValueError("loaded state dict contains a parameter group that doesn't match the "
                             "size of optimizer's group")
        params = [p for group in self.param_groups for p in group["params"]]
        numbers = [number_ for group in groups for number_ in group["params"]]
        for mine, saved in zip(self.param_groups, groups):
            mine.update({key: value for key, value in saved.items() if key != "params"})
        loaded = {p: {key: self._loaded(p, key, value)
                      for key, value in state_dict["state"][at].items()}
                  for p, at in zip(params, numbers) if at in state_dict["state"]}
        self._applied.clear()
        self._left.clear()
        self.state.clear()
        self.state.update(loaded)

    def _loaded(self, p, key, value):
        if not isinstance(value, _core.Tensor) or not value.ndim:
            return value
        mine = self.state[p].get(key) if p in self.state else None
        if not isinstance(mine, _core.Tensor) or mine.shape != value.shape \
                or mine.dtype != value.dtype:
            return value.to(p.device).clone().persist_()
        with no_grad():
            return mine.copy_(value.to(p.device))

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n" + "\n".join(
                f"    {key}: {group[key]}" for key in sorted(group) if key != "params")
        return text + "\n)"
