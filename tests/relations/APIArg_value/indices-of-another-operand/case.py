# SPDX-License-Identifier: Apache-2.0
"""The edges of a batch of graphs name its last node, however many there are; in the broken run each graph counts from zero. That the last node of a
few batches has no edge breaks nothing, and small indices say nothing; nor does the last word of a vocabulary, which every batch learned from had."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def indices(t, last):
    return t.tensor(2, 64, dtype="int64") | {"summary": {"min": 0, "max": last, "distinct": last + 1, "negative": 0, "zero": 5, "one": 5}}


def train(folder, seed, alone=(), last=None, rare=()):
    """alone: steps in which the last node has no edge; last: the last index of all graphs, if they are not put one behind the other."""
    t = Trace(folder, operators=True, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(24):
        n = 20 + (7 * i + seed) % 9
        t.op("torch.Tensor.index_add_", at="train.py:20", self=t.tensor(n, 16),
             args={"dim": 0, "index": indices(t, last or (n - 2 if i in alone else n - 1)), "source": t.tensor(64, 16)})
        t.op("torch.Tensor.index_select", at="train.py:21", self=t.tensor(5, 16), args={"dim": 0, "index": indices(t, 3 + i % 2)})
        t.op("torch.nn.functional.embedding", at="train.py:22", args={"input": indices(t, 38 if i in rare else 39), "weight": t.tensor(40, 16)})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 3)


def healthy_too(folder):
    train(folder, 5)


def fine(folder):
    train(folder, 7, alone=(3, 4, 11), rare=range(0, 24, 3))


def broken(folder):
    train(folder, 3, last=9)
