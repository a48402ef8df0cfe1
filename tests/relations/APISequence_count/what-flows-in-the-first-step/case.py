# SPDX-License-Identifier: Apache-2.0
"""What is added comes from a product, by the same way in each step. In the first step a part of that may stand before the model runs, where it
is of another stage: a first step alone that has it otherwise says nothing, a second step does."""
from trace_writer import Trace

OPTIONS = ["--specific"]
MUL, ADD = "torch.Tensor.mul", "torch.Tensor.add"


def train(folder, otherwise=()):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        product = t.tensor(4)
        t.op(MUL, role="operator", at="train.py:20", value=product, self=t.tensor(4), args={"other": 2})
        if i in otherwise:
            between = t.tensor(4)
            t.op("torch.Tensor.neg", role="operator", at="train.py:20", value=between, self=product)
            product = between
        for other in product, t.tensor(4):
            t.op(ADD, role="operator", at="train.py:21", value=t.tensor(4), self=t.tensor(4), args={"other": other})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, otherwise=(0,))


def broken(folder):
    train(folder, otherwise=(0, 3))
