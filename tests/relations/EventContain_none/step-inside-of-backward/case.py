# SPDX-License-Identifier: Apache-2.0
"""A hook of the backward steps the optimizer, so that gradients need not be kept. What changes is the step's, not the backward's."""
from trace_writer import Trace


def train(folder, is_stepped_by_hook=False, changes=()):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.stage = "training"
        t.forward(model)
        step = lambda: (t.step(optimizer), t.zero_grad(optimizer))  # noqa: E731
        t.backward(model, hook=step if is_stepped_by_hook else None, changes=[model.var(name) for name in changes])
        if not is_stepped_by_hook:
            step()
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, is_stepped_by_hook=True)


def broken(folder):
    train(folder, changes=["w"])
