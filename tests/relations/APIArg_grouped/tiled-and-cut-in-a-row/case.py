# SPDX-License-Identifier: Apache-2.0
"""Eight answers to each of four prompts: their rewards are a vector of 32, and the mean of each group of eight in a row is taken. In the broken run
the prompts were repeated in turns. Repeated in a row, grouped by columns, another vector of another length, and two such steps are right."""
from trace_writer import Trace

RULE = True


def train(folder, repeats, shape=(4, 8), dim=1, length=32, steps=5):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        t.zero_grad(optimizer)
        fn = "repeat" if isinstance(repeats, list) else "repeat_interleave"
        t.op(f"torch.Tensor.{fn}", role="operator", at="train.py:9", self=t.tensor(4, 3, dtype="int64"), args={"repeats": repeats},
             value=t.tensor(32, 3, dtype="int64"))
        rewards = t.serial()
        t.op("torch.Tensor.view", role="operator", at="train.py:10", self=t.tensor(length, id=rewards), args={"size": list(shape)},
             value=t.tensor(*shape, id=rewards))
        t.op("torch.Tensor.mean", role="operator", at="train.py:11", self=t.tensor(*shape, id=rewards), args={"dim": dim},
             value=t.tensor(shape[1 - dim]))
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.cut()
    t.end()


def fine_in_a_row(folder):
    train(folder, 8)


def fine_by_columns(folder):
    train(folder, [8, 1], shape=(8, 4), dim=0)


def fine_of_another_vector(folder):
    train(folder, [8, 1], shape=(6, 8), length=48)


def fine_twice(folder):
    train(folder, [8, 1], steps=2)


def broken(folder):
    train(folder, [8, 1])
