# SPDX-License-Identifier: Apache-2.0
"""What varies must be explained by the mode: a root trains when gradients are on, and only then."""
from trace_writer import Trace


def train(folder, eval_forgotten=False, train_forgotten=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(4):
        t.zero_grad(optimizer)
        t.forward(model, training=not (train_forgotten and i > 0))
        t.backward(model)
        t.step(optimizer)
        t.cut()
        t.evaluate(model, training=eval_forgotten)
        t.cut("stage")
    t.end()


def healthy(folder):
    train(folder)


def broken_eval(folder):
    train(folder, eval_forgotten=True, train_forgotten=True)
