# SPDX-License-Identifier: Apache-2.0
"""How many batches an evaluation has is a matter of its data. Where there are three for two the model is asked as often, which is a changed
setting, and nothing is said of what is done with each batch, beside what is done once for all, nor of a list of what each gave. A count that is doubled
beside is a breach."""
from trace_writer import Trace

OPTIONS = ["--specific", "--enable-relation", "APIArg/value"]


def evaluate(t, model, n_batches, n_updates):
    t.stage = "evaluation"
    for _ in range(n_batches):
        t.evaluate(model)
        for _ in range(n_updates):
            t.op("torch.Tensor.argmax", role="operator", at="train.py:20")
        for _ in range(4):
            t.op("torch.Tensor.sub", role="operator", at="train.py:22")
    t.op("torch.Tensor.sub", role="operator", at="train.py:23")
    t.op("__main__.report", role="own", at="train.py:21", args={"parts": ["a part"] * n_batches})
    t.stage = "training"


def train(folder, n_batches=2, n_updates=1):
    t = Trace(folder, operators=True)
    model = t.net("w")
    optimizer = t.optimizer(model)
    t.stage = "training"
    for i in range(64):
        t.train_step(model, optimizer)
        if i % 4 == 3:
            evaluate(t, model, n_batches, n_updates)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def broken(folder):
    train(folder, n_batches=3, n_updates=2)
