# SPDX-License-Identifier: Apache-2.0
"""Beside the model a temperature is trained, as in soft actor-critic: that takes no forward. It may come before the model's step, after
it, in a window of its own, and by the model's backward. It excuses nothing of the model."""
from trace_writer import Trace


def train_temperature(t, temperature, optimizer):
    t.zero_grad(optimizer)
    t.backward(None, reaches=[temperature])
    t.step(optimizer)


def train_model(t, model, optimizer, too_early):
    t.zero_grad(optimizer)
    t.forward(model)
    if too_early:
        t.step(optimizer)
    t.backward(model)
    if not too_early:
        t.step(optimizer)


def train(folder, when="never", too_early=False):
    t = Trace(folder)
    model = t.net("fc.weight")
    temperature = t.loose("log_alpha")
    first, second = t.optimizer(model), t.optimizer(None, params=[temperature])
    for _ in range(5):
        if when == "before":
            train_temperature(t, temperature, second)
        train_model(t, model, first, too_early)
        if when == "alone":
            t.cut()
        if when in ("after", "alone"):
            train_temperature(t, temperature, second)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine_before(folder):
    train(folder, when="before")


def fine_after(folder):
    train(folder, when="after")


def fine_alone(folder):
    train(folder, when="alone")


def fine_by_one_backward(folder):
    t = Trace(folder)
    model = t.net("fc.weight")
    temperature = t.loose("log_alpha")
    first, second = t.optimizer(model), t.optimizer(None, params=[temperature])
    for _ in range(5):
        t.zero_grad(first)
        t.forward(model)
        t.backward(model, reaches=[*model.parameters, temperature])
        t.step(second)
        t.step(first)
        t.cut()
    t.end()


def broken(folder):
    train(folder, when="before", too_early=True)
