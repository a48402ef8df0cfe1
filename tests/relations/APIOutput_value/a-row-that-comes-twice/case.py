# SPDX-License-Identifier: Apache-2.0
"""No batch gives a row again in one pass, but one of ten now and then, as two samples of a data set may be equal. In the broken run half of the last are rows
of the first."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, first, twins=0, again=0):
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    loader = {"object": "torch.utils.data.Iterator", "id": t.serial()}
    for step in range(8):
        known = 0 if not step else again if step == 7 and again else twins
        numbers = [first + (0 if i < known else 100 * step) + i for i in range(10)]
        batch = {**t.tensor(10, 4), "rows": "".join(f"{n:08x}" for n in numbers)}
        t.op("torch.utils.data.DataLoader.__next__", value=batch, at="train.py:9", self=loader)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, 1)


def healthy_again(folder):
    train(folder, 5000)


def fine(folder):
    train(folder, 9000, twins=1)


def broken(folder):
    train(folder, 3, again=5)
