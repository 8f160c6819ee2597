"""One training step of any model on any device within any budget, and what it took."""
import time

from .. import _core, nn, optim
from ..creation import randint
from . import inception, sequences, swin, text, unet, vision


class Setup:
    """How a model is made and fed: make(), batch(n, model) and loss(model, *batch)."""

    def __init__(self, make, batch, loss=None, optimizer="sgd", size=8):
        self.make, self.batch, self.optimizer, self.size = make, batch, optimizer, size
        self.loss = loss or (lambda model, x, y: nn.functional.cross_entropy(model(x), y))


def images(side, classes=1000, channels=3):
    def batch(n):
        return _core.randn(n, channels, side, side), randint(classes, (n,))
    return batch


def masks(side, channels=3):
    def batch(n):
        return _core.randn(n, channels, side, side), (_core.randn(n, 1, side, side) > 0).float()
    return batch


def symbols(vocabulary, length, classes=None):
    def batch(n):
        x = randint(vocabulary, (n, length))
        return x, randint(vocabulary, (n, length)) if classes is None else randint(classes, (n,))
    return batch


def sentences(vocabulary, length):
    """For BERT: 15% of the symbols are masked."""
    def batch(n):
        masked = randint(n * length, (max(n * length * 15 // 100, 1),))
        return (randint(vocabulary, (n, length)), randint(2, (n, length)), masked,
                randint(vocabulary, masked.shape), randint(2, (n,)))
    return batch


def steps(length, width, classes=1000):
    def batch(n):
        return _core.randn(length, n, width), randint(classes, (n,))
    return batch


def trees(depth, inputs, classes=5):
    def batch(n):
        return sequences.complete_tree(depth, n, inputs), randint(classes, (n,))
    return batch


def _own(model, *batch):
    return model.loss(*batch)


def _pixels(model, x, y):
    return nn.functional.binary_cross_entropy_with_logits(model(x), y)


MODELS = {
    "mlp": Setup(vision.MLP, images(28, 10, 1), size=64),
    "lenet": Setup(vision.LeNet, images(28, 10, 1), size=64),
    "vgg16": Setup(vision.VGG, images(224)),
    "resnet18": Setup(vision.resnet18, images(64)),
    "resnet50": Setup(vision.resnet50, images(224)),
    "resnet152": Setup(vision.resnet152, images(224)),
    "wide_resnet152_10": Setup(vision.wide_resnet152, images(224)),
    "densenet121": Setup(vision.DenseNet, images(224)),
    "inceptionv3": Setup(inception.inceptionv3, images(299)),
    "inceptionv4": Setup(inception.inceptionv4, images(299)),
    "nasnet": Setup(inception.NASNet, images(331)),
    "nasnet25": Setup(lambda: inception.NASNet(depth=25), images(331)),
    "unet": Setup(unet.UNet, masks(224), _pixels, size=2),
    "tiny_unet": Setup(lambda: unet.UNet(1, 1, 8, 3), masks(32, 1), _pixels),
    "bert_base": Setup(text.BERT, sentences(30522, 512), _own, "adamw"),
    "bert_large": Setup(lambda: text.BERT(width=1024, depth=24, heads=16),
                        sentences(30522, 512), _own, "adamw"),
    "gpt2": Setup(text.GPT, symbols(50257, 1024), _own, "adamw"),
    "gpt3_style": Setup(lambda: text.GPT(length=2048, width=2048, depth=24, heads=16),
                        symbols(50257, 2048), _own, "adamw", 1),
    "char_gpt": Setup(lambda: text.GPT(64, 64, 96, 3, 4, 0.0), symbols(64, 64), _own, "adamw"),
    "swin_t": Setup(swin.Swin, images(224), optimizer="adamw"),
    "lstm": Setup(sequences.SequenceLSTM, symbols(64, 64, 10), optimizer="adamw"),
    "bilstm": Setup(lambda: sequences.SequenceLSTM(two_way=True), symbols(64, 64, 10),
                    optimizer="adamw"),
    "rnn_8_8k": Setup(sequences.Unrolled, steps(8, 8192), size=256),
    "brnn_4_8k": Setup(lambda: sequences.Unrolled(depth=4, two_way=True), steps(8, 8192),
                       size=128),
    "treelstm": Setup(sequences.TreeLSTM, trees(7, 300), optimizer="adamw"),
}


class on_device:
    """Tensors made in the block without a device are made on this one."""

    def __init__(self, device):
        self.device = device

    def __enter__(self):
        self.before = _core.runtime(None)
        _core.set_default_device(self.device)

    def __exit__(self, *exception):
        _core.set_default_device(self.before)


def create(name, device=None):
    """The model of a name, of its paper's size."""
    if name not in MODELS:
        raise ValueError(f"there is no model {name!r}: there are " + ", ".join(MODELS))
    with on_device(_core.runtime(device)):
        return MODELS[name].make()


def parameters(model):
    """How many numbers are learned."""
    return sum(p.numel() for p in model.parameters())


def bench(name, device="cpu", batch=None, budget=None, steps=2, policy=None):
    """Trains `steps` steps and answers the figures of the last: seconds of the device's clock
    (simulated machines) or of the wall, peak bytes, evictions, recomputes, and the loss."""
    where = _core.runtime(device)
    setup, before = MODELS.get(name), (where.budget, where.policy)
    try:
        if budget is not None:
            where.budget = budget
        if policy is not None:
            where.policy = policy
        with on_device(where):
            model = create(name, where)
            kind = optim.SGD if setup.optimizer == "sgd" else optim.AdamW
            options = {"momentum": 0.9} if setup.optimizer == "sgd" else {}
            optimizer = kind(model.parameters(), lr=1e-3, **options)
            data = setup.batch(batch or setup.size)
            for _ in range(steps):
                figures = _step(where, model, setup, optimizer, data)
        return dict(figures, model=name, device=str(where.device), budget=where.budget,
                    batch=batch or setup.size, policy=where.policy, parameters=parameters(model))
    finally:
        model = optimizer = data = None
        where.policy = before[1]
        where.budget = before[0]


def _step(where, model, setup, optimizer, data):
    """One step and its figures."""
    where.synchronize()
    _core.reset_peak_memory_stats(where)
    first, start = _core.counters(where), time.perf_counter()
    optimizer.zero_grad()
    loss = setup.loss(model, *data)
    loss.backward()
    optimizer.step()
    value = loss.item()
    where.mark()
    where.synchronize()
    wall, last = time.perf_counter() - start, _core.counters(where)
    simulated = str(where.device).startswith("sim:")
    device_ns = last["device_ns"] - first["device_ns"]
    return {"seconds": device_ns * 1e-9 if simulated else wall, "wall_seconds": wall,
            "peak_bytes": last["allocated_bytes_peak"], "loss": value,
            **{key: last[key] - first[key] for key in
               ("calls", "evictions", "recomputes", "recompute_ns", "swap_ins", "swap_outs")}}
