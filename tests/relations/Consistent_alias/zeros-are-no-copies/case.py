# SPDX-License-Identifier: Apache-2.0
"""Two matrices of zeros, as the second factors of low-rank adapters are at first, go ways of their own; other equal content is a copy."""
from trace_writer import Trace

ZEROS = {"attrs": {"data": "ed37f9a03dc2c812"}}  # of 16 numbers of float32 in the shape [4, 4]


def train(folder, drifts="query.up"):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"embed": {"content": 70}, "head": {"content": 70}, "query.up": ZEROS, "value.up": ZEROS})
    optimizer = t.optimizer(model)
    for i in range(6):
        t.train_step(model, optimizer, [v for v in model.parameters if i < 2 or v is not model.var(drifts)])
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, drifts="head")
