# SPDX-License-Identifier: Apache-2.0
"""Two views of an image differ; of three samples in a list two may be one sample that was drawn twice, in whatever number of steps."""
from trace_writer import Trace

OPTIONS = ["--specific"]
NONE = {"equal": []}


def join(t, fn, n, at, pairs):
    t.op(fn, args={"tensors": [t.tensor(10) for _ in range(n)]}, at=at, **pairs)


def train(folder, samples=NONE, views=NONE):
    t = Trace(folder, schema=3, content="batches")
    model = t.net("w")
    optimizer = t.optimizer(model)
    for _ in range(4):
        join(t, "torch.stack", 3, "train.py:20", samples)
        join(t, "torch.cat", 2, "train.py:21", views)
        t.train_step(model, optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def healthy_again(folder):
    train(folder)


def fine(folder):
    train(folder, samples={"equal": [["args.tensors[0]", "args.tensors[2]"]]})


def fine_as_well(folder):
    train(folder, samples={"alias": [["args.tensors[0]", "args.tensors[2]"]]})


def broken(folder):
    train(folder, views={"equal": [["args.tensors[0]", "args.tensors[1]"]]})
