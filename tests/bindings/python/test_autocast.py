"""cebus.autocast: what reads 16 bits, what float32, and where it holds."""
import threading
import warnings

import numpy
import pytest

import cebus
from cebus import nn
from cebus.nn import functional as F


def x(*shape):
    return cebus.randn(*(shape or (4, 4)))


LOWER = {
    "matmul": lambda: x() @ x(), "mm": lambda: x().mm(x()),
    "bmm": lambda: x(2, 3, 4).bmm(x(2, 4, 3)),
    "mv": lambda: x().mv(x(4)), "addmm": lambda: cebus.addmm(x(), x(), x()),
    "einsum": lambda: cebus.einsum("ij,jk->ik", x(), x()),
    "linear": lambda: F.linear(x(), x(), x(4)),
    "conv1d": lambda: F.conv1d(x(1, 2, 8), x(3, 2, 3), x(3)),
    "conv2d": lambda: F.conv2d(x(1, 2, 8, 8), x(3, 2, 3, 3), x(3)),
    "conv3d": lambda: F.conv3d(x(1, 2, 5, 5, 5), x(3, 2, 3, 3, 3)),
    "conv_transpose2d": lambda: F.conv_transpose2d(x(1, 2, 4, 4), x(2, 3, 2, 2), x(3)),
    "attention": lambda: F.scaled_dot_product_attention(x(1, 2, 4, 4), x(1, 2, 4, 4), x(1, 2, 4, 4),
                                                        attn_mask=x(4, 4)),
    "chain_matmul": lambda: cebus.chain_matmul(x(), x(), x()),
}
WIDER = {
    "exp": lambda n: n.exp(), "log": lambda n: n.abs().log(), "pow": lambda n: n ** 2.0,
    "rsqrt": lambda n: n.abs().rsqrt(), "reciprocal": lambda n: n.reciprocal(),
    "sum": lambda n: n.sum(), "prod": lambda n: n.prod(), "cumsum": lambda n: n.cumsum(0),
    "norm": lambda n: n.norm(), "softmax": lambda n: n.softmax(-1),
    "log_softmax": lambda n: n.log_softmax(-1), "layer_norm": lambda n: F.layer_norm(n, (4,)),
    "group_norm": lambda n: F.group_norm(n, 2), "mse": lambda n: F.mse_loss(n, n),
    "cross_entropy": lambda n: F.cross_entropy(n, cebus.tensor([0, 1, 2, 3])),
    "l1": lambda n: F.l1_loss(n, n), "smooth_l1": lambda n: F.smooth_l1_loss(n, n),
    "bce": lambda n: F.binary_cross_entropy_with_logits(n, n.sigmoid()),
    "cdist": lambda n: cebus.cdist(n, n),
}
SAME = {"relu": lambda n: n.relu(), "add": lambda n: n + n, "gelu": lambda n: F.gelu(n),
        "tanh": lambda n: n.tanh(), "max_pool": lambda n: F.max_pool2d(n[None, None], 2),
        "cat": lambda n: cebus.cat([n, n]), "batch_norm": lambda n: nn.BatchNorm1d(4)(n),
        "dropout": lambda n: F.dropout(n, 0.5)}


@pytest.mark.parametrize("kind", [cebus.bfloat16, cebus.float16], ids=str)
@pytest.mark.parametrize("name", LOWER)
def test_products_read_16_bits(name, kind):
    assert LOWER[name]().dtype == cebus.float32
    with cebus.autocast("cpu", dtype=kind):
        assert LOWER[name]().dtype == kind


@pytest.mark.parametrize("name", [*WIDER, *SAME])
def test_what_needs_digits_reads_float32(name):
    narrow = cebus.randn(4, 4).bfloat16()
    with cebus.autocast("cpu"):
        found = (WIDER.get(name) or SAME[name])(narrow)
    assert found.dtype == (cebus.float32 if name in WIDER else cebus.bfloat16)


def test_types_that_meet_and_those_that_stay():
    with cebus.autocast("cpu"):
        assert cebus.cat([x().bfloat16(), x()]).dtype == cebus.float32
        assert (x().bfloat16() + x()).dtype == cebus.float32
        assert (x().double() @ x().double()).dtype == cebus.float64


def test_blocks_lie_within_each_other():
    product = lambda: (x() @ x()).dtype  # noqa: E731
    with cebus.autocast("cpu"):
        assert cebus.is_autocast_cpu_enabled() and not cebus.is_autocast_enabled()
        with cebus.autocast("cpu", enabled=False):
            assert product() == cebus.float32
        with cebus.autocast("cpu", dtype=cebus.float16):
            assert product() == cebus.float16
            assert cebus.get_autocast_cpu_dtype() == cebus.float16
        assert product() == cebus.bfloat16
        with pytest.raises(KeyError):
            with cebus.autocast("cpu", dtype=cebus.float16):
                raise KeyError
        assert product() == cebus.bfloat16
    assert product() == cebus.float32 and not cebus.is_autocast_cpu_enabled()

    @cebus.autocast("cpu")
    def decorated():
        return product()
    assert decorated() == cebus.bfloat16 and decorated.__name__ == "decorated"
    with cebus.cuda.amp.autocast():  # of another device
        assert product() == cebus.float32


def test_a_block_holds_for_its_thread_and_device():
    seen = []
    with cebus.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((x() @ x()).dtype))
        thread.start()
        thread.join()
    assert seen == [cebus.float32]
    far = cebus.randn(4, 4, device="sim:p100-16g")
    with cebus.autocast("cuda"):
        assert (far @ far).dtype == cebus.float16
    with cebus.autocast("cpu"):
        assert (far @ far).dtype == cebus.float32


def test_wrong_words():
    with pytest.raises(RuntimeError, match="device_type"):
        cebus.autocast("tpu")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with cebus.autocast("cpu", dtype=cebus.float64):
            assert (x() @ x()).dtype == cebus.float32
    assert "bfloat16 and float16" in str(found[0].message)


@pytest.mark.parametrize("kind", [cebus.bfloat16, cebus.float16], ids=str)
def test_gradients_have_the_type_of_parameters(kind):
    cebus.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                        nn.Linear(64, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
    lstm, cell = nn.LSTM(3, 4), nn.GRUCell(4, 4)
    data, target = cebus.randn(16, 1, 4, 4), cebus.arange(16) % 3
    parameters = [*net.parameters(), *lstm.parameters(), *cell.parameters()]
    optimizer, scaler = cebus.optim.Adam(parameters, lr=1e-2), cebus.amp.GradScaler()
    losses = []
    for _ in range(30):
        with cebus.autocast("cpu", dtype=kind):
            out = net(data)
            assert out.dtype == kind
            loss = F.cross_entropy(out, target) + cell(lstm(out.unsqueeze(0))[0][0]).square().mean()
        assert loss.dtype == cebus.float32
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        assert all(p.grad.dtype == cebus.float32 for p in parameters)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


def test_functions_of_ones_own():
    class Own(cebus.autograd.Function):
        @staticmethod
        @cebus.amp.custom_fwd(cast_inputs=cebus.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @cebus.amp.custom_bwd
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad @ b.T, a.T @ grad
    a, b = x().bfloat16().requires_grad_(), x().requires_grad_()
    with cebus.autocast("cpu"):
        out = Own.apply(a, b)
    assert out.dtype == cebus.float32
    out.sum().backward()
    assert a.grad.dtype == cebus.bfloat16 and b.grad.dtype == cebus.float32
    numpy.testing.assert_allclose(b.grad.numpy(), a.detach().float().T.numpy() @ numpy.ones((4, 4)),
                                  rtol=1e-5)
