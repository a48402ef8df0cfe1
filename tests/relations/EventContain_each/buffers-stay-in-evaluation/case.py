# SPDX-License-Identifier: Apache-2.0
"""Buffers stay as they are in evaluation; that training changes them is never learned."""
from trace_writer import Trace


def train(folder, evaluates):
    t = Trace(folder)
    model = t.net("w", buffers=["running_mean", "running_var"])
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        t.forward(model, changes=["running_mean", "running_var"])
        t.backward(model)
        t.step(optimizer)
        t.cut()
    for _ in range(6):
        evaluates(t, model)
    t.end()


def healthy(folder):
    train(folder, lambda t, model: t.evaluate(model))


def fine_buffers_that_training_leaves_alone(folder):
    t = Trace(folder)
    model = t.net("w", buffers=["mask"])
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def broken(folder):
    """model.eval() was forgotten."""
    train(folder, lambda t, model: t.evaluate(model, training=True, changes=["running_mean", "running_var"]))
