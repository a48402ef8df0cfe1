# SPDX-License-Identifier: Apache-2.0
"""A scheduler steps once in its constructor: by torch, not by the script."""
from trace_writer import Trace


def train(folder, constructs):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(5):
        if i == 0 and constructs:
            t.schedule(by=constructs)
        t.zero_grad(optimizer)
        t.forward(model)
        t.backward(model)
        t.step(optimizer)
        t.schedule()
        t.cut()
    t.end()


def healthy(folder):
    train(folder, constructs="torch")


def broken(folder):
    """The same call by the script is disorder."""
    train(folder, constructs="user")
