# SPDX-License-Identifier: Apache-2.0
"""Weights are frozen, the norm between them was left as it was, and the optimizer has the head alone: as the script means it.
Without frozen weights nothing says so, nor is a matrix excused."""
from trace_writer import Trace


def train(folder, owned=("body", "norm", "head"), frozen=(), norm=(4,)):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"body": {"requires_grad": "body" not in frozen}, "norm": {"shape": list(norm)}, "head": {}})
    optimizer = t.optimizer(model, params=[model.var(name) for name in owned])
    for _ in range(6):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, owned=["head"], frozen=["body"])


def broken_nothing_frozen(folder):
    train(folder, owned=["body", "head"])


def broken_matrix(folder):
    train(folder, owned=["head"], frozen=["body"], norm=(4, 4))
