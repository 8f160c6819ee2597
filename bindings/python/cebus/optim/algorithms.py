"""The optimizers. SGD, Adam and AdamW are one fused call a parameter."""
import math

from .. import _core
from .optimizer import Optimizer, number


class SGD(Optimizer):
    """Gradient descent with momentum, Nesterov's too, and weight decay."""

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False,
                 *, maximize=False, foreach=None, differentiable=False, fused=None):
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize})

    def prepare(self, p, state, group):
        if group["momentum"] and "momentum_buffer" not in state:
            state["momentum_buffer"] = self._zeros(p)

    def update(self, p, grad, state, group):
        grad = -grad if group["maximize"] else grad
        step = state.get("step", 0) + 1
        self.fused(_core.sgd_step, p, grad, state, step, state.get("momentum_buffer"), step,
                   number(group["lr"]), group["momentum"], group["dampening"],
                   group["weight_decay"], group["nesterov"])


class Adam(Optimizer):
    """Kingma and Ba 2015."""

    decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
                 amsgrad=False, *, maximize=False, foreach=None, capturable=False, fused=None):
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "amsgrad": amsgrad, "maximize": maximize})

    def needs_number(self, group):
        return bool(group["amsgrad"])

    def prepare(self, p, state, group):
        names = ("exp_avg", "exp_avg_sq") + ("max_exp_avg_sq",) * bool(group["amsgrad"])
        if not state:
            state.update({name: self._zeros(p) for name in names}, step=0)

    def update(self, p, grad, state, group):
        grad = -grad if group["maximize"] else grad
        if group["amsgrad"]:
            self.update_by_largest(p, grad, state, group)
            return
        step = int(state["step"]) + 1
        beta1, beta2 = group["betas"]
        self.fused(_core.adam_step, p, grad, state, step, state["exp_avg"], state["exp_avg_sq"],
                   step, number(group["lr"]), number(beta1), number(beta2), number(group["eps"]),
                   group["weight_decay"], self.decoupled)

    def update_by_largest(self, p, grad, state, group):
        """AMSGrad: by the largest second moment there was (Reddi et al. 2018)."""
        step, (beta1, beta2) = int(state["step"]) + 1, group["betas"]
        lr, start = float(group["lr"]), p
        if self.decoupled:
            start = p * (1 - lr * group["weight_decay"])
        elif group["weight_decay"]:
            grad = grad + p * group["weight_decay"]
        average = (state["exp_avg"] * beta1).add_(grad, alpha=1 - beta1)
        square = (state["exp_avg_sq"] * beta2).add_(grad * grad, alpha=1 - beta2)
        largest = state["max_exp_avg_sq"].maximum(square)
        below = largest.sqrt() * (1 / math.sqrt(1 - beta2 ** step)) + group["eps"]
        self.write(p, {state["exp_avg"]: average, state["exp_avg_sq"]: square,
                       state["max_exp_avg_sq"]: largest,
                       p: start.sub(average / below, alpha=lr / (1 - beta1 ** step))}, step=step)


class AdamW(Adam):
    """Adam that shrinks the parameter itself (Loshchilov and Hutter 2019)."""

    decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, **more):
        super().__init__(params, lr, betas, eps, weight_decay, **more)


class RMSprop(Optimizer):
    """Tieleman and Hinton 2012; `centered`: by the variance of gradients (Graves 2013)."""

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0,
                 centered=False, foreach=None, maximize=False, differentiable=False):
        super().__init__(params, {
            "lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay,
            "momentum": momentum, "centered": centered, "maximize": maximize})

    def prepare(self, p, state, group):
        wanted = {"square_avg": True, "momentum_buffer": group["momentum"],
                  "grad_avg": group["centered"]}
        if not state:
            state.update({name: self._zeros(p) if here else None for name, here in wanted.items()})

    def update(self, p, grad, state, group):
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"]:
            grad = grad + p * group["weight_decay"]
        share, new = group["alpha"], {}
        square = average = (state["square_avg"] * share).add_(grad * grad, alpha=1 - share)
        new[state["square_avg"]] = square
        if group["centered"]:
            mean = (state["grad_avg"] * share).add_(grad, alpha=1 - share)
            new[state["grad_avg"]] = mean
            average = square - mean.square()
        change = grad / (average.sqrt() + group["eps"])
        if group["momentum"]:
            change = (state["momentum_buffer"] * group["momentum"]).add_(change)
            new[state["momentum_buffer"]] = change
        new[p] = p.sub(change, alpha=group["lr"])
        self.write(p, new)


class Adagrad(Optimizer):
    """Duchi et al. 2011."""

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0,
                 eps=1e-10, foreach=None, *, maximize=False):
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize})

    def needs_number(self, group):
        return bool(group["lr_decay"])

    def prepare(self, p, state, group):
        if not state:
            state.update(step=0, sum=self._zeros(p).fill_(group["initial_accumulator_value"]))

    def update(self, p, grad, state, group):
        step = int(state["step"]) + 1
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"]:
            grad = grad + p * group["weight_decay"]
        total = state["sum"].add(grad * grad)
        lr = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        self.write(p, {state["sum"]: total,
                       p: p.sub(grad / (total.sqrt() + group["eps"]), alpha=lr)}, step=step)
