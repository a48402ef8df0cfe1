# SPDX-License-Identifier: Apache-2.0
"""A sampler calls its model ten times in a row, and what it cuts off is something each time. That nothing was to cut off in six calls of one
row is one occasion and may be chance, in five rows it is none."""
from trace_writer import Trace

OPTIONS = ["--specific"]


def train(folder, equal=()):
    """equal: rows in which six of ten results equal what they are made of."""
    t = Trace(folder, schema=5, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(8):
        t.train_step(model, optimizer)
        for k in range(10):
            guess = t.tensor(4, 4)
            t.op("torch.cut", at="train.py:20", value=t.tensor(4, 4), same=["args.input"] if i in equal and k < 6 else [],
                 args={"input": guess})
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine_in_four_rows(folder):
    train(folder, equal=(0, 1, 5, 7))


def broken(folder):
    train(folder, equal=(0, 1, 3, 5, 7))
