"""The modules under the names of torch.nn.modules and of its parts."""
import sys
import types

from ... import missing, nn
from ..module import Module  # noqa: F401

PARTS = ("activation adaptive batchnorm container conv distance dropout flatten fold instancenorm "
         "lazy linear loss module normalization padding pixelshuffle pooling rnn sparse "
         "transformer upsampling utils").split()


def __dir__():
    return sorted({*globals(), *dir(nn)})


def __getattr__(name):
    if not name.startswith("__") and name in nn.__dict__:
        return nn.__dict__[name]
    raise missing.explain("cebus.nn.modules", name, __dir__())


class _Part(types.ModuleType):
    """torch.nn.modules.conv and its like: every module is in each."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = {"_Loss": Module, "_WeightedLoss": Module, "_ConvNd": nn.layers._Conv,
                 "_BatchNorm": nn.layers._BatchNorm, "_InstanceNorm": nn.layers._InstanceNorm}
        return found[name] if name in found else getattr(nn.modules, name)


for _name in PARTS:
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _Part(f"{__name__}.{_name}")
