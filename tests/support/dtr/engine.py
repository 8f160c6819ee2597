"""Walks the graph of a recorded forward pass backward, as PyTorch's engine of 2020 did.

Nodes run in reverse order of their creation once all their gradients have arrived; gradients of
one place are summed as they arrive; leaves come first; a node lets go of everything it saved as
soon as it has run, unless the backward pass is itself to be differentiated.
"""
import heapq

from recorder import Out, Tensor


def key(link):
    return (id(link[0]), link[1]) if link is not None else None


def slots(node):
    return 1 if isinstance(node, Tensor) else node.slots


def edges(node):
    """Where its results go; a leaf is where the graph ends."""
    return [] if isinstance(node, Tensor) else [e for e in node.edges if e is not None]


class Backward:
    """One run. With targets only the nodes on the way to them run, and leaves keep no gradient."""

    def __init__(self, rec, targets, keep_graph):
        self.rec = rec
        self.keep_graph = keep_graph
        self.targets = {key(t.link): i for i, t in enumerate(targets)}
        self.found = [None] * len(targets)
        self.waits = {}
        self.wanted = {}
        self.buffers = {}
        self.ready = []
        self.arrivals = 0

    def survey(self, root):
        """How many gradients each node waits for, and which nodes matter."""
        stack, nodes = [root], {id(root): root}
        while stack:
            for where, _ in edges(stack.pop()):
                self.waits[id(where)] = self.waits.get(id(where), 0) + 1
                if id(where) not in nodes:
                    nodes[id(where)] = where
                    stack.append(where)
        for node in sorted(nodes.values(), key=lambda n: getattr(n, "order", 0)):
            hit = not self.targets or any((id(node), i) in self.targets for i in range(slots(node)))
            self.wanted[id(node)] = hit or any(self.wanted[id(e[0])] for e in edges(node))

    def deliver(self, link, grad):
        """A gradient arrives: the second of one place is added to the first."""
        node, slot = link
        buffer = self.buffers.setdefault(id(node), [None] * slots(node))
        if grad is not None:
            old, buffer[slot] = buffer[slot], None
            buffer[slot] = grad if old is None else plus(self.rec, old, grad)
        self.waits[id(node)] -= 1
        if self.waits[id(node)] == 0:
            self.arrivals += 1
            rank = (0, self.arrivals) if isinstance(node, Tensor) else (1, -node.order)
            heapq.heappush(self.ready, (rank, node))

    def results(self, node, grads):
        on_the_way = any(self.wanted[id(where)] for where, _ in edges(node))
        if on_the_way and any(g is not None for g in grads):
            return node.run(self.rec, grads)
        return [None] * len(node.edges)

    def step(self, node):
        grads = self.buffers.pop(id(node))
        for slot, grad in enumerate(grads):
            if (id(node), slot) in self.targets:
                self.found[self.targets[id(node), slot]] = grad
        if isinstance(node, Tensor):
            if not self.targets and grads[0] is not None:
                accumulate(self.rec, node, grads[0])
            return
        results = self.results(node, grads)
        grads.clear()
        if not self.keep_graph:
            node.forget()
        for i, link in enumerate(node.edges):
            grad, results[i] = results[i], None
            if link is not None:
                self.deliver(link, grad)

    def run(self, link, seed):
        self.survey(link[0])
        self.waits[id(link[0])] = 1
        self.deliver(link, seed)
        del seed
        while self.ready:
            self.step(heapq.heappop(self.ready)[-1])
        return self.found


def plus(rec, a, b):
    """Adds gradients out of place, as sums that someone may still differentiate."""
    out, = rec.call("add", [a, b], [Out(a.shape)])
    rec.track([a, b], [out], lambda g: [g, g])
    return out


def accumulate(rec, leaf, grad):
    """The gradient of a parameter: kept when it is the first, added in place otherwise."""
    if leaf.grad is None:
        leaf.grad = rec.copy(grad)
    else:
        rec.mutate("add_", [leaf.grad, grad])


def backward(loss, targets=(), create_graph=False):
    """Gradients of `loss`: of `targets`, returned, or else of all leaves, left in leaf.grad."""
    rec = loss.rec
    seed = rec.call("ones_like", [loss], [Out(loss.shape)])
    was, rec.grad_on = rec.grad_on, create_graph
    try:
        return Backward(rec, targets, create_graph).run(loss.link, seed.pop())
    finally:
        rec.grad_on = was
