"""Optimizers with a rate of its own for every number, and averages; composed of operations."""
import math

from .._core import where
from .optimizer import Optimizer


class _Composed(Optimizer):
    """Prepares the gradient as all of these do: maximize, then weight decay."""

    names = ()  # of the tensors of its state, zeros at first

    def needs_number(self, group):
        return True

    def prepared(self, p, grad, group):
        grad = -grad if group.get("maximize") else grad
        return grad + p * group["weight_decay"] if group.get("weight_decay") else grad

    def prepare(self, p, state, group):
        if not state:
            state.update({name: self._zeros(p) for name in self.names}, step=0)


class Adadelta(_Composed):
    """Zeiler 2012."""

    names = "square_avg", "acc_delta"

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *,
                 maximize=False):
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize})

    def needs_number(self, group):
        return False

    def update(self, p, grad, state, group):
        grad, rho, eps = self.prepared(p, grad, group), group["rho"], group["eps"]
        square = (state["square_avg"] * rho).add_(grad * grad, alpha=1 - rho)
        delta = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        moved = (state["acc_delta"] * rho).add_(delta * delta, alpha=1 - rho)
        self.write(p, {state["square_avg"]: square, state["acc_delta"]: moved,
                       p: p.sub(delta, alpha=group["lr"])}, step=int(state["step"]) + 1)


class Adamax(_Composed):
    """Adam by the largest gradients instead of their squares (Kingma and Ba 2015, 7.1)."""

    names = "exp_avg", "exp_inf"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 foreach=None, *, maximize=False):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay, "maximize": maximize})

    def update(self, p, grad, state, group):
        step = int(state["step"]) + 1
        grad, (beta1, beta2) = self.prepared(p, grad, group), group["betas"]
        average = (state["exp_avg"] * beta1).add_(grad, alpha=1 - beta1)
        largest = (state["exp_inf"] * beta2).maximum(grad.abs() + group["eps"])
        self.write(p, {state["exp_avg"]: average, state["exp_inf"]: largest,
                       p: p.sub(average / largest, alpha=group["lr"] / (1 - beta1 ** step))},
                   step=step)


def _moments(state, grad, beta1, beta2):
    """Both averages with this gradient, and what to write of them."""
    average = (state["exp_avg"] * beta1).add_(grad, alpha=1 - beta1)
    square = (state["exp_avg_sq"] * beta2).add_(grad * grad, alpha=1 - beta2)
    return average, square, {state["exp_avg"]: average, state["exp_avg_sq"]: square}


class NAdam(_Composed):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    names = "exp_avg", "exp_avg_sq"

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 momentum_decay=4e-3, foreach=None):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay, "momentum_decay": momentum_decay})

    def update(self, p, grad, state, group):
        step = int(state["step"]) + 1
        grad, (beta1, beta2) = self.prepared(p, grad, group), group["betas"]
        now, later = (beta1 * (1 - 0.5 * 0.96 ** (k * group["momentum_decay"]))
                      for k in (step, step + 1))
        product = state.get("mu_product", 1.0) * now
        average, square, new = _moments(state, grad, beta1, beta2)
        below = (square / (1 - beta2 ** step)).sqrt() + group["eps"]
        new[p] = p.sub(grad / below, alpha=group["lr"] * (1 - now) / (1 - product)).sub_(
            average / below, alpha=group["lr"] * later / (1 - product * later))
        self.write(p, new, step=step, mu_product=product)


class RAdam(_Composed):
    """Adam whose rate is held back while its variance is not known (Liu et al. 2020)."""

    names = "exp_avg", "exp_avg_sq"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 foreach=None):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay})

    def update(self, p, grad, state, group):
        step = int(state["step"]) + 1
        grad, (beta1, beta2) = self.prepared(p, grad, group), group["betas"]
        average, square, new = _moments(state, grad, beta1, beta2)
        rate, left = group["lr"] / (1 - beta1 ** step), 1 - beta2 ** step
        most = 2 / (1 - beta2) - 1
        rho = most - 2 * step * beta2 ** step / left
        change = average
        if rho > 5:
            rate *= math.sqrt((rho - 4) * (rho - 2) * most * left
                              / ((most - 4) * (most - 2) * rho))
            change = average / (square.sqrt() + group["eps"])
        new[p] = p.sub(change, alpha=rate)
        self.write(p, new, step=step)


class ASGD(_Composed):
    """Gradient descent that averages the parameters (Polyak and Juditsky 1992): `ax` of its
    state."""

    names = ("ax",)

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0,
                 foreach=None, maximize=False):
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0,
                                  "weight_decay": weight_decay, "maximize": maximize})

    def update(self, p, grad, state, group):
        step = int(state["step"]) + 1
        grad = self.prepared(p, grad, group)
        eta, mu = state.get("eta", group["lr"]), state.get("mu", 1.0)
        moved = (p * (1 - group["lambd"] * eta)).sub_(grad, alpha=eta)
        mean = moved if mu == 1 else state["ax"].lerp(moved, mu)
        self.write(
            p, {state["ax"]: mean, p: moved}, step=step,
            eta=group["lr"] / (1 + group["lambd"] * group["lr"] * step) ** group["alpha"],
            mu=1 / max(1, step - group["t0"]))


class Rprop(_Composed):
    """By the signs of gradients alone (Riedmiller and Braun 1993)."""

    names = "prev", "step_size"

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), foreach=None,
                 maximize=False):
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes,
                                  "maximize": maximize})

    def needs_number(self, group):
        return False

    def update(self, p, grad, state, group):
        grad, (smaller, larger) = self.prepared(p, grad, group), group["etas"]
        agreed = grad * state["prev"]
        factor = where(agreed > 0, larger, where(agreed < 0, smaller, 1.0))
        size = (state["step_size"] * factor).clamp(*group["step_sizes"])
        grad = where(agreed < 0, 0.0, grad)
        self.write(p, {state["step_size"]: size, state["prev"]: grad,
                       p: p.sub(grad.sign() * size)}, step=int(state["step"]) + 1)

    def prepare(self, p, state, group):
        if not state:
            super().prepare(p, state, group)
            state["step_size"].fill_(group["lr"])
