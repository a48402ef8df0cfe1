# SPDX-License-Identifier: Apache-2.0
"""Every other step flips two images: that the number is even says nothing that the number itself does not. The broken run flips three.
Flips are as many as steps here: that this is no longer so in a run of another length says nothing."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, flips=2, steps=24):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        t.train_step(model, optimizer)
        for _ in range(flips if i % 2 else 0):
            t.op("torch.flip", at="train.py:20")
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine_longer(folder):
    train(folder, steps=27)


def broken(folder):
    train(folder, flips=3)
