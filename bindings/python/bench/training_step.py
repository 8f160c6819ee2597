#!/usr/bin/env python3
"""What a training step of the zoo's models that fit a CPU costs, beside PyTorch's: the models' own
sources run with both libraries, on as many threads, in turns in one run.

usage: PYTHONPATH=BUILD/bindings/python [OMP_NUM_THREADS=N] training_step.py [ROUNDS [MODEL...]]

On two threads, or N; more than there are idle cores tell nothing: each product then waits for the
slice of its last thread.

Prints ms of the median round each, and the median of the rounds' ratios. OPENBLAS_CORETYPE is
SkylakeX for both where the processor has AVX-512, as PyTorch's own products would use it.
"""
import os
import re
import statistics
import sys
import time
import types

THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))
if "CEBUS_BENCH_CHILD" not in os.environ:
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        wide = "avx512f" in info.read()
    settings = {"CEBUS_BENCH_CHILD": "1", "OMP_NUM_THREADS": str(THREADS),
                "OPENBLAS_NUM_THREADS": str(THREADS), "GOMP_SPINCOUNT": "20000"}
    os.environ.update(settings, **({"OPENBLAS_CORETYPE": "SkylakeX"} if wide else {}))
    os.execv(sys.executable, [sys.executable, *sys.argv])

import torch  # noqa: E402

import cebus  # noqa: E402

MODELS = ("mlp", "lenet", "tiny_unet", "char_gpt", "lstm", "resnet18")
FOLDER = os.path.join(os.path.dirname(os.path.realpath(cebus.__file__)), "models")


def attend(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False):
    """For a PyTorch before 2.0, which has no attention in one function."""
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    return torch.dropout(scores.softmax(-1), dropout_p, True) @ v


if not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
    torch.nn.functional.scaled_dot_product_attention = attend


def with_torch(file):
    """A file of the zoo, its imports of cebus answered by PyTorch."""
    with open(os.path.join(FOLDER, file + ".py"), encoding="utf-8") as source:
        text = re.sub(r"^from \.[^\n]*(?:\([^)]*\))?$", "", source.read(), flags=re.MULTILINE)
    module = types.ModuleType("torch_" + file)
    core = types.SimpleNamespace(**{name: getattr(torch, name) for name in dir(torch)
                                    if not name.startswith("__")})
    core.linear = torch.nn.functional.linear
    module.__dict__.update(_core=core, nn=torch.nn, F=torch.nn.functional,
                           randint=torch.randint, cat=torch.cat)
    exec(compile(text, file, "exec"), module.__dict__)
    return module


def pair(name):
    """(the model, its loss, its data, its optimizer) of cebus and of PyTorch, equal numbers."""
    setup = cebus.models.bench.__globals__["MODELS"][name]
    made = setup.make()
    data = setup.batch(setup.size)
    file = type(made).__module__.rsplit(".", 1)[1]
    zoo = with_torch(file)
    maker = {"tiny_unet": lambda: zoo.UNet(1, 1, 8, 3),
             "char_gpt": lambda: zoo.GPT(64, 64, 96, 3, 4, 0.0),
             "lstm": lambda: zoo.SequenceLSTM(), "mlp": lambda: zoo.MLP(),
             "lenet": lambda: zoo.LeNet(), "resnet18": lambda: zoo.resnet18()}[name]
    other = maker()
    with torch.no_grad():
        for p, q in zip(made.parameters(), other.parameters()):
            q.copy_(torch.tensor(p.tolist()))
    losses = {"tiny_unet": lambda lib: lib.nn.functional.binary_cross_entropy_with_logits}
    loss = losses.get(name, lambda lib: lib.nn.functional.cross_entropy)
    out = []
    for lib, model, batch in ((cebus, made, data),
                              (torch, other, [torch.tensor(x.tolist()) for x in data])):
        kind = lib.optim.SGD if setup.optimizer == "sgd" else lib.optim.AdamW
        options = {"momentum": 0.9} if setup.optimizer == "sgd" else {}
        compute = (lambda model, x, y: model.loss(x, y)) if hasattr(model, "loss") else \
            (lambda model, x, y, lib=lib: loss(lib)(model(x), y))
        out.append((model, compute, batch, kind(model.parameters(), lr=1e-3, **options)))
    return out


def step(model, compute, batch, optimizer):
    start = time.perf_counter()
    optimizer.zero_grad()
    loss = compute(model, *batch)
    loss.backward()
    optimizer.step()
    value = loss.item()
    return time.perf_counter() - start, value


def main(rounds="20", *names):
    torch.set_num_threads(THREADS)
    cebus.configure("cpu", threads=THREADS)
    cebus.manual_seed(0)
    print(f"| model | cebus, ms | PyTorch {torch.__version__.split('+')[0]}, ms | ratio |")
    print("|---|---|---|---|")
    for name in names or MODELS:
        ours, theirs = pair(name)
        first = [step(*each)[1] for each in (ours, theirs)]
        assert abs(first[0] - first[1]) < 1e-3 * max(abs(first[1]), 1), (name, first)
        times = []
        for number in range(int(rounds)):
            turn = (ours, theirs) if number % 2 else (theirs, ours)
            took = [step(*each)[0] for each in turn]
            times.append(took if number % 2 else took[::-1])
        a, b = (statistics.median(each) * 1e3 for each in zip(*times))
        ratio = statistics.median(x / y for x, y in times)
        print(f"| {name} | {a:.1f} | {b:.1f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
