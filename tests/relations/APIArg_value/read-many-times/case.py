# SPDX-License-Identifier: Apache-2.0
"""The rewards of an episode are read one by one, turn by turn with its values: that all of them are the same in one episode is one occasion,
however often they are read. In the broken run those of each episode are."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, alike=()):
    t = Trace(folder, operators=True, content="batches", schema=5)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(8):
        rewards, values = (t.tensor(16) | ({"constant": 1.0} if i in alike and is_first else {}) for is_first in (True, False))
        for k in range(16):
            for receiver in rewards, values:
                t.op("torch.Tensor.__getitem__", role="operator", at="train.py:20", self=receiver, args={"index": k})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_too(folder):
    train(folder)


def fine(folder):
    train(folder, alike=(2, 5))


def broken(folder):
    train(folder, alike=range(8))
