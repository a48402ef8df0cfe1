# SPDX-License-Identifier: Apache-2.0
"""An optimizer that each epoch builds anew loses its moments; two that take turns each have weights of their own."""
from trace_writer import Trace


def train(folder, rebuilds=False):
    t = Trace(folder)
    model = t.net("w", "b")
    w, b = model.parameters
    optimizers = [t.optimizer(model, params=[v]) for v in (w, b)]
    for epoch in range(3):
        if rebuilds and epoch:
            optimizers[0] = t.optimizer(model, params=[w])
        for _ in range(2):
            for optimizer in optimizers:
                t.zero_grad(optimizer)
            t.forward(model)
            t.backward(model)
            for optimizer in optimizers:
                t.step(optimizer)
            t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, rebuilds=True)
