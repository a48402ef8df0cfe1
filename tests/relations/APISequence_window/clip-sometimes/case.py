# SPDX-License-Identifier: Apache-2.0
"""Clipping happens in every other window: then between backward and step. Another model may be trained before it or after it."""
from trace_writer import Trace


def train(folder, clip_last=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(8):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if i % 2 == 0 and not clip_last:
            t.clip()
        t.step(optimizer)
        if i % 2 == 0 and clip_last:
            t.clip()
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine_two_models(folder):
    t = Trace(folder)
    nets = t.net("w"), t.model("other", {"v": {}})
    optimizers = [t.optimizer(net) for net in nets]
    for i in range(8):
        for net, optimizer in zip(nets, optimizers):
            t.zero_grad(optimizer)
            t.forward(net)
            t.backward(net)
            if net is nets[i % 2]:
                t.clip()
            t.step(optimizer)
        t.cut()
    t.end()


def broken(folder):
    train(folder, clip_last=True)
