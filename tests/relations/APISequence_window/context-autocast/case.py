# SPDX-License-Identifier: Apache-2.0
"""Autocast was met in one of twenty pipelines only: windows with it are not judged."""
from trace_writer import Trace

PIPELINES = 20


def train(folder, is_autocast, clips=True):
    t = Trace(folder)
    t.ctx = {"autocast": {"cuda": "float16"}} if is_autocast else None
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        if clips:
            t.clip()
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder, i):
    train(folder, is_autocast=i == 0)


def broken(folder):
    train(folder, is_autocast=True, clips=False)
