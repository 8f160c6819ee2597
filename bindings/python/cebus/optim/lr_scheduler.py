"""Learning rates that change from step to step."""
import bisect
import math


class LRScheduler:
    """Sets each group's learning rate to a function of the number of steps."""

    def __init__(self, optimizer, last_epoch=-1, verbose=False):
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.step()

    def get_lr(self):
        """The learning rate of each group at step `last_epoch`."""
        return [base * self.factor(self.last_epoch) for base in self.base_lrs]

    def factor(self, step):
        """What the first learning rate is multiplied by."""
        raise NotImplementedError

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch=None):
        """Goes on by one step, or to step `epoch`."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            group["lr"] = lr

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
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas)]


class StepLR(LRScheduler):
    """Times gamma every `step_size` steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1, verbose=False):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1, verbose=False):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return self.gamma ** bisect.bisect_right(self.milestones, step)


class ExponentialLR(LRScheduler):
    """Times gamma every step."""

    def __init__(self, optimizer, gamma, last_epoch=-1, verbose=False):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return self.gamma ** step


class ConstantLR(LRScheduler):
    """A part of the rate for the first steps."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1, verbose=False):
        self.part, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return self.part if step < self.total_iters else 1.0


class LinearLR(LRScheduler):
    """From one part of the rate to another, in a line."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5,
                 last_epoch=-1, verbose=False):
        self.start, self.end, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        share = min(step, self.total_iters) / self.total_iters
        return self.start + (self.end - self.start) * share


class PolynomialLR(LRScheduler):
    """Down to zero as a power of what is left."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1, verbose=False):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def factor(self, step):
        return (1 - min(step, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate to eta_min in T_max steps (Loshchilov and Hutter 2017)."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1, verbose=False):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines, each T_mult times as long as the one before."""

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1, verbose=False):
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        step, length = self.last_epoch, self.T_0
        while step >= length:
            step, length = step - length, length * self.T_mult
        wave = (1 + math.cos(math.pi * step / length)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]


class OneCycleLR(LRScheduler):
    """Up to max_lr and far down again, by half cosines (Smith and Topin 2018)."""

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None,
                 pct_start=0.3, anneal_strategy="cos", div_factor=25.0, final_div_factor=1e4,
                 last_epoch=-1, **unused):
        self.total_steps = total_steps or epochs * steps_per_epoch
        n = len(optimizer.param_groups)
        self.max_lrs = list(max_lr) if isinstance(max_lr, (list, tuple)) else [max_lr] * n
        self.pct_start, self.linear = pct_start, anneal_strategy == "linear"
        self.div, self.final = div_factor, final_div_factor
        super().__init__(optimizer, last_epoch)

    def _between(self, start, end, share):
        share = share if self.linear else (1 - math.cos(math.pi * share)) / 2
        return start + (end - start) * share

    def get_lr(self):
        step, top = self.last_epoch, float(self.pct_start * self.total_steps) - 1
        if step >= self.total_steps:
            raise ValueError(f"Tried to step {step + 1} times. The specified number of total steps "
                             f"is {self.total_steps}")
        found = []
        for high in self.max_lrs:
            low = high / self.div
            if step <= top:
                found.append(self._between(low, high, step / top))
            else:
                share = (step - top) / (self.total_steps - 1 - top)
                found.append(self._between(high, low / self.final, share))
        return found


class SequentialLR:
    """One schedule after the other, from milestone to milestone."""

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1, verbose=False):
        self.optimizer, self.schedulers, self.milestones = optimizer, schedulers, milestones
        self.last_epoch = 0
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        schedulers[0].step(0)

    def step(self):
        self.last_epoch += 1
        i = bisect.bisect_right(self.milestones, self.last_epoch)
        if i and self.milestones[i - 1] == self.last_epoch:
            self.schedulers[i].step(0)
        else:
            self.schedulers[i].step()

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]


class ReduceLROnPlateau:
    """Times `factor` when a figure has not improved for more than `patience` steps."""

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4,
                 threshold_mode="rel", cooldown=0, min_lr=0.0, eps=1e-8, verbose=False):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.min_lr, self.eps = cooldown, min_lr, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = self.last_epoch = 0

    def _better(self, figure):
        sign = 1 if self.mode == "min" else -1
        slack = abs(self.best) * self.threshold if self.threshold_mode == "rel" else self.threshold
        return math.isinf(self.best) or sign * figure < sign * self.best - slack

    def step(self, metrics):
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
            for group in self.optimizer.param_groups:
                fresh = max(group["lr"] * self.factor, self.min_lr)
                if group["lr"] - fresh > self.eps:
                    group["lr"] = fresh
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def get_last_lr(self):
        return [group["lr"] for group in self.optimizer.param_groups]
