# SPDX-License-Identifier: Apache-2.0
"""Every fourth step a sample is drawn, in eleven turns each time; the broken run takes ten. That something is done twice in those steps may be chance, as
few of them are known."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, turns=11, tries=2, steps=16):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(steps):
        t.train_step(model, optimizer)
        if i % 4 == 3:
            for _ in range(turns):
                t.op("torch.denoise", at="train.py:20", args={"input": t.tensor(4)}, value=t.tensor(4))
            for _ in range(tries):
                t.op("torch.sort", at="train.py:21", args={"input": t.tensor(4)}, value=t.tensor(4))
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, tries=3, steps=17)


def broken(folder):
    train(folder, turns=10)
