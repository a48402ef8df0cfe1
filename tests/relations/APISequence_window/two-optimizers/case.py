# SPDX-License-Identifier: Apache-2.0
"""Two optimizers step in one window; the second one steps before its backward."""
from trace_writer import Trace


def train(folder, second_too_early=False):
    t = Trace(folder)
    generator, critic = t.net("g"), t.net("c")
    first, second = t.optimizer(critic), t.optimizer(generator)
    for _ in range(5):
        t.zero_grad(first)
        t.forward(critic)
        t.backward(critic)
        t.step(first)
        t.zero_grad(second)
        t.forward(generator)
        if second_too_early:
            t.step(second)
        t.backward(generator)
        if not second_too_early:
            t.step(second)
        t.cut()
    t.end()


def healthy(folder):
    train(folder)


def broken(folder):
    train(folder, second_too_early=True)
