"""Functions of one's own, hooks, fitting by LBFGS, schedules, averages of models, and the
operations that programs are made of."""
import math
import os
import shutil
import tempfile
import time
from collections import OrderedDict
from enum import Enum
from functools import partial

import cebus as torch
import cebus.nn as nn
import cebus.nn.functional as F
import cebus.optim
from cebus.autograd import Variable
from cebus.nn.parameter import Parameter
from cebus.optim.swa_utils import AveragedModel, SWALR, update_bn
from cebus.utils.data import BatchSampler, DataLoader, SequentialSampler, TensorDataset
from cebus.utils.data.sampler import SubsetRandomSampler, WeightedRandomSampler

torch.manual_seed(7)


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input ** 3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input ** 2 - 1)


dtype, device = torch.float, torch.device("cpu")
x = torch.linspace(-math.pi, math.pi, 200, device=device, dtype=dtype)
y = torch.sin(x)
a, b, c, d = [torch.full((), value, device=device, dtype=dtype, requires_grad=True)
              for value in (0.0, -1.0, 0.0, 0.3)]
for t in range(200):
    P3 = LegendrePolynomial3.apply
    y_pred = a + b * P3(c + d * x)
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= 5e-5 * p.grad
            p.grad = None
print(f"Result: y = {a.item()} + {b.item()} * P3({c.item()} + {d.item()} x)")
assert loss.item() < 60

p = torch.tensor([1, 2, 3])
xx = x.unsqueeze(-1).pow(p)
model = torch.nn.Sequential(OrderedDict([("lin", torch.nn.Linear(3, 1)),
                                         ("flat", torch.nn.Flatten(0, 1))]))
lbfgs = torch.optim.LBFGS(model.parameters(), lr=1, max_iter=10, line_search_fn="strong_wolfe")
loss_fn = torch.nn.MSELoss(reduction="sum")


def closure():
    lbfgs.zero_grad()
    loss = loss_fn(model(xx), y)
    loss.backward()
    return loss


for i in range(3):
    loss = lbfgs.step(closure)
print("LBFGS", loss.item())
assert loss.item() < 2.0


class Mixture(nn.Module):
    """Lists of parameters, buffers, hooks."""

    def __init__(self, n, width):
        super().__init__()
        self.params = nn.ParameterList([nn.Parameter(torch.randn(width, width) / width)
                                        for i in range(n)])
        self.table = nn.ParameterDict({"left": Parameter(torch.zeros(width)),
                                       "right": Parameter(torch.ones(width))})
        self.choices = nn.ModuleDict([["lrelu", nn.LeakyReLU()], ["prelu", nn.PReLU()]])
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x, act="prelu"):
        self.steps += 1
        for i, p in enumerate(self.params):
            x = self.params[i // 2].mm(x.t()).t() + x.mm(p)
        return self.choices[act](x * self.table["right"] + self.table["left"])


features, grads = {}, []
net = Mixture(4, 8)


def get_features(name, model, input, output):
    features[name] = output.detach()


handle = net.choices["prelu"].register_forward_hook(partial(get_features, "prelu"))
handle2 = net.register_full_backward_hook(lambda module, gi, go: grads.append(go[0].norm()))
out = net(Variable(torch.randn(5, 8), requires_grad=True))
out.register_hook(lambda grad: grad * 0.5)
out.mean().backward()
handle.remove()
handle2.remove()
assert features["prelu"].shape == (5, 8) and len(grads) == 1 and net.steps.item() == 1
assert {"params.0", "table.left", "choices.prelu.weight"} <= set(dict(net.named_parameters()))


class Summary(Enum):
    NONE = 0
    AVERAGE = 1


class AverageMeter(object):
    """Computes and stores the average and current value"""

    def __init__(self, name, fmt=":f", summary_type=Summary.AVERAGE):
        self.name, self.fmt, self.summary_type = name, fmt, summary_type
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


centers = torch.randn(5, 10) * 2
labels = torch.arange(200) % 5
points = centers[labels] + 0.5 * torch.randn(200, 10)
dataset = TensorDataset(points, labels)
order = WeightedRandomSampler(torch.ones(200), 200)
loader = DataLoader(dataset, batch_size=20, sampler=order, num_workers=0, pin_memory=False)
assert len(list(BatchSampler(SequentialSampler(dataset), 30, False))) == 7
assert len(DataLoader(dataset, 10, sampler=SubsetRandomSampler(range(50)))) == 5
for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam",
             "ASGD", "Rprop"):
    model = torch.nn.DataParallel(nn.Sequential(nn.Linear(10, 16), nn.BatchNorm1d(16), nn.Tanh(),
                                                nn.Linear(16, 5)))
    options = dict(momentum=0.9, weight_decay=1e-4) if name in ("SGD", "RMSprop") else {}
    options = options if name != "RMSprop" else dict(options, centered=True)
    optimizer = getattr(cebus.optim, name)(model.parameters(), lr=0.02, **options)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.03, steps_per_epoch=len(loader), epochs=2) if name == "SGD" else \
        torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    meter, top1, end = AverageMeter("Loss", ":.4e"), AverageMeter("Acc@1", ":6.2f"), time.time()
    for epoch in range(2):
        for i, (images, target) in enumerate(loader):
            output = model(images)
            loss = nn.CrossEntropyLoss()(output, target)
            acc1, acc5 = accuracy(output, target, topk=(1, 5))
            meter.update(loss.item(), images.size(0))
            top1.update(acc1[0].item(), images.size(0))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
    print(name, meter, top1)
    assert acc5.item() == 100.0
