"""Layers, losses, optimizers and schedules against PyTorch on the CPU."""
import numpy
import pytest

import cebus

torch = pytest.importorskip("torch", reason="PyTorch is not installed (python3-torch)")
torch.set_num_threads(1)


def close(ours, theirs, tolerance=1e-5):
    a, b = ours.detach().numpy(), theirs.detach().numpy()
    assert a.shape == b.shape
    size = max(float(numpy.abs(b).max(initial=0.0)), 1e-3)
    numpy.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * size)


def of_torch(make, lib=torch.nn):
    """Debian's PyTorch, 1.13, lacks some layers of later ones."""
    try:
        return make(lib)
    except AttributeError as error:
        pytest.skip(f"PyTorch {torch.__version__}: {error}")


def first(result):
    """The tensors of a result, in order."""
    if hasattr(result, "shape"):
        return [result]
    return [x for each in result if each is not None for x in first(each)]


def arrays(*shapes, seed=0):
    rng = numpy.random.RandomState(seed)
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


def compare(ours, theirs, inputs, tolerance=2e-5, call=lambda module, *x: module(*x)):
    """Two modules with the same state: results, gradients of inputs and parameters, buffers."""
    ours.load_state_dict({name: cebus.tensor(value.numpy().copy())
                          for name, value in theirs.state_dict().items()})
    mine = [cebus.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    other = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    a, b = first(call(ours, *mine)), first(call(theirs, *other))
    assert len(a) == len(b)
    for i, (x, y) in enumerate(zip(a, b)):
        close(x, y, tolerance)
        (seed,) = arrays(tuple(y.shape), seed=i + 1)
        if y.requires_grad:
            x.backward(cebus.tensor(seed).reshape(x.shape), retain_graph=True)
            y.backward(torch.tensor(seed).reshape(y.shape), retain_graph=True)
    for x, y in zip(mine, other):
        if y.grad is not None:
            close(x.grad, y.grad, 4 * tolerance)
    theirs_named = dict(theirs.named_parameters())
    for name, x in ours.named_parameters():
        if theirs_named[name].grad is not None:
            close(x.grad, theirs_named[name].grad, 4 * tolerance)
    for (name, x), y in zip(ours.named_buffers(), theirs.buffers()):
        close(x, y, tolerance)


IMAGE, SEQUENCE = (2, 4, 9, 8), (5, 3, 6)

LAYERS = {
    "linear": (lambda nn: nn.Linear(6, 7), [SEQUENCE]),
    "linear-no-bias": (lambda nn: nn.Linear(6, 7, bias=False), [(6,)]),
    "bilinear": (lambda nn: nn.Bilinear(6, 4, 3), [(5, 6), (5, 4)]),
    "conv": (lambda nn: nn.Conv2d(4, 6, 3), [IMAGE]),
    "conv-options": (lambda nn: nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 2),
                                          dilation=(1, 2), groups=2, bias=False), [IMAGE]),
    "conv-same": (lambda nn: nn.Conv2d(4, 6, 4, padding="same"), [IMAGE]),
    "conv-reflect": (lambda nn: nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), [IMAGE]),
    "conv-depthwise": (lambda nn: nn.Conv2d(4, 4, 3, groups=4, padding=1), [IMAGE]),
    "conv1d": (lambda nn: nn.Conv1d(4, 5, 3, stride=2, padding=1), [(2, 4, 11)]),
    "conv-transpose": (lambda nn: nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1,
                                                     output_padding=1), [IMAGE]),
    "conv-transpose1d": (lambda nn: nn.ConvTranspose1d(4, 3, 4, stride=2), [(2, 4, 5)]),
    "batch-norm": (lambda nn: nn.BatchNorm2d(4), [IMAGE]),
    "batch-norm-1d": (lambda nn: nn.BatchNorm1d(6, momentum=0.3, eps=1e-3), [(7, 6)]),
    "batch-norm-eval": (lambda nn: nn.BatchNorm2d(4).eval(), [IMAGE]),
    "batch-norm-plain": (lambda nn: nn.BatchNorm2d(4, affine=False, track_running_stats=False),
                         [IMAGE]),
    "layer-norm": (lambda nn: nn.LayerNorm((3, 6)), [SEQUENCE]),
    "group-norm": (lambda nn: nn.GroupNorm(2, 4), [IMAGE]),
    "instance-norm": (lambda nn: nn.InstanceNorm2d(4), [IMAGE]),
    "local-response": (lambda nn: nn.LocalResponseNorm(3), [IMAGE]),
    "prelu": (lambda nn: nn.PReLU(4), [IMAGE]),
    "max-pool": (lambda nn: nn.MaxPool2d(3, stride=2, padding=1, ceil_mode=True), [IMAGE]),
    "max-pool1d": (lambda nn: nn.MaxPool1d(2), [(2, 4, 9)]),
    "avg-pool": (lambda nn: nn.AvgPool2d(3, 2, 1, count_include_pad=False), [IMAGE]),
    "avg-pool1d": (lambda nn: nn.AvgPool1d(3, 2), [(2, 4, 9)]),
    "adaptive-avg": (lambda nn: nn.AdaptiveAvgPool2d((4, 3)), [IMAGE]),
    "adaptive-max": (lambda nn: nn.AdaptiveMaxPool2d((4, 3)), [IMAGE]),
    "upsample": (lambda nn: nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                 [IMAGE]),
    "upsample-size": (lambda nn: nn.Upsample(size=(5, 13)), [IMAGE]),
    "pixel-shuffle": (lambda nn: nn.PixelShuffle(2), [IMAGE]),
    "flatten": (lambda nn: nn.Flatten(), [IMAGE]),
    "unfold": (lambda nn: nn.Unfold(3, padding=1, stride=2), [IMAGE]),
    "reflection-pad": (lambda nn: nn.ReflectionPad2d((1, 2, 3, 0)), [IMAGE]),
    "replication-pad": (lambda nn: nn.ReplicationPad2d(2), [IMAGE]),
    "circular-pad": (lambda nn: nn.CircularPad2d((1, 2, 3, 0)), [IMAGE]),
    "circular-pad1d": (lambda nn: nn.CircularPad1d(2), [(4, 9)]),
    "circular-pad3d": (lambda nn: nn.CircularPad3d(1), [(2, 3, 4, 5, 6)]),
    "zero-pad1d": (lambda nn: nn.ZeroPad1d((1, 2)), [(4, 9)]),
    "zero-pad3d": (lambda nn: nn.ZeroPad3d(1), [(2, 3, 4, 5, 6)]),
    "zero-pad": (lambda nn: nn.ZeroPad2d((1, -2, 0, 3)), [IMAGE]),
    "softmax": (lambda nn: nn.Softmax(dim=1), [SEQUENCE]),
    "softmax-2d": (lambda nn: nn.Softmax2d(), [IMAGE]),
    "dropout-eval": (lambda nn: nn.Dropout(0.5).eval(), [SEQUENCE]),
    "sequential": (lambda nn: nn.Sequential(
        nn.Conv2d(4, 3, 3, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(3, 2)), [IMAGE]),
    "lstm": (lambda nn: nn.LSTM(6, 4), [SEQUENCE]),
    "lstm-deep": (lambda nn: nn.LSTM(6, 4, 2, bidirectional=True, batch_first=True), [SEQUENCE]),
    "lstm-projected": (lambda nn: nn.LSTM(6, 4, 2, bidirectional=True, proj_size=3), [SEQUENCE]),
    "lstm-projected-first": (lambda nn: nn.LSTM(6, 4, bias=False, batch_first=True, proj_size=2),
                             [SEQUENCE]),
    "lstm-projected-one": (lambda nn: nn.LSTM(6, 4, proj_size=2), [(5, 6)]),
    "gru": (lambda nn: nn.GRU(6, 4, 2, bias=False), [SEQUENCE]),
    "rnn": (lambda nn: nn.RNN(6, 4, 2, bidirectional=True), [SEQUENCE]),
    "rnn-relu": (lambda nn: nn.RNN(6, 4, nonlinearity="relu", batch_first=True), [SEQUENCE]),
    "lstm-one": (lambda nn: nn.LSTM(6, 4), [(5, 6)]),
    "lstm-cell": (lambda nn: nn.LSTMCell(6, 4), [(3, 6)]),
    "gru-cell": (lambda nn: nn.GRUCell(6, 4), [(3, 6), (3, 4)]),
    "rnn-cell": (lambda nn: nn.RNNCell(6, 4), [(3, 6)]),
    "encoder": (lambda nn: nn.TransformerEncoder(nn.TransformerEncoderLayer(
        8, 2, 16, dropout=0.0, activation="gelu"), 2), [(5, 3, 8)]),
    "encoder-first": (lambda nn: nn.TransformerEncoderLayer(
        8, 2, 16, dropout=0.0, batch_first=True, norm_first=True), [(3, 5, 8)]),
    "decoder": (lambda nn: nn.TransformerDecoderLayer(8, 2, 16, dropout=0.0),
                [(5, 3, 8), (4, 3, 8)]),
    "transformer": (lambda nn: nn.Transformer(8, 2, 1, 1, 16, dropout=0.0),
                    [(5, 3, 8), (4, 3, 8)]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, shapes = LAYERS[name]
    compare(make(cebus.nn), of_torch(make), arrays(*shapes))


ACTIVATIONS = ["ReLU", "ReLU6", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Sigmoid", "Tanh",
               "Softplus", "Softsign", "LogSigmoid", "Tanhshrink", "Hardtanh", "Hardsigmoid",
               "Hardswish", "Mish", "GLU"]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    compare(getattr(cebus.nn, name)(), getattr(torch.nn, name)(), arrays((3, 8)))


def test_gelu_by_tanh():
    compare(cebus.nn.GELU(approximate="tanh"), torch.nn.GELU(approximate="tanh"), arrays((3, 8)))


@pytest.mark.parametrize("options", [{}, {"need_weights": False}, {"average_attn_weights": False}],
                         ids=str)
def test_attention_with_masks(options):
    def call(module, q, k, v):
        lib = cebus if isinstance(q, cebus.Tensor) else torch
        later = lib.ones(5, 4).triu(1) > 0
        hidden = lib.tensor([[False] * 4, [False, False, False, True], [False] * 4])
        return module(q, k, v, key_padding_mask=hidden, attn_mask=later, **options)
    for more in ({}, {"add_bias_kv": True}, {"add_zero_attn": True},
                 {"add_bias_kv": True, "add_zero_attn": True, "bias": False}):
        compare(cebus.nn.MultiheadAttention(8, 2, **more),
                torch.nn.MultiheadAttention(8, 2, **more),
                arrays((5, 3, 8), (4, 3, 8), (4, 3, 8)), call=call)
    compare(cebus.nn.MultiheadAttention(8, 2, kdim=6, vdim=5),
            torch.nn.MultiheadAttention(8, 2, kdim=6, vdim=5),
            arrays((5, 3, 8), (4, 3, 6), (4, 3, 5)), call=call)


LOSSES = {
    "mse": "MSELoss", "l1": "L1Loss", "smooth": "SmoothL1Loss", "huber": "HuberLoss",
    "bce": "BCELoss", "logits": "BCEWithLogitsLoss", "kl": "KLDivLoss",
}


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, reduction):
    x, target = arrays((6, 5), (6, 5))
    target = 1 / (1 + numpy.exp(-target))
    x = 1 / (1 + numpy.exp(-x)) if name == "bce" else x
    make = [getattr(lib.nn, LOSSES[name])(reduction=reduction) for lib in (cebus, torch)]
    compare(*make, [x, target])


@pytest.mark.parametrize("options", [{}, {"reduction": "sum"}, {"reduction": "none"},
                                     {"ignore_index": 2}, {"label_smoothing": 0.1}], ids=str)
@pytest.mark.parametrize("shape", [(6, 5), (5,), (2, 5, 3, 2)], ids=str)
def test_cross_entropy(shape, options):
    classes = shape[0] if len(shape) == 1 else shape[1]
    rest = () if len(shape) == 1 else (shape[0],) + shape[2:]
    target = numpy.asarray(numpy.random.RandomState(0).randint(0, classes, rest), "int64")
    (x,) = arrays(shape)
    compare(cebus.nn.CrossEntropyLoss(**options), torch.nn.CrossEntropyLoss(**options),
            [x, target])
    if not options:
        weight = numpy.linspace(0.5, 2, classes).astype("float32")
        for name in ("CrossEntropyLoss", "NLLLoss"):
            compare(getattr(cebus.nn, name)(weight=cebus.tensor(weight)),
                    getattr(torch.nn, name)(weight=torch.tensor(weight)), [x, target])


OPTIMIZERS = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd-momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    "sgd-nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": ("Adam", {"lr": 0.05, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    "adamw": ("AdamW", {"lr": 0.05}),
    "rmsprop": ("RMSprop", {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.1}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    "zero": ("Adam", {"lr": 0.0}),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    kind, options = OPTIMIZERS[name]
    start, slope = arrays((4, 3), (4, 3))
    ours = cebus.nn.Parameter(cebus.tensor(start))
    theirs = torch.nn.Parameter(torch.tensor(start))
    a, b = getattr(cebus.optim, kind)([ours], **options), getattr(torch.optim, kind)([theirs],
                                                                                     **options)
    for _ in range(6):
        for lib, p, opt in ((cebus, ours, a), (torch, theirs, b)):
            opt.zero_grad()
            ((p * lib.tensor(slope)).sum() + (p * p).sum()).backward()
            opt.step()
        close(ours, theirs)


SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda t: 0.9 ** t),
    "step": lambda s, o: s.StepLR(o, 3, 0.5), "multi": lambda s, o: s.MultiStepLR(o, [2, 5], 0.1),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9), "linear": lambda s, o: s.LinearLR(o, 0.2),
    "constant": lambda s, o: s.ConstantLR(o), "polynomial": lambda s, o: s.PolynomialLR(o, 5, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 7, 0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2),
    "cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=12, cycle_momentum=False),
    "sequential": lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1, total_iters=3),
                                                  s.ExponentialLR(o, 0.8)], [4]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name):
    rates = []
    for lib in (cebus, torch):
        optimizer = lib.optim.SGD([lib.nn.Parameter(lib.zeros(2))], lr=0.4)
        schedule = SCHEDULES[name](lib.optim.lr_scheduler, optimizer)
        found = []
        for _ in range(10):
            found.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        rates.append(found)
    assert rates[0] == pytest.approx(rates[1], rel=1e-9)


