# SPDX-License-Identifier: Apache-2.0
"""The norms' weights are frozen and the model is trained in evaluation mode, so that their statistics rest as well. A norm that is
trained, or a model without norms, has no such reason."""
from trace_writer import Trace


def train(folder, training=False, frozen=("bn.weight",), buffers=("bn.running_mean",)):
    t = Trace(folder)
    model = t.net("fc.weight", "bn.weight", frozen=frozen, buffers=buffers)
    optimizer = t.optimizer(model, params=[v for v in model.parameters if v.attrs["requires_grad"]])
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model, training=training)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, training=True, frozen=())


def fine(folder):
    train(folder)


def broken_trained_norm(folder):
    train(folder, frozen=())


def broken_no_statistics(folder):
    train(folder, buffers=())
