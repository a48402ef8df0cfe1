# SPDX-License-Identifier: Apache-2.0
"""Zeros are known by the shape and the type that they had at first: before the first step the factors are viewed and converted."""
from trace_writer import Trace

ZEROS = {"attrs": {"data": "ed37f9a03dc2c812"}}  # of 16 numbers of float32 in the shape [4, 4]


def train(folder, drifts="query.up", **converted):
    t = Trace(folder)
    t.stage = "training"
    model = t.model("model", {"embed": {"content": 70}, "head": {"content": 70}, "query.up": ZEROS, "value.up": ZEROS})
    for name in ("query.up", "value.up"):
        t.set(model.var(name), inside=False, **converted)
    optimizer = t.optimizer(model)
    for i in range(6):
        t.train_step(model, optimizer, [v for v in model.parameters if i < 2 or v is not model.var(drifts)])
    t.end()


def healthy_shape(folder):
    train(folder, shape=[2, 8])


def healthy_type(folder):
    train(folder, dtype="bfloat16")


def broken(folder):
    train(folder, drifts="head", shape=[2, 8], dtype="bfloat16")
