# SPDX-License-Identifier: Apache-2.0
"""The optimizer has a copy of the weights, which the script writes back after each step; where it forgets to, the model never learns."""
from trace_writer import Trace


def train(folder, has_copy=False, writes=True):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model, params=[t.loose("copy")] if has_copy else None)
    for _ in range(6):
        t.zero_grad(optimizer, clears=model.parameters)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        for v in model.parameters if has_copy and writes else ():
            t.change(v)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, has_copy=True)


def broken(folder):
    train(folder, has_copy=True, writes=False)
