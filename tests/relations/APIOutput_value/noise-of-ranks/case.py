# SPDX-License-Identifier: Apache-2.0
"""Noise is another one on each rank, a loss that was reduced the same; what is now so and now not, what a rank alone does, and a number that is
always the same are no facts. The broken run has one noise for all, and a loss that nobody reduced. Ranks whose digests are of two algorithms are
not compared."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def rank(folder, number, seed, noise=True, reduced=True, digest="nh64"):
    t = Trace(folder, rank=number, world=2, pid=number + 1, digest=digest, content="batches", schema=5)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(6):
        own = number + 1
        t.op("torch.randn", at="train.py:20", args={"size": 4}, value={**t.tensor(4), "digest": f"{seed * 1000 + i * 10 + (own if noise else 0):016x}"})
        loss = i + seed / 10 + (0 if reduced else number)
        t.op("torch.distributed.all_reduce", role="collective", at="train.py:21", args={"tensor": {**t.tensor(), "value": i + own / 10 + seed}})
        t.op("__main__.report", role="function", at="train.py:22", args={"loss": loss, "rate": 0.1, "now": i + (own if i % 2 else 0)})
        if number == 0:
            t.op("__main__.save", role="function", at="train.py:23", args={"loss": loss})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    for number in range(2):
        rank(folder, number, 1)


def healthy_too(folder):
    for number in range(2):
        rank(folder, number, 2)


def fine(folder):
    for number in range(2):
        rank(folder, number, 3)


def fine_digests_of_two_algorithms(folder):
    rank(folder, 0, 4, noise=False)
    rank(folder, 1, 4, noise=False, digest="another")


def broken(folder):
    for number in range(2):
        rank(folder, number, 5, noise=False, reduced=False)
