# SPDX-License-Identifier: Apache-2.0
"""A step is made of four backwards, and each loss is divided by four: by the script, or by the library that it hands the loss to. In the broken run both
do so, or losses that are weighed by their shares are divided, too. Another divisor beside, as a temperature, one backward in each step, and a loss that nothing divides are right."""
from trace_writer import Trace

RULE = True


def number(t, value):
    return t.tensor() | {"value": value, "requires_grad": True}


def train(folder, by=(), library=1, micro=4, steps=6, shares=None):
    t = Trace(folder, content="batches", operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        for k in range(micro):
            t.forward(model)
            loss = number(t, 2.4 / (1 + step))
            if shares:
                whole, loss = loss, number(t, loss["value"] * shares[k])
                t.op("torch.Tensor.mul", role="operator", at="train.py:11", self=whole, args={"other": shares[k]}, value=loss)
            for divisor in by:
                whole, loss = loss, number(t, loss["value"] / divisor)
                t.op("torch.Tensor.div", role="operator", at="train.py:12", self=whole, args={"other": divisor}, value=loss)
            if library != 1:
                t.enter("accelerate.Accelerator.backward", role="library", at="train.py:13", args={"loss": loss})
                loss = number(t, loss["value"] / library)
            t.backward(model, of=loss)
            if library != 1:
                t.leave()
        t.step(optimizer)
        t.cut()
    t.end()


def fine(folder):
    train(folder, by=(4,))


def fine_by_the_library(folder):
    train(folder, library=4)


def fine_with_a_temperature(folder):
    train(folder, by=(2, 4))


def fine_of_one(folder):
    train(folder, by=(4, 4), micro=1)


def fine_undivided(folder):
    train(folder)


def fine_twice(folder):
    train(folder, by=(4,), library=4, steps=2)


def fine_shares(folder):
    train(folder, shares=(0.1, 0.15, 0.35, 0.4))


def fine_weights(folder):
    train(folder, by=(4,), shares=(0.1, 0.2, 0.3, 0.3))


def broken(folder):
    train(folder, by=(4,), library=4)


def broken_shares(folder):
    train(folder, by=(4,), shares=(0.1, 0.15, 0.35, 0.4))
