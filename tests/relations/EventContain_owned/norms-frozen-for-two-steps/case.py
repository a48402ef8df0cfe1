# SPDX-License-Identifier: Apache-2.0
"""A gradient is kept away for two steps, as from a discriminator: that freezes no norm, and one that has no owner is reported."""
from trace_writer import Trace


def train(folder, owned=("body", "norm"), n_frozen=0):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"body": {}, "norm": {"shape": [4], "requires_grad": not n_frozen}})
    optimizer = t.optimizer(model, params=[model.var(name) for name in owned])
    for i in range(8):
        if i == n_frozen:
            t.set(model.var("norm"), requires_grad=True)
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, owned=["body"], n_frozen=3)


def broken(folder):
    train(folder, owned=["body"], n_frozen=2)
