# SPDX-License-Identifier: Apache-2.0
"""Shards that are gathered for a forward and given back after the step, as by DeepSpeed's ZeRO 3: an empty tensor has no content."""
from trace_writer import Trace


def train(folder, gathers=False, changes=()):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(6):
        t.zero_grad(optimizer)
        t.enter("torch.nn.Module.__call__", at="train.py:11",
                self={"object": "__main__.Net", "id": model["id"], "role": "root", "attrs": {"training": True}})
        for v in model["vars"]:
            if gathers:
                t.set(v, data=v.digest, shape=[4, 4])
            if v.name.split(".", 1)[1] in changes:
                t.change(v)
        t.leave()
        t.backward(model)
        t.step(optimizer)
        for v in model["vars"]:
            if gathers:
                t.set(v, inside=False, data="0" * 16, shape=[0])
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, gathers=True)


def broken(folder):
    train(folder, gathers=True, changes=["w"])
