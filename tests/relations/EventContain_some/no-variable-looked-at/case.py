# SPDX-License-Identifier: Apache-2.0
"""A trace without any variable cannot say that something did not change."""
from trace_writer import Trace


def train(folder, is_blind=False):
    t = Trace(folder, is_blind=is_blind)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, is_blind=True)
