# SPDX-License-Identifier: Apache-2.0
"""Several traces are runs of the one script: a setting of it is in all of them."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, width=64, rate=0.5):
    t = Trace(folder)
    for _ in range(3):
        t.op("torch.scale", at="train.py:30", args={"width": width, "rate": rate})
    t.end()


def healthy_a(folder):
    train(folder)


def healthy_b(folder):
    train(folder, width=128)


def fine(folder):
    train(folder, width=32)


def broken(folder):
    train(folder, rate=0.25)
