"""Optimizers with a rate of its own for every number, and averages; composed of operations."""
import math

from .._core import where
from .optimizer import Optimizer


class _Composed(Optimizer):
    """Prepares the gradient as all of these do: maximize, then weight decay."""

    def needs_number(self, group):
        return True

    def prepared(self, p, grad, group):
        grad = -grad if group.get("maximize") else grad
        return grad + p * group["weight_decay"] if group.get("weight_decay") else grad

    def counted(self, state, p, *names):
        """State of zeros under the names, and the number of this step."""
        if not state:
            state.update({name: self._zeros(p) for name in names}, step=0)
        state["step"] = int(state["step"]) + 1
        return state["step"]


class Adadelta(_Composed):
    """Zeiler 2012."""

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *,
                 maximize=False):
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
                                  "maximize": maximize})

    def needs_number(self, group):
        return False

    def update(self, p, grad, state, group):
        self.counted(state, p, "square_avg", "acc_delta")
        grad, rho, eps = self.prepared(p, grad, group), group["rho"], group["eps"]
        state["square_avg"].mul_(rho).add_(grad * grad, alpha=1 - rho)
        delta = (state["acc_delta"] + eps).sqrt() / (state["square_avg"] + eps).sqrt() * grad
        state["acc_delta"].mul_(rho).add_(delta * delta, alpha=1 - rho)
        p.sub_(delta, alpha=group["lr"])


class Adamax(_Composed):
    """Adam by the largest gradients instead of their squares (Kingma and Ba 2015, 7.1)."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 foreach=None, *, maximize=False):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay, "maximize": maximize})

    def update(self, p, grad, state, group):
        step = self.counted(state, p, "exp_avg", "exp_inf")
        grad, (beta1, beta2) = self.prepared(p, grad, group), group["betas"]
        state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
        state["exp_inf"].copy_((state["exp_inf"] * beta2).maximum(grad.abs() + group["eps"]))
        p.sub_(state["exp_avg"] / state["exp_inf"], alpha=group["lr"] / (1 - beta1 ** step))


def _moments(state, grad, beta1, beta2):
    state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
    state["exp_avg_sq"].mul_(beta2).add_(grad * grad, alpha=1 - beta2)


class NAdam(_Composed):
    """Adam with Nesterov's momentum (Dozat 2016)."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 momentum_decay=4e-3, foreach=None):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay, "momentum_decay": momentum_decay})

    def update(self, p, grad, state, group):
        step = self.counted(state, p, "exp_avg", "exp_avg_sq")
        grad, (beta1, beta2) = self.prepared(p, grad, group), group["betas"]
        now, later = (beta1 * (1 - 0.5 * 0.96 ** (k * group["momentum_decay"]))
                      for k in (step, step + 1))
        product = state.get("mu_product", 1.0) * now
        state["mu_product"] = product
        _moments(state, grad, beta1, beta2)
        below = (state["exp_avg_sq"] / (1 - beta2 ** step)).sqrt() + group["eps"]
        p.sub_(grad / below, alpha=group["lr"] * (1 - now) / (1 - product))
        # The product up to the next step, as PyTorch 1.13 takes it: this step's factor once more.
        p.sub_(state["exp_avg"] / below, alpha=group["lr"] * later / (1 - product * now * later))


class RAdam(_Composed):
    """Adam whose rate is held back while its variance is not known (Liu et al. 2020)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 foreach=None):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps,
                                  "weight_decay": weight_decay})

    def update(self, p, grad, state, group):
        step = self.counted(state, p, "exp_avg", "exp_avg_sq")
        grad, (beta1, beta2) = self.prepared(p, grad, group), group["betas"]
        _moments(state, grad, beta1, beta2)
        rate, left = group["lr"] / (1 - beta1 ** step), 1 - beta2 ** step
        most = 2 / (1 - beta2) - 1
        rho = most - 2 * step * beta2 ** step / left
        if rho <= 5:
            p.sub_(state["exp_avg"], alpha=rate)
            return
        rectified = math.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
        p.sub_(state["exp_avg"] / (state["exp_avg_sq"].sqrt() + group["eps"]),
               alpha=rate * rectified * math.sqrt(left))


class ASGD(_Composed):
    """Gradient descent that averages the parameters (Polyak and Juditsky 1992): `ax` of its
    state."""

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0,
                 foreach=None, maximize=False):
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0,
                                  "weight_decay": weight_decay, "maximize": maximize})

    def update(self, p, grad, state, group):
        step = self.counted(state, p, "ax")
        grad = self.prepared(p, grad, group)
        eta, mu = state.get("eta", group["lr"]), state.get("mu", 1.0)
        p.mul_(1 - group["lambd"] * eta)
        p.sub_(grad, alpha=eta)
        if mu == 1:
            state["ax"].copy_(p)
        else:
            state["ax"].lerp_(p, mu)
        state["eta"] = group["lr"] / (1 + group["lambd"] * group["lr"] * step) ** group["alpha"]
        state["mu"] = 1 / max(1, step - group["t0"])


class Rprop(_Composed):
    """By the signs of gradients alone (Riedmiller and Braun 1993)."""

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), foreach=None,
                 maximize=False):
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes,
                                  "maximize": maximize})

    def needs_number(self, group):
        return False

    def update(self, p, grad, state, group):
        if self.counted(state, p, "prev", "step_size") == 1:
            state["step_size"].fill_(group["lr"])
        grad, (smaller, larger) = self.prepared(p, grad, group), group["etas"]
        agreed = grad * state["prev"]
        factor = where(agreed > 0, larger, where(agreed < 0, smaller, 1.0))
        state["step_size"].copy_((state["step_size"] * factor).clamp(*group["step_sizes"]))
        grad = where(agreed < 0, 0.0, grad)
        p.sub_(grad.sign() * state["step_size"])
        state["prev"].copy_(grad)
