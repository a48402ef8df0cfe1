# SPDX-License-Identifier: Apache-2.0
"""Module.apply() comes to a tied weight by each of its owners, which is one visit, and so does a script with a line for each of them; a
second apply() is another."""
from trace_writer import Trace

INIT = "torch.nn.init.normal_"


def initialise(t, *weights, at, std=0.02):
    t.enter("torch.nn.Module.apply", at=at)
    for weight in weights:
        t.op(INIT, role="init", args={"tensor": weight, "mean": 0.0, "std": std})
    t.leave()


def train(folder, parent_initialises_again=False):
    t = Trace(folder)
    embedding, projection = t.tensor(4, 4), t.tensor(4, 4)
    if parent_initialises_again:
        initialise(t, projection, at="train.py:20")
    initialise(t, embedding, projection, embedding, at="train.py:30")
    t.op(INIT, role="init", at="train.py:31", args={"tensor": projection, "mean": 0.0, "std": 0.01})  # overrules
    t.end()


def healthy(folder):
    train(folder)


def fine_a_line_for_each_owner(folder):
    t = Trace(folder)
    weight = t.tensor(4, 4)
    for line in (44, 46):
        t.op(INIT, role="init", at=f"model.py:{line}", args={"tensor": weight, "mean": 0.0, "std": 0.1})
    t.end()


def broken(folder):
    train(folder, parent_initialises_again=True)
