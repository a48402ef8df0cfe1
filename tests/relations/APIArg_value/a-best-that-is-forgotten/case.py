# SPDX-License-Identifier: Apache-2.0
"""A script saves the best error so far, the least rate, and its number of steps; after half of them it resumes. The broken run has forgotten the
best, and where it was. Errors go up and down, a number that is the same in all runs says nothing."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, seed, forgets=False, worse=0):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    best, count = None, 0
    for i in range(16):
        t.train_step(model, optimizer)
        if i == 8 and forgets:
            best, count = None, 0
        error = 1 / (1 + i % 8) + (i * 7 + seed) % 5 / 10 + (worse if i > 7 else 0)
        best = error if best is None else min(error, best)
        count += 10
        t.op("torch.save", role="save", at="train.py:30", args={"f": "last.pt", "obj": {"dict": {
            "best": best, "first": seed if i < 12 or not forgets else seed + (i == 13), "step": count, "right": 40}}}, value=None)
        t.op("__main__.report", role="own", at="train.py:31", args={"error": error, "step": count}, value=None)
    t.end()


def healthy(folder):
    train(folder, 3)


def healthy_too(folder):
    train(folder, 5)


def fine(folder):
    train(folder, 2)


def broken(folder):
    train(folder, 4, forgets=True, worse=2)
