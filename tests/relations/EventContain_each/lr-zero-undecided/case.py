# SPDX-License-Identifier: Apache-2.0
"""With a learning rate of zero, or next to it, nothing can be expected to change."""
from trace_writer import Trace


def train(folder, lr, changes=None):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model, lr=lr)
    for _ in range(6):
        t.train_step(model, optimizer, changes)
    t.end()


def healthy(folder):
    train(folder, lr=0.1)


def fine_zero(folder):
    train(folder, lr=0.0, changes=[])


def fine_zero_written_as_integer(folder):
    train(folder, lr=0, changes=[])


def fine_tiny(folder):
    train(folder, lr=1e-9, changes=[])


def broken(folder):
    train(folder, lr=1e-3, changes=[])
