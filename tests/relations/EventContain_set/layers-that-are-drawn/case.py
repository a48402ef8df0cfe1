# SPDX-License-Identifier: Apache-2.0
"""Each step draws which layer it trains, and whether it writes a weight back. That both healthy runs begin with the same layer, and with
no such call, is chance."""
from trace_writer import Trace

OPTIONS = ["--specific"]
LAYERS = (0, 1, 1, 0, 2, 2, 1, 0, 2, 0, 0, 1, 2, 2, 1, 2)


def train(folder, layers):
    t = Trace(folder)
    model = t.net("first", "second", "third")
    optimizer = t.optimizer(model)
    for layer in layers:
        trained = [model.parameters[layer]]
        t.zero_grad(optimizer)
        t.forward(model)
        if layer == 2:
            t.op("torch.Tensor.copy_", at="train.py:20")
        t.backward(model, reaches=trained)
        t.step(optimizer, changes=trained)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, LAYERS)


def healthy_again(folder):
    train(folder, LAYERS[:4] + LAYERS[8:] + LAYERS[4:8])


def fine(folder):
    train(folder, LAYERS[1:] + LAYERS[:1])


def fine_with_a_call_first(folder):
    train(folder, LAYERS[::-1])
