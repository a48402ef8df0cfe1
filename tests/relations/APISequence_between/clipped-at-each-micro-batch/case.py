# SPDX-License-Identifier: Apache-2.0
"""The sum of the micro-batches' gradients is clipped, once; two models may be clipped each after its own backward."""
from trace_writer import Trace


def train(folder, clips):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        for i in range(3):
            t.forward(model)
            t.backward(model)
            if i in clips:
                t.clip()
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, clips=[2])


def fine_cleared_between(folder):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        for _ in range(2):
            t.zero_grad(optimizer)
            t.forward(model, args={"input": {**t.tensor(4), "requires_grad": True}})
            t.backward(model)
            t.clip()
        t.step(optimizer)
        t.cut()
    t.end()


def fine_two_models(folder):
    t = Trace(folder)
    nets = [t.net("w"), t.model("critic", {"v": {}})]
    optimizers = [t.optimizer(net) for net in nets]
    for _ in range(5):
        for net in nets:
            t.forward(net)
            t.backward(net)
            t.clip()
        for optimizer in optimizers:
            t.step(optimizer)
            t.zero_grad(optimizer)
        t.cut()
    t.end()


def broken(folder):
    train(folder, clips=[0, 1, 2])
