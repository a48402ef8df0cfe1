# SPDX-License-Identifier: Apache-2.0
"""An order that is drawn anew in each step, and an environment that goes on; in the broken run an order comes again, and the environment
stands still. A short order may well come again, and an environment may well stand still once in a run of few steps."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, first=0, again=(), stands=(), steps=36):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(steps):
        drawn = first + (3 if step in again else step)
        for fn, n in ("torch.take", 16), ("torch.take_two", 2):
            order = {"array": "ndarray", "id": t.serial(), "shape": [n], "dtype": "int64", "digest": f"{drawn:016x}"}
            t.op(fn, at="train.py:20", args={"input": t.tensor(64), "order": order})
        seen = {**t.tensor(1, 4), "digest": f"{1 << 20 | first + (step - 1 if step in stands else step):016x}"}
        t.forward(model, args={"input": seen})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder, first=100)


def broken(folder):
    train(folder, again=[9, 10, 11, 12, 13], stands=[20, 22, 24, 26, 28])


def fine_by_chance(folder):
    train(folder, again=[9, 20], stands=[20, 24])