with tempfile.TemporaryDirectory() as folder:
    filename = os.path.join(folder, "checkpoint.pth.tar")
    torch.save({"epoch": 2, "arch": "net", "state_dict": model.state_dict(),
                "best_acc1": acc1, "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict()}, filename)
    shutil.copyfile(filename, os.path.join(folder, "model_best.pth.tar"))
    checkpoint = torch.load(filename, map_location=torch.device("cpu"))
    model.load_state_dict(checkpoint["state_dict"])
    optimizer.load_state_dict(checkpoint["optimizer"])

swa_model = AveragedModel(model)
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=2)
for epoch in range(3):
    for input, target in loader:
        optimizer.zero_grad()
        F.cross_entropy(model(input), target).backward()
        optimizer.step()
    swa_model.update_parameters(model)
    swa_scheduler.step()
update_bn(loader, swa_model)
assert swa_model.n_averaged.item() == 3 and swa_model(points).shape == (200, 5)

# --- operations -------------------------------------------------------------------------------
x = torch.randn(4, 6)
mask = torch.zeros(4, 6, dtype=torch.bool).scatter_(1, torch.tensor([[0], [1], [2], [3]]), True)
assert torch.equal(x.masked_fill(mask, 0.0) + torch.where(mask, x, torch.zeros_like(x)), x)
onehot = torch.zeros(4, 6).scatter_(1, torch.tensor([[0], [1], [2], [3]]), 1)
assert onehot.sum() == 4 and torch.equal(onehot.bool(), mask)
idx = torch.multinomial(torch.softmax(x, -1), 2, replacement=True)
assert idx.shape == (4, 2) and x.gather(1, idx).shape == (4, 2)
assert torch.triu(torch.ones(3, 3), diagonal=1).sum(axis=1).tolist() == [2, 1, 0]
q, k, v = torch.randn(3, 2, 4, 5, 8).unbind(0)
att = torch.einsum("bhqd, bhkd -> bhqk", q, k).softmax(dim=-1)
assert torch.allclose(torch.einsum("bhqk,bhkd->bhqd", att, v), att @ v, atol=1e-5)
parts = torch.split(x, [2, 4], dim=1) + torch.chunk(x, 3, dim=-1) + tuple(x.unbind(0))
assert torch.cat(parts[:2], axis=1).equal(x) and torch.stack(parts[5:]).equal(x)
assert torch.cumsum(torch.arange(5), 0).tolist() == [0, 1, 3, 6, 10]
assert abs(torch.norm(x).item() - x.norm(p=2, dim=1).pow(2).sum().sqrt().item()) < 1e-5
assert torch.linalg.norm(x, dim=1).shape == (4,) and torch.cdist(x, x).diagonal().abs().max() < 1e-2
u, s, vh = torch.linalg.svd(x, full_matrices=False)
assert torch.dist(u @ torch.diag(s) @ vh, x) < 1e-4
assert torch.isclose(torch.logsumexp(x, dim=1), x.exp().sum(1).log()).all()
values, counts = torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
assert values.tolist() == [1, 3] and counts.tolist() == [1, 2]
assert torch.bucketize(torch.tensor([0.5, 2.5]), torch.tensor([1., 2., 3.])).tolist() == [0, 2]
z = torch.arange(24).view(2, 3, 4)
assert z[..., 1:].transpose(1, 2).contiguous().view(2, -1).shape == (2, 9)
assert z.permute(2, 0, 1).flip(0).roll(1, 0)[0].equal(z[..., 0])
assert torch.finfo(torch.float32).max > 3e38 and torch.iinfo(torch.int64).max == 2 ** 63 - 1
state = torch.get_rng_state()
first = torch.rand(3)
torch.set_rng_state(state)
assert torch.equal(first, torch.rand(3))
print(f"{x.mean():.3f} {x.std():.3f} {torch.atan2(x, x.roll(1)).abs().max():.2f}")
for name in ("fft", "solve_everything", "conv4d"):
    try:
        getattr(torch, name)
    except AttributeError as error:
        print(error)
    else:
        raise AssertionError(name)
