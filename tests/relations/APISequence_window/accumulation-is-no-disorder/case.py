# SPDX-License-Identifier: Apache-2.0
"""Micro-batches repeat forward and backward; only a backward after the step is disorder."""
from trace_writer import Trace


def train(folder, micro_batches, late=0):
    """late: so many of the micro-batches come after the step."""
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for i in range(6):
        t.zero_grad(optimizer)
        for k in range(micro_batches[i % len(micro_batches)]):
            if k and k == micro_batches[0] - late:
                t.step(optimizer)
            t.forward(model)
            t.backward(model)
        if not late:
            t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, [1, 3, 4])


def fine(folder):
    train(folder, [7])


def broken(folder):
    train(folder, [3], late=1)
