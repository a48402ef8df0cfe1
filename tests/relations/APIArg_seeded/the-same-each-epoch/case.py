# SPDX-License-Identifier: Apache-2.0
"""A generator of crops is seeded in each epoch. In the broken run the seed is the same each time. Right are a seed with the epoch in it, a generator that an
evaluation draws from, folds that begin alike, each with an optimizer of its own, a generator that is made anew, and two epochs."""
from trace_writer import Trace

RULE = True


def train(folder, seed=lambda epoch: 7, epochs=6, evaluates=False, folds=False, anew=False):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    generator = {"object": "torch.Generator", "id": 800, "attrs": {}}
    for epoch in range(epochs):
        if folds:
            optimizer = t.optimizer(model)
        if anew:
            generator = generator | {"id": 800 + epoch}
        t.op("torch.Generator.manual_seed", role="draw", at="train.py:20", self=generator, args={"seed": seed(epoch)}, value=generator)
        for _ in range(2):
            t.op("torch.randint", at="train.py:24", args={"low": 0, "high": 9, "size": [3], "generator": generator}, value=t.tensor(3, dtype="int64"))
            if evaluates:
                t.evaluate(model)
            t.train_step(model, optimizer)
    t.end()


def fine_with_the_epoch(folder):
    train(folder, seed=lambda epoch: 7 + epoch)


def fine_evaluated(folder):
    train(folder, evaluates=True)


def fine_folds(folder):
    train(folder, folds=True)


def fine_made_anew(folder):
    train(folder, anew=True)


def fine_three_epochs(folder):
    train(folder, epochs=3)


def broken(folder):
    train(folder)
