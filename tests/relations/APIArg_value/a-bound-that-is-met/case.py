# SPDX-License-Identifier: Apache-2.0
"""A factor is one where it would be larger, and labels go from 0 to 9: the broken run lets the factor rise beyond one and numbers labels from one on;
elsewhere the last label does not occur any more. Its rate is clamped at another number,
which is a setting. A threshold that starts at one is at no bound. What is met seldom, what a model computes and does not reach, and a few occasions beyond a bound break nothing."""
from trace_writer import FORWARD, Trace

OPTIONS = ["--specific"]


def labels(t, low, high):
    return t.tensor(64, dtype="int64") | {"summary": {"min": low, "max": high, "distinct": high - low + 1, "negative": 0, "zero": 5, "one": 5}}


def train(folder, seed, limit=1.0, first=0, last=9, guess=9, reach=9, beyond=0, rate=0.05, start=1.0, steps=120):
    t = Trace(folder, operators=True, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        drawn = (i * 7 + seed) % 41 / 20
        factor = drawn + 1 if i < beyond else min(limit, drawn)
        t.op("torch.Tensor.mul", role="operator", at="train.py:20", args={"other": factor})
        t.op("torch.Tensor.sub", role="operator", at="train.py:21", args={"other": max(rate, 1 / (i + 1 + seed / 100))})
        t.op("torch.Tensor.add", role="operator", at="train.py:22", args={"other": drawn + seed / 100})
        t.op("torch.Tensor.ge", role="operator", at="train.py:27", args={"other": 1.0 if i < 30 else start - drawn / 4 - 0.01})
        t.op("torch.nn.functional.cross_entropy", at="train.py:23", args={"target": labels(t, first + (i % 9 == 1), last - (i % 10 == 1))})
        t.op("torch.nn.functional.one_hot", at="train.py:26", args={"input": labels(t, 0, reach - (i % 10 == 1))})
        t.op("torch.full_like", at="train.py:28", args={"input": labels(t, -2**63, 9)})
        logits = t.tensor(64, 10)
        t.op(FORWARD, at="train.py:24", value=logits, self={"object": "__main__.Net", "id": model["id"], "role": "root"})
        t.op("torch.argmax", at="train.py:25", args={"input": logits}, value=labels(t, i % 2, guess))
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 3)


def healthy_too(folder):
    train(folder, 5)


def fine(folder):
    train(folder, 8, guess=7, beyond=4, start=1.5, steps=119)


def fine_short(folder):
    train(folder, 8, limit=0.7, last=5, reach=5, steps=7)


def broken(folder):
    train(folder, 4, limit=5, first=1, last=10, rate=0.02, reach=8, steps=119)
