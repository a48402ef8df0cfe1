# SPDX-License-Identifier: Apache-2.0
"""A parameter that is frozen on purpose is nobody's business, whether it was so in training or not."""
from trace_writer import Trace


def train(folder, frozen):
    t = Trace(folder)
    model = t.net("w", "b", frozen=frozen)
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder, frozen=[])


def fine(folder):
    train(folder, frozen=["b"])
