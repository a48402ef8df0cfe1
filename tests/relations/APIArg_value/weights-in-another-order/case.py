# SPDX-License-Identifier: Apache-2.0
"""Weights of classes are counted from the data of each run, and nearly the same; in the broken run they stand in another order. What is
drawn, changes in a run, or is of whole numbers is claimed of nothing."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def train(folder, weights, drawn):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for step in range(4):
        for name, elements in (("weight", weights), ("noise", drawn), ("mean", [0.1 * (step + 1), 1.0]), ("task", [1, 0, 2, 3])):
            t.op("torch." + name, at="train.py:20", args={name: {**t.tensor(len(elements)), "elements": elements}})
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, [1.8, 0.19, 1.2, 0.52], [0.3, -1.2, 0.5, 0.1])


def healthy_again(folder):
    train(folder, [2.0, 0.2, 1.5, 0.6], [0.4, 1.2, -0.5, 0.1])


def fine(folder):
    train(folder, [2.2, 0.25, 1.0, 0.4], [9.0, 8.0, 7.0, 6.0])


def broken(folder):
    train(folder, [0.19, 0.52, 1.2, 1.8], [0.3, 1.2, 0.5, 0.1])
