# SPDX-License-Identifier: Apache-2.0
"""Losses of batches in training differ by a factor of twenty, as one batch is easy: what an evaluation has between them is as large.
In the broken run the evaluation's is larger than five times the largest. Of a loss that is four and a half times as large in healthy runs that is not said."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, held_out, first=0.5, far=9.0):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)

    def loss(value, fn="mse_loss", **fields):
        number = t.tensor() | {"value": value, "requires_grad": not fields}
        t.op(f"torch.nn.functional.{fn}", at="train.py:20", value=number, **fields)

    for i in range(12):
        loss(0.1 if i % 3 == 2 else 2.0)
        loss(2.0, "l1_loss")
        t.train_step(model, optimizer)
        t.cut()
        t.stage = "evaluation"
        loss(held_out if i > 2 else first, ctx={"grad": False})
        loss(far, "l1_loss", ctx={"grad": False})
        t.stage = "training"
    t.end()


def healthy(folder):
    train(folder, 0.5)


def healthy_too(folder):
    train(folder, 1.5)


def fine(folder):
    train(folder, 0.15, far=11.0)


def broken(folder):
    train(folder, 12.5)
