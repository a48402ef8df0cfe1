# SPDX-License-Identifier: Apache-2.0
"""How large a loss of an evaluation is beside those of training. The sum of a last batch of few rows is small, and each
row of it is not: of rows that are scaled otherwise both are."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def loss(t, rows, each, trains):
    value = t.tensor() | {"value": rows * each, "requires_grad": trains}
    t.op("torch.nn.functional.mse_loss", role="function", at="train.py:9", value=value,
         args={"input": t.tensor(rows, 3), "reduction": "sum"})


def train(folder, last=32, each=1.0):
    t = Trace(folder, operators=True, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(4):
        loss(t, 32, 1 + i / 10, True)
        t.train_step(model, optimizer)
    t.stage = "evaluation"
    for rows in (32, 32, 32, last):
        t.evaluate(model)
        loss(t, rows, each, False)
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, each=1.1)


def fine(folder):
    train(folder, last=2)


def broken(folder):
    train(folder, last=2, each=0.01)
