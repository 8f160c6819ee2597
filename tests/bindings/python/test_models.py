"""The model zoo: published sizes, steps on simulated machines, steps for real."""
import math

import pytest

import cebus
from cebus import models

# Parameters as published: model tables of the papers' programs and of torchvision.
PUBLISHED = {
    "vgg16": 138357544, "resnet18": 11689512, "resnet50": 25557032, "resnet152": 60192808,
    "densenet121": 7978856, "inceptionv3": 23834568, "inceptionv4": 42679816, "nasnet": 88753150,
    "unet": 13391361, "bert_base": 110106428, "bert_large": 336226108, "gpt2": 124439808,
    "swin_t": 28288354,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_are_the_published_ones(name):
    if name == "bert_base":
        assert PUBLISHED[name] == pytest.approx(110e6, rel=0.01)
    assert models.parameters(models.create(name, "sim:h200-141g")) == PUBLISHED[name]


SMALL = ["mlp", "lenet", "tiny_unet", "char_gpt", "lstm", "bilstm", "treelstm"]


@pytest.mark.parametrize("name", SMALL)
def test_small_models_train_for_real(name):
    cebus.manual_seed(2)
    first = models.bench(name, "cpu", batch=2, steps=1)
    cebus.manual_seed(2)
    third = models.bench(name, "cpu", batch=2, steps=3)
    assert math.isfinite(first["loss"]) and third["loss"] != first["loss"]
    assert third["calls"] > 0 and third["peak_bytes"] > third["parameters"] * 4
    if name != "treelstm":
        assert third["loss"] < first["loss"] * 1.2


@pytest.mark.parametrize("name", [name for name in models.names()
                                  if name not in SMALL and name not in ("nasnet25", "gpt3_style")])
def test_models_of_papers_step_on_a_simulated_machine(name):
    batch = {"rnn_8_8k": 32, "brnn_4_8k": 16, "wide_resnet152_10": 2}.get(name, 4)
    found = models.bench(name, "sim:h200-141g", batch=batch, steps=1, policy="none")
    assert found["peak_bytes"] > 4 * found["parameters"] and found["seconds"] > 0
    assert found["calls"] > 50 and found["evictions"] == 0


def test_a_budget_below_the_peak_is_held_and_costs_time():
    free = models.bench("resnet50", "sim:p100-16g", batch=32, steps=2)
    tight = models.bench("resnet50", "sim:p100-16g", batch=32, steps=2, policy="dtr",
                         budget=int(free["peak_bytes"] * 0.6))
    assert tight["peak_bytes"] <= 0.6 * free["peak_bytes"] and tight["recomputes"] > 0
    assert free["seconds"] < tight["seconds"] < 2 * free["seconds"]


def test_unknown_names_are_answered_with_those_there_are():
    with pytest.raises(ValueError, match="resnet50"):
        models.create("resnet51")
    with pytest.raises(AttributeError, match="'resnet50'"):
        models.resnet51
