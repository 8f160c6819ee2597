"""Tensors as text, laid out as PyTorch lays them out."""
import math

from . import _core

OPTIONS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None,
                     sci_mode=None):
    """Sets how tensors are printed: digits, when to leave out the middle, how wide."""
    if profile == "full":
        OPTIONS["threshold"] = math.inf
    elif profile in ("default", "short"):
        OPTIONS.update(precision=4 if profile == "default" else 2, threshold=1000, edgeitems=3,
                       linewidth=80)
    for name, value in (("precision", precision), ("threshold", threshold),
                        ("edgeitems", edgeitems), ("linewidth", linewidth)):
        if value is not None:
            OPTIONS[name] = value
    OPTIONS["sci_mode"] = sci_mode


class Format:
    """How the numbers of one tensor are written: all alike, and equally wide."""

    def __init__(self, numbers, floating):
        self.floating, self.whole, self.scientific = floating, True, False
        if floating:
            self._choose([abs(x) for x in numbers if math.isfinite(x) and x != 0])
        # As PyTorch, which lets zeros, NaN and the infinities stand out of line.
        shown = [x for x in numbers if math.isfinite(x) and x != 0] if floating else numbers
        self.width = max((len(self.text(x)) for x in shown), default=1)

    def _choose(self, sizes):
        if not sizes:
            return
        large, small = max(sizes), min(sizes)
        self.whole = all(x == math.floor(x) for x in sizes)
        if self.whole:
            self.scientific = large / small > 1000.0 or large > 1e8
        else:
            self.scientific = large / small > 1000.0 or large > 1e8 or small < 1e-4
        if OPTIONS["sci_mode"] is not None:
            self.scientific = OPTIONS["sci_mode"]

    def text(self, x):
        if not self.floating:
            return str(x)
        if self.scientific:
            return f"{x:.{OPTIONS['precision']}e}"
        if self.whole:
            return f"{x:.0f}." if math.isfinite(x) else str(x)
        return f"{x:.{OPTIONS['precision']}f}"

    def padded(self, x):
        return self.text(x).rjust(self.width)


def _cut(x, edge):
    """The corners of a large tensor, and for each dimension whether its middle is left out."""
    dots = []
    for dim, length in enumerate(x.shape):
        dots.append(length > 2 * edge)
        if dots[-1]:
            x = _core.cat([x.narrow(dim, 0, edge), x.narrow(dim, length - edge, edge)], dim)
    return x, dots


def _rows(data, form, indent, dots, edge):
    """The text of nested lists."""
    if not isinstance(data, list):
        return form.padded(data) if form.width else form.text(data)
    if not data or not isinstance(data[0], list):
        return _row(data, form, indent, dots[0], edge)
    parts = [_rows(each, form, indent + 1, dots[1:], edge) for each in data]
    if dots[0]:
        parts.insert(edge, "...")
    between = "," + "\n" * max(len(dots) - 1, 1) + " " * (indent + 1)
    return "[" + between.join(parts) + "]"


def _row(data, form, indent, dots, edge):
    parts = [form.padded(x) for x in data]
    if dots:
        parts.insert(edge, " ...")
    per_line = max(1, (OPTIONS["linewidth"] - indent) // (form.width + 2))
    lines = [", ".join(parts[i:i + per_line]) for i in range(0, len(parts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def body(x, indent):
    """The elements as text."""
    x, dots = x.detach(), [False] * x.ndim
    edge = OPTIONS["edgeitems"]
    if x.numel() > OPTIONS["threshold"]:
        x, dots = _cut(x, edge)
    if x.numel() == 0:
        return "[]"
    numbers = x.reshape(-1).tolist()
    form = Format(numbers, x.is_floating_point())
    if x.ndim == 0:
        form.width = 0
    return _rows(x.tolist(), form, indent, dots, edge)


def suffixes(x):
    """What is said behind the elements."""
    found = []
    if x.device != "cpu":
        found.append(f"device='{x.device}'")
    if x.numel() == 0 and x.ndim != 1:
        found.append(f"size={tuple(x.shape)}")
    usual = (_core.get_default_dtype(), _core.int64, _core.bool_)
    if x.dtype not in usual or (x.numel() == 0 and x.dtype is not usual[0]):
        found.append(f"dtype={x.dtype!r}")
    if x.requires_grad:
        found.append("requires_grad=True" if x.is_leaf else "grad_fn=<Backward>")
    return found


def html(runtime):
    """A runtime in a notebook: its memory as a bar."""
    from .recording import Picture
    return Picture(runtime)._repr_html_()


def printer(x):
    """repr() of a tensor."""
    prefix = "tensor("
    if str(x.device).startswith("sim:"):
        text = f"..., size={tuple(x.shape)}"  # a simulated machine has no numbers to show
    else:
        text = body(x, len(prefix))
    return prefix + ", ".join([text] + suffixes(x)) + ")"
