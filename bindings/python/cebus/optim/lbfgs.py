"""Limited-memory BFGS (Nocedal and Wright 2006: algorithms 7.4, 3.5 and 3.6)."""
import math

from .. import _core
from ..grad_mode import enable_grad, no_grad
from .optimizer import Optimizer


class LBFGS(Optimizer):
    """All parameters as one vector, with the curvature of the last `history_size` steps. step()
    wants a function that clears the gradients, computes the loss, calls backward and returns the
    loss. `line_search_fn`: None, or "strong_wolfe"."""

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7,
                 tolerance_change=1e-9, history_size=100, line_search_fn=None):
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # --- all parameters as one vector -------------------------------------------------------------

    def _gradient(self):
        return _core.cat([_core.zeros((p.numel(),), dtype=p.dtype, device=p.device)
                          if p.grad is None else p.grad.reshape(-1) for p in self._params])

    def _move(self, direction, length):
        at = 0
        for p in self._params:
            p.add_(direction[at:at + p.numel()].reshape(p.shape), alpha=float(length))
            at += p.numel()

    def _at(self, closure, places, direction, length):
        """(loss, gradient) so far along the direction; the parameters are where they were."""
        self._move(direction, length)
        loss = float(closure())
        gradient = self._gradient()
        for p, place in zip(self._params, places):
            p.copy_(place)
        return loss, gradient

    # --- direction --------------------------------------------------------------------------------

    def _remember(self, state, gradient, group):
        """What the last step says of the curvature."""
        change = gradient - state["prev_flat_grad"]
        moved = state["d"] * state["t"]
        product = float(change.dot(moved))
        if product > 1e-10:
            if len(state["old_dirs"]) == group["history_size"]:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(change)
            state["old_stps"].append(moved)
            state["ro"].append(1.0 / product)
            state["H_diag"] = product / float(change.dot(change))

    @staticmethod
    def _direction(state, gradient):
        """Minus the inverse Hessian times the gradient, by the two loops."""
        pairs = list(zip(state["old_dirs"], state["old_stps"], state["ro"]))
        q, shares = -gradient, []
        for change, moved, ro in reversed(pairs):
            shares.append(float(moved.dot(q)) * ro)
            q = q - change * shares[-1]
        q = q * state["H_diag"]
        for (change, moved, ro), share in zip(pairs, reversed(shares)):
            q = q + moved * (share - float(change.dot(q)) * ro)
        return q

    # --- step -------------------------------------------------------------------------------------

    def step(self, closure):
        """Up to max_iter moves; answers the loss before the first. One that fails, in the function
        say, leaves parameters and state as they were; where there is no room for that, the next
        call begins with it."""
        group = self.param_groups[0]
        self._finish()

        def graded():
            with enable_grad():
                return closure()
        with no_grad():
            first = graded()
            state = self.state[self._params[0]]
            if not state:
                state.update(func_evals=0, n_iter=0, old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            before = {name: list(each) if isinstance(each, list) else each
                      for name, each in state.items()}
            places = [p.clone() for p in self._params]
            try:
                state["func_evals"] += 1
                gradient = self._gradient()
                if float(gradient.abs().max()) > group["tolerance_grad"]:
                    self._iterate(graded, state, group, float(first), gradient)
            except BaseException:
                state.clear()
                state.update(before)
                self._left = {p: ([(p, place)], {}, None)
                              for p, place in zip(self._params, places)}
                self._finish()
                raise
        return first

    def _iterate(self, closure, state, group, loss, gradient):
        evaluations = 1
        for n in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = -gradient
            else:
                self._remember(state, gradient, group)
                direction = self._direction(state, gradient)
            state["d"], state["prev_flat_grad"], before = direction, gradient, loss
            length = group["lr"] * (min(1.0, 1.0 / float(gradient.abs().sum()))
                                    if state["n_iter"] == 1 else 1.0)
            slope = float(gradient.dot(direction))
            if slope > -group["tolerance_change"]:
                state["t"] = length
                return
            length, loss, gradient, used = self._moved(closure, group, n, direction, length, loss,
                                                       gradient, slope, evaluations)
            state["t"] = length
            state["func_evals"] += used
            evaluations += used
            if n == group["max_iter"] or evaluations >= group["max_eval"] \
                    or float(gradient.abs().max()) <= group["tolerance_grad"] \
                    or float(direction.abs().max()) * length <= group["tolerance_change"] \
                    or abs(loss - before) < group["tolerance_change"]:
                return

    def _moved(self, closure, group, n, direction, length, loss, gradient, slope, before):
        """(length of the step, loss and gradient there, evaluations)"""
        if group["line_search_fn"] is None:
            self._move(direction, length)
            if n == group["max_iter"]:
                return length, loss, gradient, 0
            return length, float(closure()), self._gradient(), 1
        places = [p.clone() for p in self._params]
        search = Search(lambda t: self._at(closure, places, direction, t), direction,
                        loss, gradient, slope, group["tolerance_change"],
                        group["max_eval"] - before)
        point = search.run(length)
        self._move(direction, point.t)
        return point.t, point.loss, point.gradient, search.evaluations


class Point:
    """A place on the line: how far, and loss, gradient and slope there."""

    def __init__(self, t, loss, gradient, slope):
        self.t, self.loss, self.gradient, self.slope = t, loss, gradient, slope


def between(a, b, low, high):
    """The least of the cubic through two points and their slopes, within [low, high] (3.59)."""
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t) if a.t != b.t else math.nan
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    if a.t > b.t:
        a, b = b, a
    d2 = math.sqrt(square)
    below = b.slope - a.slope + 2 * d2
    if below == 0:
        return (low + high) / 2
    return min(max(b.t - (b.t - a.t) * ((b.slope + d2 - d1) / below), low), high)


