# SPDX-License-Identifier: Apache-2.0
"""Two averages, each loaded from weights of its own; the broken run loads the first one's weights into both."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def load(t, weights):
    t.op("torch.Average.load", at="train.py:20", self={"object": "torch.Average", "id": t.serial()}, args={"state": weights})


def train(folder, is_broken=False):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    one, two = t.tensor(4), t.tensor(4)
    load(t, one)
    load(t, one if is_broken else two)
    for _ in range(3):
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, is_broken=True)
