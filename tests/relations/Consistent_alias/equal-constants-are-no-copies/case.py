# SPDX-License-Identifier: Apache-2.0
"""Biases start as zeros, and a sampled digest proves nothing: neither pair is a copy."""
from trace_writer import Trace


def train(folder):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"a.bias": {"content": 70, "shape": [4]}, "b.bias": {"content": 70, "shape": [4]},
                              "a.weight": {"attrs": {"data": "~00000000000000cc"}},
                              "b.weight": {"attrs": {"data": "~00000000000000cc"}}})
    optimizer = t.optimizer(model)
    for _ in range(5):
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)
