"""Averages of models (Izmailov et al. 2018), under the names of torch.optim.swa_utils."""
import copy
import math

from .. import _core
from ..grad_mode import no_grad
from ..nn.module import Module
from .lr_scheduler import LRScheduler


class AveragedModel(Module):
    """The mean of a model's parameters over the calls of update_parameters(); or `avg_fn(averaged,
    new, how many before)`."""

    def __init__(self, model, device=None, avg_fn=None, use_buffers=False):
        super().__init__()
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", _core.zeros((), dtype=_core.int64))
        self.avg_fn = avg_fn or (lambda mean, new, n: mean + (new - mean) / (n + 1))
        self.use_buffers = use_buffers

    def forward(self, *arguments, **keywords):
        return self.module(*arguments, **keywords)

    def _tensors(self, model):
        yield from model.parameters()
        if self.use_buffers:
            yield from model.buffers()

    def update_parameters(self, model):
        """Takes in the model as it is now."""
        n = int(self.n_averaged)
        with no_grad():
            for mine, new in zip(self._tensors(self.module), self._tensors(model)):
                new = new.detach().to(mine.device)
                mine.detach().copy_(new if n == 0 else self.avg_fn(mine.detach(), new, n))
            self.n_averaged.add_(1)


def update_bn(loader, model, device=None):
    """The running statistics of a model's batch norms, made anew from data."""
    norms = [module for module in model.modules() if hasattr(module, "running_mean")
             and module.running_mean is not None]
    if not norms:
        return
    momenta, training = [module.momentum for module in norms], model.training
    for module in norms:
        module.running_mean.zero_()
        module.running_var.fill_(1)
        module.num_batches_tracked.zero_()
        module.momentum = None
    model.train()
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for module, momentum in zip(norms, momenta):
        module.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """From the rate there is to `swa_lr` in `anneal_epochs` steps, and there it stays."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError("anneal_strategy must by one of 'cos' or 'linear', instead got "
                             f"{anneal_strategy}")
        self.anneal_epochs, self.linear = anneal_epochs, anneal_strategy == "linear"
        rates = swa_lr if isinstance(swa_lr, (list, tuple)) else \
            [swa_lr] * len(optimizer.param_groups)
        for group, rate in zip(optimizer.param_groups, rates):
            group["swa_lr"] = rate
        self.begins = [group["lr"] for group in optimizer.param_groups]
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        share = min(1.0, self.last_epoch / self.anneal_epochs) if self.anneal_epochs else 1.0
        share = share if self.linear else (1 - math.cos(math.pi * share)) / 2
        return [begin + (group["swa_lr"] - begin) * share
                for begin, group in zip(self.begins, self.optimizer.param_groups)]
