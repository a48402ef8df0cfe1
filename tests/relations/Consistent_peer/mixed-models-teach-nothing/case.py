# SPDX-License-Identifier: Apache-2.0
"""Norms kept in float32 inside a half model: a window has nothing that could tell it from others."""
from trace_writer import Trace


def train(folder, mixed):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"w": {"attrs": {"dtype": "float16" if mixed else "float32"}}, "norm": {}})
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.train_step(model, optimizer)
    t.end()


def healthy_1(folder):
    train(folder, mixed=False)


def healthy_2(folder):
    train(folder, mixed=True)


def healthy_3(folder):
    train(folder, mixed=False)