def test_plateau():
    rates = []
    for lib in (cebus, torch):
        optimizer = lib.optim.SGD([lib.nn.Parameter(lib.zeros(2))], lr=0.4)
        schedule = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
        found = []
        for figure in [5, 4, 4, 4, 4, 3, 3, 3, 3, 3]:
            schedule.step(figure)
            found.append(optimizer.param_groups[0]["lr"])
        rates.append(found)
    assert rates[0] == rates[1]


@pytest.mark.parametrize("targets", [[0, 4, 5, 29, 49, 12, 3], [1, 2, 0], [30, 31], 31], ids=str)
def test_adaptive_softmax(targets):
    def make(lib):
        return lib.nn.AdaptiveLogSoftmaxWithLoss(16, 50, [5, 20, 30], 2.0, head_bias=True)

    def call(module, x):
        lib = cebus if isinstance(x, cebus.Tensor) else torch
        rows = x if x.ndim == 2 else x.unsqueeze(0)
        assert module.predict(rows).tolist() == module.log_prob(rows).argmax(1).tolist()
        return *module(x, lib.tensor(targets)), module.log_prob(rows)

    shape = (16,) if isinstance(targets, int) else (len(targets), 16)
    compare(make(cebus), make(torch), arrays(shape), call=call)


@pytest.mark.parametrize("proj_size", [0, 3])
def test_packed_sequences(proj_size):
    theirs, ours = [lib.nn.LSTM(6, 4, 2, bidirectional=True, proj_size=proj_size)
                    for lib in (torch, cebus)]
    ours.load_state_dict({name: cebus.tensor(value.numpy())
                          for name, value in theirs.state_dict().items()})
    (x,) = arrays((7, 4, 6))
    lengths = [3, 7, 1, 3]
    outs = []
    for lib, module in ((cebus, ours), (torch, theirs)):
        rnn = lib.nn.utils.rnn
        packed = rnn.pack_padded_sequence(lib.tensor(x), lib.tensor(lengths), enforce_sorted=False)
        out, (h, c) = module(packed)
        padded, found = rnn.pad_packed_sequence(out)
        assert found.tolist() == lengths
        outs.append((padded, h, c, packed.data))
    for a, b in zip(*outs):
        close(a, b)


def test_gradient_clipping():
    start, slope = arrays((4, 3), (4, 3))
    grads = []
    for lib in (cebus, torch):
        p = lib.nn.Parameter(lib.tensor(start))
        (p * lib.tensor(slope)).sum().backward()
        norm = lib.nn.utils.clip_grad_norm_([p], 0.5)
        grads.append((float(norm), p.grad))
    assert grads[0][0] == pytest.approx(grads[1][0], rel=1e-6)
    close(grads[0][1], grads[1][1])


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_parametrizations(name):
    """As PyTorch's; buffers that eval() leaves alone are PyTorch's, too."""
    def make(lib):
        layer = lib.nn.Conv2d(4, 6, 3)
        return getattr(lib.nn.utils.parametrizations, name)(layer).eval()
    compare(make(cebus), of_torch(make, torch), arrays(IMAGE))
