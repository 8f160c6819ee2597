#!/usr/bin/env python3
"""The largest batches of the eight rows of Capuchin's table (ASPLOS 2020: P100 16 GB, its columns
TF and Capuchin), under policies none, capuchin and cebus, and what cebus loses where TensorFlow
ended.

usage: largest_batch.py TRACE_MODEL CEBUS [ROW...] [--policies none,capuchin,cebus]
           [--machine p100-16g] [--budget 16GiB] [--host 256GiB] [--traces FOLDER]

Each network is recorded at a batch (one training step, after one that makes the optimizer's state)
and run over and over in the budget; a batch counts when every pass gets through. The loss is what
the last pass takes over the time with unlimited memory, in percent. A markdown table.
"""
import argparse
import json
import os
import subprocess
import tempfile

# row: preset of trace_model, largest batch of TensorFlow, of Capuchin
ROWS = {
    "VGG16": ("capuchin-vgg16", 228, 350),
    "ResNet-50": ("capuchin-resnet50", 190, 1014),
    "ResNet-152": ("capuchin-resnet152", 86, 798),
    "InceptionV3": ("capuchin-inceptionv3", 160, 716),
    "InceptionV4": ("capuchin-inceptionv4", 88, 468),
    "BERT-base": ("capuchin-bert-base", 64, 450),
    "ResNet-50, eager": ("capuchin-resnet50", 122, 300),
    "DenseNet-121, eager": ("capuchin-densenet121", 70, 190),
}
# The loss is also wanted at twice TensorFlow's batch; VGG16's first layers do not fit there.
TWICE = {"VGG16": 3 * 350 // 4}
PASSES = 6  # of cebus the plan is found, and its values find their places, within these


class Bench:
    """Batches of networks on one machine."""

    def __init__(self, given, folder):
        self.given, self.folder, self.known = given, folder, {}

    def trace(self, preset, batch):
        path = os.path.join(self.folder, f"{preset}-{batch}.trace")
        if not os.path.exists(path):
            subprocess.run([self.given.trace_model, "--preset", preset, "--batch", str(batch),
                            "--device", "sim:" + self.given.machine, "--steps", "1", "-o", path],
                           check=True, capture_output=True)
        return path

    def run(self, preset, batch, policy):
        """The replay's figures, or None where some pass does not fit."""
        key = (preset, batch, policy)
        if key not in self.known:
            done = subprocess.run(
                [self.given.cebus, "replay", self.trace(preset, batch), "--machine",
                 self.given.machine, "--budget", self.given.budget, "--host-budget",
                 self.given.host, "--policy", policy, "--iterations", str(PASSES), "--json",
                 *(() if policy == "none" else ("--swap", "on"))],
                check=True, capture_output=True, text=True)
            figures = json.loads(done.stdout)
            self.known[key] = figures if figures["feasible"] else None
        return self.known[key]

    def loss(self, preset, batch, policy):
        figures = self.run(preset, batch, policy)
        return "x" if figures is None else f"{100 * (figures['overhead'] - 1):.1f}"

    def largest(self, preset, policy, guess):
        """By doubling from the guess, then halving the interval down to half a percent."""
        low, high = 0, guess
        while self.run(preset, high, policy) is not None:
            low, high = high, 2 * high
        while high - low > max(1, low // 200):
            middle = (low + high) // 2
            if self.run(preset, middle, policy) is not None:
                low = middle
            else:
                high = middle
        return low


def row(bench, name, policies):
    preset, published, capuchin = ROWS[name]
    batches = {policy: bench.largest(preset, policy, published if policy == "none" else capuchin)
               for policy in policies}
    cells = [name, str(published), str(capuchin)]
    cells += [str(batches[policy]) for policy in policies]
    points = (round(1.2 * published), TWICE.get(name, 2 * published), capuchin)
    for policy in policies:
        if policy != "none":
            cells.append(" / ".join(bench.loss(preset, batch, policy) for batch in points))
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace_model")
    parser.add_argument("cebus")
    parser.add_argument("rows", nargs="*", default=list(ROWS))
    parser.add_argument("--policies", default="none,capuchin,cebus")
    parser.add_argument("--machine", default="p100-16g")
    parser.add_argument("--budget", default="16GiB")
    parser.add_argument("--host", default="256GiB")
    parser.add_argument("--traces")
    given = parser.parse_args()
    policies = given.policies.split(",")
    heads = ["network", "TF", "Capuchin", *policies]
    heads += [f"loss of `{policy}` at 1.2 TF / 2 TF / Capuchin's, %"
              for policy in policies if policy != "none"]
    print("| " + " | ".join(heads) + " |\n|---" + "|---:" * (len(heads) - 1) + "|")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given, given.traces or folder)
        for name in given.rows or ROWS:
            row(bench, name, policies)


if __name__ == "__main__":
    main()
