"""Random programs of a few lines, as both libraries run them: leaves, views, writes, backwards.

What PyTorch leaves open, or cebus does otherwise by intent (bindings/python/README.md), is not
among the lines: reads of what was overwritten past the graph, repeated elements, gradients of
zero_(). Nor is flip(), which saves the order here."""
import random

import numpy

OF_NUMBERS = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "{a} * 2.0", "3 - {a}",
              "{a}.exp()", "{a}.relu()", "{a}.sigmoid()", "{a}.tanh()", "-{a}", "{a}.abs()",
              "{a} ** 2", "{a}.sum()", "{a}.mean()", "{a}.clone()", "{a}.detach()", "{a}.max()",
              "torch.where({a} > 1, {a}, {b})", "{a}.double().float()", "{a}.contiguous()",
              "{a}.cumsum(0)", "{a}.softmax(0)", "torch.stack([{a}, {b}], 0)", "{a}.reshape(-1)",
              "{a}.unsqueeze(0)", "{a}[None]", "{a}.squeeze()")
MAPS = OF_NUMBERS + (
    "{a}.sum(0, keepdim=True)", "torch.cat([{a}, {b}], 0)", "{a}[{a} > 1]",
    "{a}.index_select(0, torch.tensor([0, 0]))", "{a}.unfold(0, 2, 1).sum(-1)",
    "{a}.unfold(-1, 2, 1) * 2")
VIEWS = ("{a}.transpose(0, -1)", "{a}[..., 0]", "{a}[0]", "{a}[1:]", "{a}[::2]",
         "{a}.view({a}.shape)",
         "{a}.narrow(0, 0, 1)", "{a}.view_as({b})", "{a}.flatten()",
         "{a}.unfold(0, 1, 1)", "{a}.unfold(-1, 2, 2)")
WRITES = ("{a}.add_({b})", "{a}.mul_(2)", "{a}.mul_({b})", "{a} += {b}", "{a} *= 0.5",
          "{a}.relu_()", "{a}[0] = {b}[0]",
          "{a}[..., 0] += 1", "{a}[0].mul_(2)",
          "{a}.neg_()")
BACKWARDS = ("{y}.sum().backward()", "{y}.backward(torch.ones_like({y}))", "{y}.mean().backward()",
             "{y}.backward(torch.ones_like({y}), retain_graph=True)",
             "({y} * {y}).sum().backward()",
             "{n} = torch.autograd.grad({y}.sum(), [{x}], allow_unused=True)[0]")
OTHERS = ("{y}.requires_grad_()", "{x}.grad = None", "{n} = {x}.grad", "{x}.grad.zero_()",
          "{n} = {x}.grad", "{x}.grad = {x}.detach().clone()",
          "{y}.requires_grad_(False)")


class Program:
    """Writes one line after the other, by what the lines before made."""

    def __init__(self, seed):
        self.random, self.lines = random.Random(seed), []

    def next(self, names):
        """A line for a namespace."""
        tensors = {name: x for name, x in names.items()
                   if name[0] == "v" and hasattr(x, "detach")}
        line = self.leaf() if len(tensors) < 3 else self.choose(tensors)
        self.lines.append(line)
        return line

    def leaf(self):
        shape = self.random.choice([(3,), (2, 3), (2, 3), (3, 2), (2, 2, 3), (1, 3)])
        values = numpy.round(numpy.random.RandomState(len(self.lines)).uniform(0.5, 2, shape), 2)
        mark = ".requires_grad_()" if self.random.random() < 0.7 else ""
        return f"v{len(self.lines)} = torch.tensor({values.tolist()}){mark}"

    def choose(self, tensors):
        pick, new = self.random.choice, f"v{len(self.lines)}"
        a = pick(sorted(tensors))
        b = pick([name for name in sorted(tensors) if tensors[name].shape == tensors[a].shape])
        wanted = [name for name in sorted(tensors) if tensors[name].requires_grad]
        leaves = [name for name in wanted if tensors[name].is_leaf]
        inner = [name for name in wanted if name not in leaves]
        kind = self.random.random()
        if kind < 0.06:
            return self.leaf()
        if kind < 0.55 or not leaves:
            line = f"{new} = " + pick(MAPS + VIEWS if tensors[a].ndim else OF_NUMBERS)
        elif kind < 0.7:
            line = pick(("", "", "with torch.no_grad(): ")) + pick(WRITES)
        else:
            line = pick(BACKWARDS + BACKWARDS + OTHERS)
        return line.format(a=a, b=b, n=new, x=pick(leaves or wanted or [a]),
                           y=pick(inner or wanted or [a]))
