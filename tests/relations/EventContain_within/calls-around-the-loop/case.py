# SPDX-License-Identifier: Apache-2.0
"""A trainer is around everything and explains nothing: a callback that writes to the weights is reported."""
from trace_writer import Trace


def train(folder, callback=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.enter("transformers.Trainer.train", role="library", at="train.py:9")
    for _ in range(4):
        t.train_step(model, optimizer)
        if callback:
            t.change(model.var("w"))
    t.leave()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, callback=True)
