# SPDX-License-Identifier: Apache-2.0
"""Blocks that keep no activations are computed again in the backward, each as often as before. In the broken run the last one is computed for
both. What two backwards of one forward compute again each, is as often."""
from trace_writer import Trace

BLOCK = "torch.nn.Module.__call__"


def block(t, i, at):
    t.call(BLOCK, role="forward", at=at, self={"object": "__main__.Block", "id": 900 + i, "attrs": {"training": True}})


def train(folder, again, backwards=1):
    t = Trace(folder)
    model = t.net("w", "b")
    optimizer = t.optimizer(model)
    for _ in range(4):
        t.zero_grad(optimizer)
        t.forward(model)
        for i in (0, 1):
            block(t, i, "train.py:30")
        for _ in range(backwards):
            t.backward(model, hook=lambda: [block(t, i, "train.py:31") for i in again])
        t.step(optimizer)
        t.cut()
    t.end()


def healthy(folder):
    train(folder, (1, 0))


def fine_twice(folder):
    train(folder, (1, 0), backwards=2)


def fine_solver(folder):
    """An equation is solved in the backward: its function is called as often as it takes."""
    train(folder, (1, 1, 1, 0, 0))


def broken(folder):
    train(folder, (1, 1))
