# SPDX-License-Identifier: Apache-2.0
"""Situations differ, but nothing ever broke: no precondition. Without a learning rate nothing is due."""
from trace_writer import Trace


def train(folder, changes=None):
    t = Trace(folder)
    model = t.net("w", "b")
    for i in range(8):
        optimizer = t.optimizer(model, lr=0.0 if i % 2 else 0.1, cls=("torch.optim.SGD", "torch.optim.Adam", "torch.optim.AdamW")[i % 3])
        t.ctx = {"autocast": {"cpu": "bfloat16"}} if i in (1, 5) else {}
        t.train_step(model, optimizer, changes)
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, changes=[])
