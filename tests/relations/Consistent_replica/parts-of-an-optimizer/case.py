# SPDX-License-Identifier: Apache-2.0
"""Each rank's optimizer holds a flat part of all weights, which no module owns and which differs, as with ZeRO; then the weights drift."""
from trace_writer import Trace, Variable


def rank(folder, number, drifts=False):
    t = Trace(folder, rank=number, world=2, pid=number + 1)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    flat = Variable(t.serial(), "optimizer.param_groups[0][0]", {"content": 100 + number}, None)
    t.write({"type": "var", "var": flat.serial, "t": t.tick(), "name": flat.name, "kind": flat.kind,
             "step": 0, "stage": "training", "attrs": flat.attrs})
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.change(flat)
        if drifts and number == 1 and i == 2:
            t.change(model.var("w"))
        t.cut()
    t.end()


def healthy(folder):
    rank(folder, 0)
    rank(folder, 1)


def broken(folder):
    rank(folder, 0, drifts=True)
    rank(folder, 1, drifts=True)
