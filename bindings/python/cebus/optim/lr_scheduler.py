"""Learning rates that change from step to step."""
import bisect
import math

from .. import missing


class LRScheduler:
    """Changes each group's learning rate from step to step. Those that are a factor of the step
    multiply the rate there is, so that several may act on one optimizer."""

    def __init__(self, optimizer, last_epoch=-1, verbose=False):
        self.optimizer, self.last_epoch, self.verbose = optimizer, last_epoch, verbose
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError("param 'initial_lr' is not specified in param_groups when resuming "
                               "an optimizer")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._step_count = 0
        self._initial_step()

    def _initial_step(self):
        self.step()

    def get_lr(self):
        """The learning rate of each group at step `last_epoch`, from that of the step before."""
        step = self.last_epoch
        factor, before = self.factor(step), self.factor(step - 1) if step > 0 else 1.0
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if factor == before or before == 0:
            return rates
        return [rate * (factor / before) for rate in rates]

    def _get_closed_form_lr(self):
        """The same, from the first learning rates alone."""
        if type(self).factor is LRScheduler.factor:
            return self.get_lr()
        return [base * self.factor(self.last_epoch) for base in self.base_lrs]

    def factor(self, step):
        """What the first learning rate is multiplied by."""
        raise NotImplementedError

    def get_last_lr(self):
        return self._last_lr

    def print_lr(self, is_verbose, group, lr, epoch=None):
        """Says what the rate is now."""
        if is_verbose:
            print(f"Adjusting learning rate of group {group} to {lr:.4e}.")

    def step(self, epoch=None):
        """Goes on by one step, or to step `epoch`."""
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        rates = self.get_lr() if epoch is None else self._get_closed_form_lr()
        for i, (group, lr) in enumerate(zip(self.optimizer.param_groups, rates)):
            group["lr"] = lr
            self.print_lr(self.verbose, i, lr)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        return {key: value for key, value in self.__dict__.items()
                if key != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict):
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


class LambdaLR(LRScheduler):
    """A function of the step, one for all groups or one each."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1, verbose=False):
        n = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) \
            else [lr_lambda] * n
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(LRScheduler):
    """Times a function of the step, every step; one for all groups or one each."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1, verbose=False):
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) \
            else [lr_lambda] * len(optimizer.param_groups)
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        rates = [group["lr"] for group in self.optimizer.param_groups]
        if self.last_epoch <= 0:
            return rates
        return [rate * f(self.last_epoch) for rate, f in zip(rates, self.lr_lambdas)]

    def state_dict(self):
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class StepLR(LRScheduler):
    """Times gamma every `step_size` steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, step):
        return self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, step):
        return self.gamma ** bisect.bisect_right(self.milestones, step)


class ExponentialLR(LRScheduler):
    """Times gamma every step."""

    def __init__(self, optimizer, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, step):
        return self.gamma ** step


class ConstantLR(LRScheduler):
    """A part of the rate for the first steps."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1, verbose=False):
        self.part, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, step):
        return self.part if step < self.total_iters else 1.0


