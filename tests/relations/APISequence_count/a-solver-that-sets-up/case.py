# SPDX-License-Identifier: Apache-2.0
"""A solver makes the data: how often it calls what it solves depends on what was drawn, though two runs may have the same number. In the broken
run the script itself calls its own half as often."""
from trace_writer import FORWARD, Trace

OPTIONS = ["--specific"]


def train(folder, n_solved=40, n_own=40):
    t = Trace(folder)
    t.stage = "init"
    for fn, by, n in ("solver.Field", "solver", n_solved), ("__main__.Field", "user", n_own):
        for _ in range(n):
            t.call(FORWARD, by=by, at="train.py:7", self={"object": fn, "id": 900, "attrs": {}}, args={"x": t.tensor(2)})
    t.stage = "training"
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, n_solved=44)


def broken(folder):
    train(folder, n_own=20)
