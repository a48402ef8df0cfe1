# SPDX-License-Identifier: Apache-2.0
"""An operand comes from a call, from a variable, or from outside; of several calls that returned a tensor the last one counts."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, detour=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(3):
        t.zero_grad(optimizer)
        x, loss = t.tensor(4), t.tensor()
        t.op("torch.loss", value=loss, at="train.py:30", args={"input": x, "weight": t.tensor(4, id=model.parameters[0].serial)})
        if detour:
            loss = t.tensor()
            t.op("torch.wrap", value=loss, at="train.py:31", args={"data": 1.0})
        t.enter("torch.Tensor.backward", at="train.py:12", self=loss)
        for v in model.parameters:
            t.set(v, grad="non_zero")
        t.leave(finite=True)
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, detour=True)
