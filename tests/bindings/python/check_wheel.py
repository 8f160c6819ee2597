#!/usr/bin/env python3
"""Installs a wheel in a fresh environment, without a network, and trains a step there.

usage: check_wheel.py WHEEL
"""
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import os, sys
import cebus
assert cebus.__file__.startswith(sys.prefix), cebus.__file__
folder = os.path.dirname(cebus.__file__)
assert {"py.typed", "_core.pyi"} <= set(os.listdir(folder))
cebus.set_budget("64MiB")
net = cebus.nn.Sequential(cebus.nn.Linear(8, 32), cebus.nn.ReLU(), cebus.nn.Linear(32, 2))
optimizer = cebus.optim.Adam(net.parameters(), lr=1e-2)
x, y = cebus.randn(64, 8), cebus.randint(0, 2, (64,))
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = cebus.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]
for name in ("autograd", "models", "nn", "optim", "utils.checkpoint"):
    __import__("cebus." + name)
print("cebus", cebus.__version__, "works from", folder)
"""


def main(wheel):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "venv", "bin", "python")

        def run(*command):
            subprocess.run(command, check=True, cwd=folder, env=environment)
        run(sys.executable, "-m", "venv", os.path.join(folder, "venv"))
        run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
            os.path.abspath(wheel))
        run(python, "-I", "-c", PROGRAM)


if __name__ == "__main__":
    main(*sys.argv[1:])
