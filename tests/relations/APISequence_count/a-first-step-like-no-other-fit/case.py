# SPDX-License-Identifier: Apache-2.0
"""A search fits again and again, each time with the optimizer that it draws, after an evaluation. How many buffers that makes is chance in the
first step, too. What is made as often in each fit is none."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def fit(t, n_made, n_marks):
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.stage = "training"
    for i in range(8):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if i == 0:
            for _ in range(n_made):
                t.op("torch.zeros_like", at="train.py:20")
            for _ in range(n_marks):
                t.op("torch.ones_like", at="train.py:21")
        t.step(optimizer)
        t.cut()
    t.stage = "evaluation"
    t.evaluate(model)


def train(folder, made, n_marks=2):
    t = Trace(folder)
    for n in made:
        fit(t, n, n_marks)
    t.end()


def healthy(folder):
    train(folder, (4, 2, 4, 6))


def healthy_again(folder):
    train(folder, (4, 6, 6, 2))


def fine(folder):
    train(folder, (2, 4, 6, 6))


def broken(folder):
    train(folder, (2, 4, 6, 6), n_marks=3)
