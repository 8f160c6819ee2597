"""Loss scaling, under the names of torch.amp.

    scaler = cebus.amp.GradScaler()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

Parameters stay float32; a program casts what products read (`x.bfloat16() @ w.bfloat16()`), and
the gradient comes back through the cast. The host reads once a step whether the gradients are
finite; a C program does without (`cebus/amp.h`).
"""
import math

from ..grad_mode import no_grad

__all__ = ["GradScaler"]


class GradScaler:
    """Multiplies losses, so that small gradients survive float16, and leaves out the steps whose
    gradients are not finite."""

    def __init__(self, device="cpu", init_scale=2.0 ** 16, growth_factor=2.0, backoff_factor=0.5,
                 growth_interval=2000, enabled=True):
        if not growth_factor > 1.0:
            raise ValueError("the growth factor must be > 1.0")
        if not 0.0 < backoff_factor < 1.0:
            raise ValueError("the backoff factor must be < 1.0")
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._enabled = growth_interval, enabled
        self._found = {}  # by optimizer, since the last update: whether it is not finite
        self._stepped = set()
        self._unscaled = {}  # by optimizer: what was divided when that failed on its way

    def scale(self, outputs):
        """The loss, or each of several, times the scale; in float32 at least."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(each) for each in outputs)
        wide = outputs.float() if outputs.element_size() < 4 else outputs
        return wide * self._scale

    def unscale_(self, optimizer):
        """Divides the optimizer's gradients by the scale, in place: before they are clipped."""
        if not self._enabled:
            return
        if optimizer in self._stepped:
            raise RuntimeError("unscale_() is being called after step().")
        if optimizer in self._found:
            raise RuntimeError("unscale_() has already been called on this optimizer since the "
                               "last update().")
        with no_grad():
            grads = [p.grad for group in optimizer.param_groups for p in group["params"]
                     if p.grad is not None]
            if not grads:
                raise RuntimeError("the optimizer has no gradients: call backward() first")
            # Zero times what is not finite is a NaN, and so is any sum with it.
            total = sum((grad * 0.0).float().sum() for grad in grads)
            found, done = not math.isfinite(total.item()), self._unscaled.setdefault(optimizer, [])
            for grad in grads:
                # After a failure on the way those are left that were not divided then.
                if any(grad is each and grad._version == version for each, version in done):
                    continue
                grad.mul_(1.0 / self._scale)
                done.append((grad, grad._version))
        self._found[optimizer] = found
        del self._unscaled[optimizer]

    def step(self, optimizer, *args, **kwargs):
        """optimizer.step(), unless a gradient is not finite: then None."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if optimizer in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if optimizer not in self._found:
            self.unscale_(optimizer)
        out = None if self._found[optimizer] else optimizer.step(*args, **kwargs)
        self._stepped.add(optimizer)
        return out

    def update(self, new_scale=None):
        """The next scale: smaller after gradients that were not finite, larger after many that
        were; or `new_scale`."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not self._found:
            raise RuntimeError("no optimizer has stepped since the last update(): call step() "
                               "first")
        elif any(self._found.values()):
            self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
        else:
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale = grown if grown < 2.0 ** 128 else self._scale
                self._growth_tracker = 0
        self._found, self._stepped = {}, set()

    def get_scale(self):
        return self._scale if self._enabled else 1.0

    def is_enabled(self):
        return self._enabled

    def state_dict(self):
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth_factor,
                "backoff_factor": self._backoff_factor, "growth_interval": self._growth_interval,
                "_growth_tracker": self._growth_tracker}

    def load_state_dict(self, state_dict):
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("the state is empty: it was saved by a scaler that was not enabled")
        self._scale, self._growth_tracker = state_dict["scale"], state_dict["_growth_tracker"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
