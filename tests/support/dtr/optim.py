"""Updates for the recorder: parameters and what an optimizer remembers are written in place."""


class Momentum:
    """Gradient descent that remembers; its buffers are constants like the parameters."""

    def __init__(self, params):
        self.rec = params.rec
        self.leaves = [p for p in params.all if p.leaf]
        self.speeds = [self.rec.parameter(*p.shape, leaf=False) for p in self.leaves]

    def step(self):
        """Writes parameters and buffers, and lets go of the gradients."""
        for leaf, speed in zip(self.leaves, self.speeds):
            if leaf.grad is not None:
                self.rec.mutate("mul_", [speed, self.rec.scalar()])
                self.rec.mutate("add_", [speed, leaf.grad])
                self.rec.mutate("add_", [leaf, speed])
                leaf.grad = None


def descend(params):
    """One step of plain gradient descent."""
    for leaf in params.all:
        if leaf.grad is not None:
            params.rec.mutate("add_", [leaf, leaf.grad])
            leaf.grad = None


def detach(x):
    """The same value, out of the graph."""
    return x.rec.copy(x)
