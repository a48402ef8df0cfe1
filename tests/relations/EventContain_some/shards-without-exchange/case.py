# SPDX-License-Identifier: Apache-2.0
"""A backward without exchange between ranks leaves the gradients of sharded parameters as they were."""
from trace_writer import Trace


def train(folder, reaches_at_once=True, sharded=False):
    t = Trace(folder)
    t.stage = "training"
    part = {"attrs": {"sharded": True, "placements": ["S(0)"]}} if sharded else {}
    model = t.model("model", {"w": dict(part), "b": dict(part)})
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model, reaches=None if reaches_at_once else [])
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, reaches_at_once=False, sharded=True)


def broken(folder):
    train(folder, reaches_at_once=False)
