# SPDX-License-Identifier: Apache-2.0
"""All groups of an optimizer have the settings that it reads. In the broken run one has another beside them, and the same rate. A script may scale
its rates by such a number."""
from trace_writer import Trace


def train(folder, first, second):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i, group in enumerate((first, second)):
        t.settings(f"optimizer.param_groups[{i}]", momentum=0.9, **group)
    for _ in range(4):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, {"lr": 0.1}, {"lr": 0.1})


def healthy_another(folder):
    train(folder, {"lr": 0.1}, {"lr": 0.01})


def fine_scaled(folder):
    train(folder, {"lr": 0.1}, {"lr": 0.01, "scale": 0.1})


def broken(folder):
    train(folder, {"lr": 0.1}, {"lr": 0.1, "learning_rate": 0.01})