class LinearLR(LRScheduler):
    """From one part of the rate to another, in a line."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5,
                 last_epoch=-1, verbose=False):
        self.start, self.end, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, step):
        share = min(step, self.total_iters) / self.total_iters
        return self.start + (self.end - self.start) * share


class PolynomialLR(LRScheduler):
    """Down to zero as a power of what is left."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1, verbose=False):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch, verbose)

    def factor(self, step):
        return (1 - min(step, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate to eta_min in T_max steps (Loshchilov and Hutter 2017)."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1, verbose=False):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch, verbose)

    def _wave(self, step):
        return (1 + math.cos(math.pi * step / self.T_max)) / 2

    def get_lr(self):
        if self.last_epoch == 0:
            return [group["lr"] for group in self.optimizer.param_groups]
        before = self._wave(self.last_epoch - 1)
        if before < 1e-12:  # at the foot of a wave the rate says nothing of its height
            return self._get_closed_form_lr()
        ratio = self._wave(self.last_epoch) / before
        return [self.eta_min + (group["lr"] - self.eta_min) * ratio
                for group in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        wave = self._wave(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines, each T_mult times as long as the one before."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1, verbose=False):
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch, verbose)

    def get_lr(self):
        step, length = self.last_epoch, self.T_0
        while step >= length:
            step, length = step - length, length * self.T_mult
        wave = (1 + math.cos(math.pi * step / length)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]


def _each(value, optimizer):
    """A value for each group."""
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        return [value] * len(groups)
    if len(value) != len(groups):
        raise ValueError(f"expected {len(groups)} values, one for each group, got {len(value)}")
    return list(value)


def _momentum_name(optimizer, kinds):
    for name in kinds:
        if name in optimizer.defaults:
            return name
    raise ValueError("optimizer must support momentum with `cycle_momentum` option enabled")


def _set_momentum(group, name, value):
    group[name] = (value, *group["betas"][1:]) if name == "betas" else value


class CyclicLR(LRScheduler):
    """Up from base_lr to max_lr and down again, over and over (Smith 2017)."""

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None,
                 mode="triangular", gamma=1.0, scale_fn=None, scale_mode="cycle",
                 cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1,
                 verbose=False):
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.lows, self.highs = _each(base_lr, optimizer), _each(max_lr, optimizer)
        self.up, self.total_size = step_size_up, step_size_up + (step_size_down or step_size_up)
        self.scale_fn, self.gamma, self.mode = scale_fn, gamma, mode
        self.scale_mode = scale_mode if scale_fn is not None else \
            "iterations" if mode == "exp_range" else "cycle"
        self.momentum_name = _momentum_name(optimizer, ("momentum",)) if cycle_momentum else None
        self.momenta = list(zip(_each(base_momentum, optimizer), _each(max_momentum, optimizer)))
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, self.lows):
                group["lr"] = low
        super().__init__(optimizer, last_epoch, verbose)
        self.base_lrs = self.lows

    def _scale(self, x):
        if self.scale_fn is not None:
            return self.scale_fn(x)
        return {"triangular": 1.0, "triangular2": 0.5 ** (x - 1),
                "exp_range": self.gamma ** x}[self.mode]

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place, rise = 1 + self.last_epoch / self.total_size - cycle, self.up / self.total_size
        height = place / rise if place <= rise else (place - 1) / (rise - 1)
        height *= self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.momentum_name:
            for group, (low, high) in zip(self.optimizer.param_groups, self.momenta):
                _set_momentum(group, self.momentum_name, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.lows, self.highs)]


