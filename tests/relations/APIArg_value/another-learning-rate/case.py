# SPDX-License-Identifier: Apache-2.0
"""A setting of the optimizer, and numbers and texts that the script gives, are reported when they are others."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, lr=0.01, rate=0.5, name="relu"):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model, lr=lr)
    for _ in range(3):
        t.train_step(model, optimizer)
        t.op("torch.scale", at="train.py:30", args={"rate": rate, "name": name, "dtype": "float32", "bias": True, "gain": 1.0})
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, lr=0.1, name="gelu")
