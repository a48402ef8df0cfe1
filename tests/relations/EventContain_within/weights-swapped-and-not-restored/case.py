# SPDX-License-Identifier: Apache-2.0
"""A function of the script copies averaged weights over the model between two steps, and training goes on with them."""
from trace_writer import Trace


def train(folder, swapped_in=None, restores=False):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if i == swapped_in:
            before = [v.digest for v in model.parameters]
            t.enter("__main__.Average.copy_to", role="own", at="train.py:20")
            for v in model.parameters:
                t.enter("torch.Tensor.copy_", role="fill", here="train.py:33", self={"tensor": "Parameter", "id": v.serial})
                t.change(v)
                t.leave()
            t.leave()
            t.evaluate(model)
            for v, digest in zip(model.parameters, before):
                if restores:
                    t.set(v, data=digest)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, swapped_in=2, restores=True)


def broken(folder):
    train(folder, swapped_in=3)