class OneCycleLR(LRScheduler):
    """Up to max_lr and far down again, by half cosines; momentum the other way round (Smith and
    Topin 2018)."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None,
                 pct_start=0.3, anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85,
                 max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
                 last_epoch=-1, verbose=False):
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError("anneal_strategy must by one of 'cos' or 'linear', instead got "
                             f"{anneal_strategy}")
        self.total_steps = total_steps or epochs * steps_per_epoch
        self.max_lrs, self.linear = _each(max_lr, optimizer), anneal_strategy == "linear"
        self.div, self.final = div_factor, final_div_factor
        self.momentum_name = _momentum_name(optimizer, ("betas", "momentum")) \
            if cycle_momentum else None
        self.momenta = list(zip(_each(max_momentum, optimizer), _each(base_momentum, optimizer)))
        first, end = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        # (its last step, from which rate to which, from which momentum to which) of each phase
        self.phases = [(first, 0, 1, 0, 1), (2 * first, 1, 0, 1, 0), (end, 0, 2, 0, 0)] \
            if three_phase else [(first, 0, 1, 0, 1), (end, 1, 2, 1, 0)]
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, self.max_lrs):
                group.update(initial_lr=high / div_factor, max_lr=high,
                             min_lr=high / div_factor / final_div_factor)
        super().__init__(optimizer, last_epoch, verbose)

    def _between(self, start, end, share):
        share = share if self.linear else (1 - math.cos(math.pi * share)) / 2
        return start + (end - start) * share

    def get_lr(self):
        step, start = self.last_epoch, 0.0
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step + 1} times. The specified number of total steps "
                             f"is {self.total_steps}")
        for end, first, last, heavy, light in self.phases:
            if step <= end or end == self.phases[-1][0]:
                break
            start = end
        share = (step - start) / (end - start)
        if self.momentum_name:
            for group, momenta in zip(self.optimizer.param_groups, self.momenta):
                _set_momentum(group, self.momentum_name,
                              self._between(momenta[heavy], momenta[light], share))
        rates = [(high / self.div, high, high / self.div / self.final) for high in self.max_lrs]
        return [self._between(rate[first], rate[last], share) for rate in rates]


class _Several:
    """Schedulers that act on one optimizer."""

    def __init__(self, schedulers):
        schedulers = list(schedulers)
        if not schedulers:
            raise ValueError("expected at least one scheduler")
        if any(each.optimizer is not schedulers[0].optimizer for each in schedulers):
            raise ValueError(f"{type(self).__name__} expects all schedulers to belong to the same "
                             "optimizer")
        self._schedulers, self.optimizer = schedulers, schedulers[0].optimizer

    def _note(self):
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self):
        return self._last_lr

    def state_dict(self):
        state = {key: value for key, value in self.__dict__.items()
                 if key not in ("optimizer", "_schedulers")}
        return dict(state, _schedulers=[each.state_dict() for each in self._schedulers])

    def load_state_dict(self, state_dict):
        self.__dict__.update({key: value for key, value in state_dict.items()
                              if key != "_schedulers"})
        for each, state in zip(self._schedulers, state_dict["_schedulers"]):
            each.load_state_dict(state)


class SequentialLR(_Several):
    """One schedule after the other, from milestone to milestone."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1, verbose=False):
        super().__init__(schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError("Sequential Schedulers expects number of schedulers provided to be "
                             "one more than the number of milestone points, but got number of "
                             f"schedulers {len(schedulers)} and the number of milestones to be "
                             f"equal to {len(milestones)}")
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for each in schedulers:
            each.last_epoch -= 1
        schedulers[0]._initial_step()
        self._note()

    def step(self):
        self.last_epoch += 1
        i = bisect.bisect_right(self._milestones, self.last_epoch)
        if i and self._milestones[i - 1] == self.last_epoch:
            self._schedulers[i].step(0)
        else:
            self._schedulers[i].step()
        self._note()


class ChainedScheduler(_Several):
    """All schedules at once."""

    def __init__(self, schedulers):
        super().__init__(schedulers)
        self._note()

    def step(self):
        for each in self._schedulers:
            each.step()
        self._note()


class ReduceLROnPlateau:
    """Times `factor` when a figure has not improved for more than `patience` steps."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4,
                 threshold_mode="rel", cooldown=0, min_lr=0.0, eps=1e-8, verbose=False):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.min_lrs, self.eps = cooldown, _each(min_lr, optimizer), eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _better(self, figure):
        """As PyTorch has it: of a negative best a relative threshold is on its other side."""
        sign = 1 if self.mode == "min" else -1
        bound = self.best * (1 - sign * self.threshold) if self.threshold_mode == "rel" \
            else self.best - sign * self.threshold
        return sign * figure < sign * bound

    def step(self, metrics, epoch=None):
        figure = float(metrics)
        self.last_epoch += 1
        if self._better(figure):
            self.best, self.num_bad_epochs = figure, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                fresh = max(group["lr"] * self.factor, least)
                if group["lr"] - fresh > self.eps:
                    group["lr"] = fresh
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self):
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        self.__dict__.update(state_dict)


def __dir__():
    return sorted(set(globals()))


__getattr__ = missing.of_module("cebus.optim.lr_scheduler", __dir__)
