"""What the program wishes for the bytes of its tensors: the six values of PyTorch's checkpoint
policy. Wishes change what goes first and how it comes back, never a bit of any result, and no call
fails for want of memory because of one."""
import contextlib

from . import _core


class hint(_core._HintScope, contextlib.ContextDecorator):
    """In this block, or this function, what is made on this thread has a hint.

    "must_save": goes only when nothing else can; "prefer_save": counts as dearer than it is;
    "must_recompute": given up as soon as only the graph holds it, and made again for the backward;
    "prefer_recompute": counts as cheaper; "must_cpu_offload", "prefer_cpu_offload": among the first
    to go, to the host where there is swapping; None: the policy decides. Members of a
    CheckpointPolicy are taken, too. Blocks lie within each other, at most 64 deep.
    """


def attach():
    """Tensor.hint, to read and to set."""
    _core.extend("hint", property(_core._hint_of, _core._set_hint, doc="What the program wishes "
                                  "for its bytes, and those of all views of them; or None."))
