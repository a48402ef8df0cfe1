# SPDX-License-Identifier: Apache-2.0
"""A window begins where a model runs first, after an evaluation with that: it has what makes two batches, that of its own step and the next
one. So calls that other windows have, too, are not counted in it."""
from trace_writer import Trace

OPTIONS = ["--specific"]
STEPS = 16


def train(folder, flips):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.stage = "training"
    for i in range(STEPS):
        if i % 4 == 3:
            t.stage = "evaluation"
            t.evaluate(model)
            t.stage = "training"
            if i in flips:
                t.op("torch.flip", at="train.py:20")
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        for _ in range(flips.count(i + 1) if i % 4 != 2 else 0):
            t.op("torch.flip", at="train.py:20")
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (1, 2, 4, 5, 6, 9, 10, 13, 14))


def healthy_again(folder):
    train(folder, (2, 5, 8, 9, 10, 12))


def fine(folder):
    train(folder, (1, 3, 4, 6, 7, 8, 9))


def broken(folder):
    train(folder, (1, 1, 2, 2, 5, 5, 6, 6, 9, 9, 10))
