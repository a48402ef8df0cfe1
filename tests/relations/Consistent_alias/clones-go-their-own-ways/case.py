# SPDX-License-Identifier: Apache-2.0
"""Blocks that are clones of one template start equal and are trained apart; of two names of their own that drift is reported."""
from trace_writer import Trace


def train(folder, drifts="blocks.1.fc"):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"embed": {"content": 70}, "head": {"content": 70},
                              "blocks.0.fc": {"content": 80}, "blocks.1.fc": {"content": 80}})
    optimizer = t.optimizer(model)
    for i in range(6):
        t.train_step(model, optimizer, [v for v in model.parameters if i < 2 or v is not model.var(drifts)])
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, drifts="head")
