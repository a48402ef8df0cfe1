# SPDX-License-Identifier: Apache-2.0
"""Every second step weights are put aside, an average is copied in and evaluated, and what was put aside is copied back. In the broken run nobody copies it
back. Right are an average that is taken over for good without an evaluation, one that nothing was put aside for, what was put aside and is read to see how far
it is away, and a checkpoint that may hold it."""
from trace_writer import Trace

RULE = True


def copy(t, variable, source, at):
    t.enter("torch.Tensor.copy_", role="fill", at=at, self=t.tensor(4, 4, id=variable.serial), args={"src": t.tensor(4, 4, id=source)})
    t.change(variable)
    t.leave(value=t.tensor(4, 4, id=variable.serial))


def train(folder, puts_aside=True, evaluates=True, then="restore"):
    t = Trace(folder, operators=True)
    t.stage = "training"
    model = t.model("model", {"a.weight": {"content": 1}})
    weight, average = model.var("a.weight"), t.serial()
    optimizer = t.optimizer(model)
    for step in range(10):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if step % 2:
            aside = t.serial()
            if puts_aside:
                t.op("torch.Tensor.clone", role="operator", at="train.py:30", self=t.tensor(4, 4, id=weight.serial), value=t.tensor(4, 4, id=aside))
            copy(t, weight, average, "train.py:31")
            if evaluates:
                t.evaluate(model)
            if then == "restore":
                copy(t, weight, aside, "train.py:33")
            elif then == "read":
                t.op("torch.dist", role="operator", at="train.py:34", args={"input": t.tensor(4, 4, id=weight.serial), "other": t.tensor(4, 4, id=aside)},
                     value=t.tensor())
            elif then == "save":
                t.call("torch.save", role="save", at="train.py:35")
        t.cut()
    t.end()


def fine(folder):
    train(folder)


def fine_that_nothing_evaluates(folder):
    train(folder, evaluates=False, then=None)


def fine_of_nothing_put_aside(folder):
    train(folder, puts_aside=False, then=None)


def fine_that_is_read(folder):
    train(folder, then="read")


def fine_that_is_saved(folder):
    train(folder, then="save")


def broken(folder):
    train(folder, then=None)
