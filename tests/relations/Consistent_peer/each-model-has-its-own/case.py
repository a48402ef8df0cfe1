# SPDX-License-Identifier: Apache-2.0
"""A model in float32 beside one in bfloat16: within each there is one dtype."""
from trace_writer import Trace


def train(folder, first, second):
    t = Trace(folder)
    t.stage = "training"
    one = t.model("one", {"w": {"attrs": {"dtype": first}}, "b": {"attrs": {"dtype": first}}})
    t.model("two", {"w": {"attrs": {"dtype": second}}, "b": {"attrs": {"dtype": second}}})
    optimizer = t.optimizer(one)
    for _ in range(4):
        t.train_step(one, optimizer)
    t.end()


def healthy(folder):
    train(folder, "float32", "float32")


def fine(folder):
    train(folder, "float32", "bfloat16")
