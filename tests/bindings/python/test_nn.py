"""Modules, training, saving and loading, batches; without PyTorch."""
import copy
import math
import pickle

import numpy
import pytest

import cebus
from cebus import nn
from cebus.nn import functional as F
from cebus.utils.data import DataLoader, Dataset, TensorDataset, random_split


class Net(nn.Module):
    """A small network with every kind of state."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(8, 3)
        self.register_buffer("scale", cebus.ones(1))
        self.register_buffer("cache", cebus.zeros(1), persistent=False)

    def forward(self, x):
        return self.head(self.body(x)) * self.scale


def test_linear_with_other_biases_and_weights():
    x, weight = cebus.ones(2, 3), cebus.ones(4, 3)
    for bias in (cebus.tensor(1.0), cebus.ones(1), cebus.ones(1, 4), cebus.ones(2, 1)):
        assert nn.functional.linear(x, weight, bias).tolist() == [[4] * 4] * 2
    bias = cebus.ones(1, requires_grad=True)
    nn.functional.linear(x, weight, bias).sum().backward()
    assert bias.grad.tolist() == [8]
    assert nn.functional.linear(x, cebus.ones(3)).tolist() == [3, 3]
    with pytest.raises(RuntimeError):
        nn.functional.linear(x, weight, cebus.ones(3))
    with pytest.raises(RuntimeError):
        nn.functional.linear(x, weight, cebus.ones(3, 2, 4))


def test_options_that_were_not_given_are_attributes_too():
    ones, drop = cebus.ones(10), nn.Dropout()
    assert drop.p == 0.5 and drop.inplace is False and nn.ReLU().inplace is False
    drop.p = 1.0
    assert drop(ones).tolist() == [0] * 10
    loss, leaky, pool = nn.MSELoss(), nn.LeakyReLU(), nn.MaxPool2d(2)
    loss.reduction, leaky.negative_slope = "sum", 0.5
    assert loss(ones, 3 * ones) == 40 and leaky(-ones).tolist() == [-0.5] * 10
    assert (pool.stride, pool.padding, pool.dilation, pool.return_indices) == (2, 0, 1, False)
    assert nn.CrossEntropyLoss().ignore_index == -100 and nn.NLLLoss().weight is None
    assert list(nn.NLLLoss(weight=cebus.ones(3)).state_dict()) == ["weight"]
    assert [str(each) for each in (nn.Dropout(0.2), nn.GELU(), pool, nn.ReLU(), nn.ReLU(True))] == [
        "Dropout(p=0.2, inplace=False)", "GELU(approximate='none')",
        "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)", "ReLU()",
        "ReLU(inplace=True)"]


def test_what_load_state_dict_says():
    layer = nn.Linear(3, 2)
    assert str(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError) as error:
        layer.load_state_dict({"weight": cebus.ones(3, 3), "more": cebus.ones(1)})
    assert str(error.value).split("\n\t") == [
        "Error(s) in loading state_dict for Linear:", 'Missing key(s) in state_dict: "bias". ',
        'Unexpected key(s) in state_dict: "more". ',
        "size mismatch for weight: copying a param with shape cebus.Size([3, 3]) from checkpoint, "
        "the shape in current model is cebus.Size([2, 3])."]


def test_padding_by_name_that_is_not_of_zeros():
    x = cebus.arange(12.0).reshape(1, 1, 12)
    for name, widths in (("same", (1, 2)), ("valid", (0, 0))):
        layer = nn.Conv1d(1, 1, 4, padding=name, padding_mode="circular")
        plain = nn.Conv1d(1, 1, 4)
        plain.load_state_dict(layer.state_dict())
        padded = nn.functional.pad(x, widths, "circular") if sum(widths) else x
        assert layer(x).tolist() == plain(padded).tolist()


def data(n=90):
    x = numpy.random.RandomState(0).standard_normal((n, 4)).astype("float32")
    return x, (x[:, :3].argmax(1)).astype("int64")


@pytest.mark.parametrize("make", [
    lambda p: cebus.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: cebus.optim.AdamW(p, lr=1e-2)])
def test_a_training_script_learns(make):
    cebus.manual_seed(0)
    x, y = data()
    model = Net()
    optimizer = make(model.parameters())
    loader = DataLoader(TensorDataset(cebus.tensor(x), cebus.tensor(y)), batch_size=16,
                        shuffle=True)
    for _ in range(30):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(model(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with cebus.no_grad():
        right = (model(cebus.tensor(x)).argmax(1) == cebus.tensor(y)).float().mean().item()
    assert right > 0.85


def test_under_a_budget_the_bits_are_the_same():
    finals, held = [], cebus.memory_allocated()
    for size in (cebus.get_budget(), held + 512 * 1024):
        with cebus.budget(size):
            cebus.reset_peak_memory_stats()
            cebus.manual_seed(1)
            model = nn.Sequential(*[layer for _ in range(8)
                                    for layer in (nn.Linear(64, 64), nn.Tanh(), nn.Dropout(0.1))])
            optimizer = cebus.optim.SGD(model.parameters(), lr=0.01)
            x = cebus.randn(128, 64)
            before = cebus.memory_stats()["recomputes"]
            for _ in range(2):
                optimizer.zero_grad()
                (model(x) ** 2).mean().backward()
                optimizer.step()
            finals.append([p.tolist() for p in model.parameters()])
            recomputed = cebus.memory_stats()["recomputes"] - before
            peak = cebus.max_memory_allocated()
            del model, optimizer, x
    assert finals[0] == finals[1] and recomputed > 0 and peak <= held + 512 * 1024


def test_names_and_state():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "body.0.weight", "body.0.bias", "body.1.weight", "body.1.bias", "head.weight", "head.bias"]
    state = net.state_dict()
    assert "scale" in state and "cache" not in state and "body.1.running_mean" in state
    other = Net()
    assert not cebus.equal(other.head.weight, net.head.weight)
    other.load_state_dict(state)
    assert cebus.equal(other.head.weight, net.head.weight)
    assert all(p.is_persistent and p.requires_grad for p in net.parameters())
    assert "(head): Linear(in_features=8, out_features=3, bias=True)" in repr(net)
    del state["scale"]
    before = other.head.weight.tolist()
    state["head.weight"] = cebus.zeros(2, 2)
    state["extra"] = cebus.zeros(1)
    with pytest.raises(RuntimeError) as error:
        other.load_state_dict(state)
    for text in ("Missing key", "scale", "Unexpected key", "extra",
                 "size mismatch for head.weight"):
        assert text in str(error.value)
    assert other.head.weight.tolist() == before
    with pytest.raises(AttributeError, match="'head'"):
        net.haed
    with pytest.raises(TypeError):
        net.head.weight = cebus.zeros(3, 8)
    with pytest.raises(AttributeError, match="__init__"):
        type("Bad", (nn.Module,), {"__init__": lambda self: setattr(self, "x", nn.ReLU())})()


def test_buffers_by_assignment():
    class Averaged(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = nn.Buffer(cebus.ones(2))
            self.scratch = nn.Buffer(cebus.zeros(3), persistent=False)

    net = Averaged()
    assert list(net.state_dict()) == ["mean"] and net.mean.is_persistent
    assert [name for name, _ in net.named_buffers()] == ["mean", "scratch"]
    net.mean = nn.Buffer(cebus.zeros(2), persistent=False)
    assert not net.state_dict() and net.mean.tolist() == [0, 0]
    with pytest.raises(AttributeError, match="__init__"):
        type("Bad", (nn.Module,), {"__init__": lambda self: setattr(
            self, "x", nn.Buffer(cebus.ones(1)))})()


def test_batch_norm_of_all_processes_is_that_of_one():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=0.3), nn.ReLU()).eval()
    weight, x = net[1].weight, cebus.randn(2, 3, 5, 5)
    before = net(x)
    net = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert isinstance(net[1], nn.SyncBatchNorm) and net[1].weight is weight
    assert net[1].momentum == 0.3 and not net[1].training
    assert cebus.equal(net(x), before)
    with pytest.raises(RuntimeError):
        nn.SyncBatchNorm(4)(cebus.ones(4))


def test_modes_hooks_and_copies():
    net = Net()
    assert net.training and not net.eval().body.training
    seen = []
    handle = net.head.register_forward_hook(lambda module, inputs, out: seen.append(out.shape))
    net(cebus.ones(2, 4))
    handle.remove()
    net(cebus.ones(2, 4))
    assert seen == [(2, 3)]
    net.head.register_forward_hook(lambda module, inputs, out: out * 0)
    assert net(cebus.ones(2, 4)).abs().sum().item() == 0
    twin = copy.deepcopy(net)
    with cebus.no_grad():
        twin.head.weight.zero_()
    assert net.head.weight.abs().sum().item() > 0
    assert net.double().head.weight.dtype is cebus.float64
    assert isinstance(net.head.weight, nn.Parameter)
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_saving_and_loading(tmp_path):
    net = Net()
    optimizer = cebus.optim.Adam(net.parameters(), lr=1e-2)
    x = cebus.randn(5, 4)

    def step(model, opt):
        opt.zero_grad()
        model.eval()(x).square().sum().backward()
        opt.step()
    step(net, optimizer)
    path = tmp_path / "state.pt"
    cebus.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
    again, state = Net(), cebus.load(path)
    again.load_state_dict(state["model"])
    other = cebus.optim.Adam(again.parameters(), lr=0.5)
    other.load_state_dict(state["optimizer"])
    step(net, optimizer)
    step(again, other)
    assert state["epoch"] == 3
    assert all(cebus.equal(a, b) for a, b in zip(net.parameters(), again.parameters()))


def test_loading_to_a_device_keeps_what_tensors_are(tmp_path):
    path, where = tmp_path / "placed.pt", "sim:p100-16g"
    tied, leaf = nn.Parameter(cebus.ones(2)), cebus.ones(3, requires_grad=True)
    cebus.save({"a": tied, "b": [tied], "leaf": leaf}, path)
    state = cebus.load(path, map_location=where)
    assert isinstance(state["a"], nn.Parameter) and state["b"][0] is state["a"]
    assert state["a"].is_persistent and state["leaf"].requires_grad
    assert str(state["a"].device) == str(state["leaf"].device) == where
    cebus.save(Net(), path)
    net = cebus.load(path, map_location=cebus.device(where), weights_only=False)
    assert {str(p.device) for p in net.parameters()} == {where}
    with pytest.raises(TypeError, match="map_location is a device"):
        cebus.load(path, map_location=lambda storage, location: storage)


def test_weights_files_run_no_code(tmp_path):
    path = tmp_path / "bad.pt"
    path.write_bytes(pickle.dumps(print))
    with pytest.raises(pickle.UnpicklingError, match="weights_only"):
        cebus.load(path)
    for name in ("float32", "bfloat16", "bool", "int64"):
        x = (cebus.arange(6).reshape(2, 3) % 2).to(getattr(cebus, name))
        y = pickle.loads(pickle.dumps(x.t()))
        assert y.dtype is x.dtype and cebus.equal(x.t(), y)
    p = pickle.loads(pickle.dumps(nn.Parameter(cebus.ones(2))))
    assert isinstance(p, nn.Parameter) and p.requires_grad and p.is_persistent


def test_batches():
    x, y = data(10)
    loader = DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True, generator=3)
    first = [labels.tolist() for _, labels in loader]
    again = DataLoader(TensorDataset(x, y), batch_size=4, shuffle=True, generator=3)
    assert [len(each) for each in first] == [4, 4, 2] and len(loader) == 3
    assert first == [labels.tolist() for _, labels in again]
    assert first != [labels.tolist() for _, labels in loader]
    assert sum(first, []) != y.tolist() and sorted(sum(first, [])) == sorted(y.tolist())
    assert len(DataLoader(TensorDataset(x), batch_size=4, drop_last=True)) == 2

    class Squares(Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return {"x": numpy.float32(i), "square": i * i}
    (batch,) = list(DataLoader(Squares(), batch_size=5))
    assert batch["square"].tolist() == [0, 1, 4, 9, 16]
    parts = random_split(Squares(), [3, 2], generator=1)
    assert sorted(parts[0].indices + parts[1].indices) == list(range(5))
    with pytest.raises(ValueError):
        TensorDataset(x, y[:5])


def test_first_values():
    cebus.manual_seed(0)
    w = cebus.empty(200, 100)
    assert abs(nn.init.kaiming_normal_(w).std().item() - (2 / 100) ** 0.5 / 1.0) < 0.01
    assert nn.init.xavier_uniform_(w).abs().max().item() <= (6 / 300) ** 0.5
    assert abs(nn.init.trunc_normal_(w, std=0.5, a=-1.0, b=1.0).std().item() - 0.44) < 0.01
    q = nn.init.orthogonal_(cebus.empty(8, 5)).double()
    assert cebus.allclose(q.t() @ q, cebus.eye(5, dtype=cebus.float64), atol=1e-6)


def test_bad_layers_and_options_are_refused():
    with pytest.raises(RuntimeError):
        nn.Linear(3, 2)(cebus.ones(4))
    with pytest.raises(ValueError):
        nn.Conv2d(3, 4, 3, groups=2)
    for size in (-1, 4):
        with pytest.raises(ValueError):
            nn.LSTM(3, 4, proj_size=size)
    with pytest.raises(ValueError, match="only supported for LSTM"):
        nn.GRU(3, 4, proj_size=2)
    with pytest.raises(RuntimeError, match="hidden size"):
        nn.LSTM(3, 4, proj_size=2)(cebus.ones(5, 1, 3), (cebus.ones(1, 1, 4), cebus.ones(1, 1, 4)))
    for state in (cebus.ones(1, 1, 2), (cebus.ones(1, 1, 2),)):
        with pytest.raises(TypeError, match=r"pair of tensors \(h, c\), got "):
            nn.LSTM(3, 4, proj_size=2)(cebus.ones(5, 1, 3), state)
    for cutoffs in ([], [3, 2], [0, 3], [3, 3], [3, 10], [2.5]):
        with pytest.raises(ValueError, match="cutoffs"):
            nn.AdaptiveLogSoftmaxWithLoss(4, 10, cutoffs)
    for wrong in ([3, 10], [-1, 3], [3]):
        with pytest.raises(RuntimeError):
            nn.AdaptiveLogSoftmaxWithLoss(4, 10, [2])(cebus.ones(2, 4), cebus.tensor(wrong))
    with pytest.raises(TypeError):
        nn.ReLU(bogus=1)
    with pytest.raises(ValueError):
        cebus.optim.SGD([nn.Parameter(cebus.ones(1))], lr=-1)
    with pytest.raises(ValueError):
        cebus.optim.Adam([])
    with pytest.raises(IndexError):
        nn.Embedding(3, 2)(cebus.tensor([3]))
    with pytest.raises(ValueError):
        nn.functional.dropout(cebus.ones(1), 1.5)
    with pytest.raises(AttributeError, match="'Conv2d'"):
        nn.Conv2D


def test_what_a_convolution_answers_has_every_view():
    x = cebus.randn(2, 3, 6, 6)
    convolution = cebus.nn.Conv2d(3, 4, 3)
    for pooled in (convolution(x), cebus.nn.functional.max_pool2d(convolution(x).relu(), 2)):
        flat = pooled.view(pooled.size(0), -1)
        assert flat.tolist() == pooled.detach().reshape(2, -1).tolist()
        flat.mul_(0)
        assert pooled.abs().sum().item() == 0
    first = convolution(x)[0]
    assert first.view(4, -1).shape == (4, 16)
    features = convolution(x).view(2, 4, -1).transpose(1, 2)
    features.sum().backward()
    assert convolution.bias.grad.tolist() == [32] * 4
    with pytest.raises(RuntimeError, match="view size"):
        x[:, :, ::2].view(2, -1)
    shown = convolution(x)
    part = shown[0]  # would not see what is written to a copy
    with pytest.raises(RuntimeError, match="reshape"):
        shown.view(2, -1)
    del part
    assert shown.view(2, -1).shape == (2, 64)


def test_a_module_is_replaced_in_its_place():
    net = cebus.nn.Sequential(cebus.nn.Linear(2, 3), cebus.nn.ReLU(), cebus.nn.Linear(3, 1))
    net[1] = cebus.nn.Tanh()
    assert [type(each).__name__ for each in net] == ["Linear", "Tanh", "Linear"]
    net[0].weight = cebus.nn.Parameter(cebus.zeros(3, 2))
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "2.weight",
                                                            "2.bias"]


def test_gradients_are_filled_with_zeros_on_request():
    layer = cebus.nn.Linear(2, 1)
    step = cebus.optim.SGD(layer.parameters(), lr=0.1)
    layer(cebus.ones(1, 2)).sum().backward()
    kept = layer.weight.grad
    step.zero_grad(set_to_none=False)
    assert kept.tolist() == layer.weight.grad.tolist() == [[0, 0]]
    layer(cebus.ones(1, 2)).sum().backward()
    layer.zero_grad(set_to_none=False)
    assert kept.tolist() == [[0, 0]]
    layer.zero_grad()
    assert layer.weight.grad is None


def test_lists_of_parameters_as_text_and_states_of_a_wrong_kind():
    values = cebus.nn.ParameterList([cebus.ones(2, 3)])
    assert "(0): Parameter containing: [cebus.float32 of size 2x3]" in repr(values)
    assert repr(cebus.nn.ParameterDict()) == "ParameterDict()"
    with pytest.raises(TypeError, match="dict-like"):
        cebus.nn.Linear(1, 1).load_state_dict([1])


def test_options_of_zero_are_meant():
    """The library takes zero for the default of some options."""
    x = cebus.tensor([[0.0, 1e-3]])
    assert F.layer_norm(x, (2,), eps=0.0)[0].tolist() == pytest.approx([-1, 1], abs=1e-4)
    assert F.group_norm(x, 1, eps=0.0)[0].tolist() == pytest.approx([-1, 1], abs=1e-4)
    assert F.rms_norm(x, (2,), eps=0.0)[0, 1].item() == pytest.approx(math.sqrt(2), abs=1e-4)
    values = cebus.arange(4.0).reshape(1, 2, 2)
    assert F.scaled_dot_product_attention(values, values, values, scale=0.0).tolist() \
        == [[[1, 2], [1, 2]]]
    norm = nn.BatchNorm1d(2, momentum=0.0)
    norm(cebus.tensor([[1.0, 2.0], [3.0, 7.0]]))
    assert norm.running_mean.tolist() == [0, 0] and norm.running_var.tolist() == [1, 1]
    nn.InstanceNorm1d(2, momentum=None, track_running_stats=True).eval()(cebus.ones(1, 2, 3))


@pytest.mark.parametrize("call", [
    lambda x: F.max_pool2d(x, 2, stride=0), lambda x: F.max_pool2d(x, 2, dilation=0),
    lambda x: F.avg_pool2d(x, 2, stride=0), lambda x: F.avg_pool2d(x, 2, divisor_override=0),
    lambda x: F.max_pool1d(x[0], 2, stride=0), lambda x: F.max_pool3d(x[None], 2, stride=0),
    lambda x: F.avg_pool3d(x[None], 2, divisor_override=0), lambda x: F.lp_pool2d(x, 2, 2, 0),
    lambda x: F.conv3d(x[None], cebus.ones(1, 1, 1, 2, 2), stride=0),
    lambda x: F.conv_transpose3d(x[None], cebus.ones(1, 1, 1, 2, 2), stride=0),
    lambda x: F.conv_transpose3d(x[None], cebus.ones(1, 1, 1, 2, 2), output_padding=1),
    lambda x: F.conv_transpose3d(x[None], cebus.ones(1, 1, 1, 2, 2), padding=(1, 0, 0)),
    lambda x: F.fold(cebus.ones(1, 4, 9), (4, 4), 2, stride=0), lambda x: F.pixel_shuffle(x, 0),
    lambda x: F.local_response_norm(x, 0), lambda x: nn.Conv2d(1, 1, 2, groups=0),
    lambda x: nn.Conv2d(1, 1, 2, 2, padding="same", padding_mode="reflect"),
    lambda x: F.interpolate(x, 2, mode="nearest", align_corners=True),
    lambda x: F.interpolate(x, 2, mode="bilinear", recompute_scale_factor=True),
    lambda x: F.cross_entropy(x[0, 0], cebus.tensor([0] * 4), cebus.ones(4), label_smoothing=-1),
])
def test_options_that_make_no_sense_are_refused(call):
    with pytest.raises(ValueError):
        call(cebus.ones(1, 1, 4, 4))


def test_convolutions_of_no_volumes():
    x = cebus.ones(0, 2, 3, 4, 5)
    assert F.conv3d(x, cebus.ones(3, 2, 2, 2, 2)).shape == (0, 3, 2, 3, 4)
    assert F.conv_transpose3d(x, cebus.ones(2, 3, 2, 2, 2)).shape == (0, 3, 4, 5, 6)


def test_the_first_of_equal_elements_has_the_gradient_of_a_window():
    x = cebus.tensor([[[2.0, 2.0, 1.0, 3.0, 3.0]]], requires_grad=True)
    F.adaptive_max_pool1d(x, 2).sum().backward()
    assert x.grad.tolist() == [[[1, 0, 0, 1, 0]]]


def test_what_losses_and_slopes_are_at_their_edges():
    x = cebus.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    F.rrelu(x, 0.25, 0.25).sum().backward()
    assert x.grad.tolist() == [0.25, 0.25, 1]
    assert F.kl_div(cebus.tensor(0.5), cebus.tensor(1.0), reduction="batchmean").item() == -0.5
