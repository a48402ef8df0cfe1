# SPDX-License-Identifier: Apache-2.0
"""Batches are cut out of the data one after another. No run came to its end: a longer one does, and begins anew. The broken run begins anew
where the others went on."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, n_steps, n_batches=100):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.stage = "training"
    for i in range(n_steps):
        t.op("__main__.get_batch", role="own", at="train.py:20", args={"i": i % n_batches * 35})
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 20)


def healthy_again(folder):
    train(folder, 24)


def fine(folder):
    train(folder, 60, n_batches=40)


def broken(folder):
    train(folder, 24, n_batches=12)
