# SPDX-License-Identifier: Apache-2.0
"""A graph that is replayed may hold a step: what it writes is no writing by hand."""
from trace_writer import Trace


def train(folder, fn=None, role="function"):
    t = Trace(folder)
    model = t.net("w")
    optimizer = t.optimizer(model)
    for i in range(8):
        if i == 4 and fn:
            t.enter(fn, role=role)
            t.change(model.var("w"))
            t.leave()
        t.train_step(model, optimizer)
    t.end()


def healthy(folder):
    train(folder)


def fine(folder):
    train(folder, "torch.cuda.CUDAGraph.replay", "replay")


def broken(folder):
    """Something else wrote it."""
    train(folder, "torch.Tensor.add_")
