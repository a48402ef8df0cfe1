# SPDX-License-Identifier: Apache-2.0
"""Autocast was met in two of three pipelines: under it everything is judged."""
from trace_writer import Trace

AUTOCAST = {"autocast": {"cpu": "bfloat16"}}


def train(folder, ctx=None, changes=None):
    t = Trace(folder)
    t.ctx = ctx or {}
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.train_step(model, optimizer, changes)
    t.end()


def healthy_1(folder):
    train(folder, AUTOCAST)


def healthy_2(folder):
    train(folder, AUTOCAST)


def healthy_3(folder):
    train(folder)


def broken(folder):
    train(folder, AUTOCAST, changes=[])
