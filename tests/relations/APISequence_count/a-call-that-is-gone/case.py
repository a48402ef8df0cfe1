# SPDX-License-Identifier: Apache-2.0
"""A call is made so often in each step; one that never comes is missed from the first step on, one that comes in some steps is counted in none."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, clears=True, reduces=2, steps=4):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        if clears:
            t.zero_grad(optimizer)
        t.backward(model)
        for _ in range(reduces):
            t.all_reduce()
        t.step(optimizer)
        if i % 2:
            t.call("torch.save", role="save", at="train.py:40")
        t.cut()
    t.end()


def healthy(folder):
    train(folder, steps=12)


def healthy_longer(folder):
    train(folder, steps=14)


def fine_shorter(folder):
    train(folder, steps=3)


def broken(folder):
    train(folder, clears=False, reduces=4)
