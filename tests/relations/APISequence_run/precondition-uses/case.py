# SPDX-License-Identifier: Apache-2.0
"""Of eleven scripts on two ranks seven draw from a shuffling sampler and tell it the epoch, and a library does it for an eighth; only
those are asked to. A sampler that does not shuffle was never met."""
from trace_writer import Trace

PIPELINES = 11
SAMPLER = "torch.utils.data.DistributedSampler"


def train(folder, samples, tells=None, shuffle=True):
    t = Trace(folder, rank=0, world=2)
    model = t.net("w")
    optimizer = t.optimizer(model)
    me = {"object": SAMPLER, "id": 77, "attrs": {"shuffle": shuffle, "epoch": 0}}
    if tells:
        t.call(f"{SAMPLER}.set_epoch", role="library", by=tells, at="train.py:8", self=me)
    t.enter("torch.utils.data.DataLoader.__next__", role="data", at="train.py:9")
    if samples:
        t.call(f"{SAMPLER}.__iter__", role="library", self=me)
    t.leave()
    t.forward(model)
    t.step(optimizer, changes=[])
    t.cut()
    t.end()


def healthy(folder, i):
    train(folder, samples=i < 8, tells="user" if i < 7 else "lightning" if i == 7 else None)


def fine(folder):
    train(folder, samples=False)


def fine_in_order(folder):
    train(folder, samples=True, shuffle=False)


def fine_by_a_library(folder):
    train(folder, samples=True, tells="lightning")


def broken(folder):
    train(folder, samples=True)