class Search:
    """A step length that meets the strong Wolfe conditions."""

    C1, C2 = 1e-4, 0.9

    def __init__(self, evaluate, direction, loss, gradient, slope, tolerance, most):
        self.evaluate, self.direction, self.most = evaluate, direction, most
        self.start, self.tolerance = Point(0.0, loss, gradient, slope), tolerance
        self.size, self.evaluations = float(direction.abs().max()), 0

    def at(self, t):
        loss, gradient = self.evaluate(t)
        self.evaluations += 1
        return Point(t, loss, gradient, float(gradient.dot(self.direction)))

    def too_high(self, point):
        return point.loss > self.start.loss + self.C1 * point.t * self.start.slope

    def flat(self, point):
        return abs(point.slope) <= -self.C2 * self.start.slope

    def run(self, t):
        before, point, rounds = self.start, self.at(t), 0
        while rounds < self.most:
            if self.too_high(point) or (rounds > 1 and point.loss >= before.loss):
                return self.zoom(before, point, rounds)
            if self.flat(point):
                return point
            if point.slope >= 0:
                return self.zoom(before, point, rounds)
            t = between(before, point, point.t + 0.01 * (point.t - before.t), point.t * 10)
            before, point, rounds = point, self.at(t), rounds + 1
        return self.start if self.start.loss <= point.loss else point

    def zoom(self, a, b, rounds):
        """The best point between two that enclose one."""
        low, high = (a, b) if a.loss <= b.loss else (b, a)
        stuck = False
        while rounds < self.most and abs(high.t - low.t) * self.size >= self.tolerance:
            first, last = min(low.t, high.t), max(low.t, high.t)
            t, edge = between(low, high, first, last), 0.1 * (last - first)
            near_edge = min(last - t, t - first) < edge
            if near_edge and (stuck or t >= last or t <= first):
                t = last - edge if abs(t - last) < abs(t - first) else first + edge
                near_edge = False
            stuck = near_edge
            point, rounds = self.at(t), rounds + 1
            if self.too_high(point) or point.loss >= low.loss:
                high = point
                if high.loss < low.loss:
                    low, high = high, low
                continue
            if self.flat(point):
                return point
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
        return low
