# SPDX-License-Identifier: Apache-2.0
"""The step of a run with half the rate leaves a variable as it was whose gradient is tiny: that is rounding. In the broken run
it leaves one with a gradient."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "EventContain/set"]


def train(folder, rests=None, clears=False):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"bias": {"shape": [1]}, "weight": {}})
    bias, weight = model.parameters
    optimizer = t.optimizer(model)
    for step in range(12):
        t.zero_grad(optimizer)
        t.backward(model, reaches=[weight])
        t.backward(model, reaches=[bias], grad="tiny")
        changed = [v for v in (bias, weight) if step % 2 == 0 or v.name != rests]
        if clears:  # what counts is the gradient that the step found
            t.enter("torch.optim.Optimizer.step", at="train.py:13", **t.on_optimizer(optimizer))
            for v in changed:
                t.change(v)
            t.set(bias, grad="null")
            t.leave()
            t.stepped = True
        else:
            t.step(optimizer, changes=changed)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, rests="model.bias")


def fine_cleared_in_the_step(folder):
    train(folder, rests="model.bias", clears=True)


def broken(folder):
    train(folder, rests="model.weight")
