"""Averaged weights are copied over the model between two steps: not the optimizer did that."""
from trace_writer import Trace


def train(folder, swapped_in=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        if i == swapped_in:
            t.change(model.var("w"))
            t.enter("torch.Tensor.copy_", at="train.py:33")
            t.change(model.var("b"))
            t.leave()
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, swapped_in=3)
